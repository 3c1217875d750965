"""What the dual solvers share: room for results, one call for the descents, the way to a batch. Not a solver itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Between, Boolean, Integer, Positive, Real, Requirement
from kolmogorov.errors import ParameterError
from kolmogorov.kernels.binary.dual import CONVERGED, FULL_EVDS, ITERATIONS, LANCZOS_EVDS, Descent
from kolmogorov.kernels.binary.relaxation import gradient_batch
from kolmogorov.solvers.contract import Batch, Floats
from kolmogorov.solvers.stopping import stop_cell

#: The methods make some hundred eigendecompositions; above this size each takes a good part of a second.
MAX_VARIABLES = 1_000
# Numbers kept for the traces of a batch: 800 MB.
_LONGEST_TRACE = 100_000_000
#: Rules of the options that the two gradient descents have in common.
DESCENT_RULES: dict[str, Requirement] = {
    "gamma": Positive(),
    "n_draws": Integer(1),
    "tol": Real(0.0),
    "max_iter": Integer(1),
    "step": Positive(),
    "shrink": Between(0.0, 1.0),
    "armijo": Between(0.0, 1.0),
    "initial_dual": Real(-1e100, 1e100),
    "screened": Boolean(),
    "trace": Boolean(),
}
#: Rules of the options of the two Newton methods.
NEWTON_RULES: dict[str, Requirement] = {
    "gamma": Positive(),
    "n_draws": Integer(1),
    "tol": Real(0.0),
    "max_iter": Integer(1),
    "trace": Boolean(),
}


@dataclass(frozen=True, eq=False)
class DualRoom:
    """Output arrays for n problems of D variables; `trace` and `points` are empty unless a trace is wanted."""

    x: Floats
    bounds: Floats
    norms: Floats
    counts: NDArray[np.int64]
    phases: NDArray[np.int64]
    duals: Floats
    trace: Floats
    points: Floats

    @classmethod
    def for_batch(cls, moment: Floats, trace_length: int) -> DualRoom:
        """Make room for the problems with these moments."""
        n, size = moment.shape
        if n * trace_length * (size + 1) > _LONGEST_TRACE:
            raise ParameterError(
                f"A trace of up to {trace_length:,} points of {size + 1} numbers does not fit; at most "
                f"{_LONGEST_TRACE:,} numbers are kept. Lower 'max_iter', or set trace=False."
            )
        return cls(
            x=np.zeros((n, size)),
            bounds=np.empty(n),
            norms=np.empty(n),
            counts=np.zeros((n, 4), dtype=np.int64),
            phases=np.zeros((n, 4), dtype=np.int64),
            duals=np.empty((n, size + 1)),
            trace=np.empty((n, trace_length)),
            points=np.empty((n, trace_length, size + 1)),
        )

    def batch(self, *, with_phases: bool = False) -> Batch:
        """Put the results into the form of the contract."""
        steps = self.counts[:, ITERATIONS]
        traced = self.trace.shape[1] > 0
        return Batch(
            x=self.x,
            lower_bound=self.bounds,
            iterations=steps,
            converged=self.counts[:, CONVERGED] == 1,
            gradient_norm=self.norms,
            n_evd=self.counts[:, FULL_EVDS],
            n_lanczos=self.counts[:, LANCZOS_EVDS],
            phases=self.phases if with_phases else None,
            dual=self.duals,
            trace=[h[: k + 1] for h, k in zip(self.trace, steps, strict=True)] if traced else None,
            dual_trace=[p[: k + 1] for p, k in zip(self.points, steps, strict=True)] if traced else None,
        )


def descended(
    solver: Any,
    gram: Floats,
    moment: Floats,
    seeds: NDArray[np.uint64],
    *,
    enhanced: bool,
    initial_step: bool = False,
    lanczos: bool = False,
    a: float = 1.0,
) -> Batch:
    """Run Algorithm 1, or 2 with `enhanced`, with the options of a solver; types are fixed for the kernel."""
    room = DualRoom.for_batch(moment, int(solver.max_iter) + 1 if solver.trace else 0)
    how = Descent(
        float(solver.gamma),
        float(solver.tol),
        int(solver.max_iter),
        float(solver.step),
        float(solver.shrink),
        float(solver.armijo),
        float(solver.initial_dual),
        bool(solver.screened),
        enhanced,
        bool(initial_step),
        lanczos,
        float(a),
    )
    gradient_batch(
        gram,
        moment,
        seeds,
        how,
        int(solver.n_draws),
        stop_cell(),
        room.x,
        room.bounds,
        room.norms,
        room.counts,
        room.phases,
        room.duals,
        room.trace,
        room.points,
    )
    return room.batch(with_phases=enhanced)
