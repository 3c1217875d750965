"""Solvers made of solvers: the same interface in, the same interface out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import MOST_RUNS, Integer, check_parameters
from kolmogorov.errors import ParameterError
from kolmogorov.kernels.binary.flips import multi_start
from kolmogorov.kernels.rows.quadratic import batch_values
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver
from kolmogorov.solvers.registry import binary_solver
from kolmogorov.solvers.stopping import go_on, stop_cell


@dataclass(frozen=True)
class _Wrapper(BinarySolver):
    """What the wrappers share: another solver, given as an object or by its name."""

    solver: BinarySolver | str

    def __post_init__(self) -> None:
        """Look the wrapped solver up now, so that a wrong name is an early error."""
        binary_solver(self.solver)

    @property
    def inner(self) -> BinarySolver:
        """The wrapped solver."""
        return binary_solver(self.solver)

    def check_size(self, size: int) -> None:
        """Raise where the wrapped solver would."""
        self.inner.check_size(size)


@dataclass(frozen=True)
class Polished(_Wrapper):
    """Descend by one and two flips from what another solver returns; never worse than that.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> Polished("enhanced_gd").solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    name = "polished"

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        batch = self.inner._solve_batch(gram, moment, start, seeds)
        x = np.empty_like(moment)
        multi_start(gram, moment, np.ascontiguousarray(batch.x), seeds, 1, stop_cell(), x)
        return replace(batch, x=x)


@dataclass(frozen=True)
class BestOf(_Wrapper):
    """Run another solver `k` times with different random numbers and keep the best point of each row.

    Counts of iterations, nodes and eigendecompositions are those of the run that is kept; a trace is not kept.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> BestOf("newton", 3).solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])).x.tolist()
    [0.0, 1.0]
    """

    k: int = 10

    name = "best_of"

    def __post_init__(self) -> None:
        """Check the wrapped solver and the number of runs."""
        super().__post_init__()
        check_parameters("BestOf", {"k": self.k}, {"k": Integer(1, MOST_RUNS)})
        runs, inner = self.k, self.inner
        while isinstance(inner, _Wrapper):
            runs, inner = runs * (inner.k if isinstance(inner, BestOf) else 1), inner.inner
        if runs > MOST_RUNS:
            raise ParameterError(f"BestOf inside BestOf: {runs:,} runs in all, at most {MOST_RUNS:,} are made.")

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        solver = self.inner
        best: Batch | None = None
        best_values = np.full(len(moment), np.inf)
        for attempt in range(self.k):
            fresh = seeds ^ row_seeds(attempt, 0, 0, np.zeros(1, dtype=np.int64))
            go_on()
            batch = solver._solve_batch(gram, moment, start, fresh).certified()
            values = np.empty(len(moment))
            batch_values(gram, moment, np.ascontiguousarray(batch.x), values)
            better = values < best_values
            best = batch if best is None else _merged(best, batch, better)
            best_values = np.minimum(values, best_values)
        assert best is not None
        return replace(best, trace=None, dual_trace=None)


@dataclass(frozen=True)
class Recorded(_Wrapper):
    """Keep every batch that another solver returns, in `records`, in the order of the calls.

    Examples
    --------
    >>> from kolmogorov.problems import BinaryQP
    >>> solver = Recorded("local_search")
    >>> _ = solver.solve(BinaryQP([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]))
    >>> len(solver.records)
    1
    """

    records: list[Batch] = field(default_factory=list, compare=False, repr=False)

    name = "recorded"

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of the options: `records` is none of them."""
        return ["solver"]

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        batch = self.inner._solve_batch(gram, moment, start, seeds).certified()
        self.records.append(batch)
        return batch


def _merged(old: Batch, new: Batch, better: NDArray[np.bool_]) -> Batch:
    """Take the rows that are better from `new`, and of two lower bounds the higher."""
    merged: dict[str, object] = {}
    for name in ("iterations", "converged", "proved", "n_evd", "n_lanczos", "gradient_norm", "nodes"):
        first, second = getattr(old, name), getattr(new, name)
        merged[name] = None if first is None or second is None else np.where(better, second, first)
    for name in ("x", "phases", "dual"):
        first, second = getattr(old, name), getattr(new, name)
        merged[name] = None if first is None or second is None else np.where(better[:, None], second, first)
    if old.lower_bound is not None and new.lower_bound is not None:
        merged["lower_bound"] = np.maximum(old.lower_bound, new.lower_bound)
    return replace(old, **merged)  # type: ignore[arg-type]
