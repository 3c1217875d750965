"""What the dual solvers share: room for their results, and the way from counts to a batch. Not a solver itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov.kernels.dual import CONVERGED, FULL_EVDS, ITERATIONS, LANCZOS_EVDS
from kolmogorov.solvers.contract import Batch, Floats


@dataclass(frozen=True, eq=False)
class DualRoom:
    """Output arrays for n problems of D variables; `trace` and `points` are empty unless a trace is wanted."""

    x: Floats
    bounds: Floats
    counts: NDArray[np.int64]
    phases: NDArray[np.int64]
    duals: Floats
    trace: Floats
    points: Floats

    @classmethod
    def for_batch(cls, moment: Floats, trace_length: int) -> DualRoom:
        """Make room for the problems with these moments."""
        n, size = moment.shape
        return cls(
            x=np.zeros((n, size)),
            bounds=np.empty(n),
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
            n_evd=self.counts[:, FULL_EVDS],
            n_lanczos=self.counts[:, LANCZOS_EVDS],
            phases=self.phases if with_phases else None,
            dual=self.duals,
            trace=[h[: k + 1] for h, k in zip(self.trace, steps, strict=True)] if traced else None,
            dual_trace=[p[: k + 1] for p, k in zip(self.points, steps, strict=True)] if traced else None,
        )
