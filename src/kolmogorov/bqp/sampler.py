"""A dimod sampler around our solvers (extra ``qubo``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kolmogorov._support.optional import require
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.validation import Integer, check_parameters
from kolmogorov.bqp.dimod_bridge import from_dimod
from kolmogorov.bqp.solving import lone_solver
from kolmogorov.errors import ParameterError
from kolmogorov.solvers import names

dimod = require("dimod", extra="qubo", purpose="KolmogorovSampler")


class KolmogorovSampler(dimod.Sampler):  # type: ignore[misc,name-defined]
    """Sample low-energy states of a binary quadratic model with any of our binary solvers.

    Examples
    --------
    >>> import dimod
    >>> bqm = dimod.BinaryQuadraticModel({"a": -1.0, "b": -1.0}, {("a", "b"): 3.0}, 0.0, "BINARY")
    >>> float(KolmogorovSampler().sample(bqm).first.energy)
    -1.0
    """

    @property
    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of `sample` and the properties they depend on."""
        return {"solver": ["solvers"], "num_reads": [], "seed": [], "options": []}

    @property
    def properties(self) -> dict[str, Any]:
        """What the sampler offers."""
        return {"solvers": names("binary")}

    def sample(
        self,
        bqm: Any,
        *,
        solver: str = "auto",
        num_reads: int = 1,
        seed: int | None = 0,
        options: Any = None,
        **ignored: Any,
    ) -> Any:
        """Return one state per read, each from its own random stream.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
        solver : str
        num_reads : int
        seed : int or None
        options : dict, optional
            Of the solver.
        """
        check_parameters("KolmogorovSampler", {"num_reads": num_reads}, {"num_reads": Integer(1)})
        ignored = self.remove_unknown_kwargs(**ignored)
        if options is not None and not isinstance(options, Mapping):
            raise ParameterError(f"'options' must be a dictionary of the solver's options, got {options!r}.")
        method = lone_solver(solver, **(options or {}))
        first = base_seed(seed)
        variables = list(bqm.variables)
        if not variables:
            return dimod.SampleSet.from_samples_bqm([{}] * num_reads, bqm)
        problem = from_dimod(bqm)
        reads = [method.solve(problem, random_state=first + read).x.astype(np.int8) for read in range(num_reads)]
        states = np.array(reads)
        if bqm.vartype is dimod.SPIN:
            states = 2 * states - 1
        return dimod.SampleSet.from_samples_bqm((states, variables), bqm)
