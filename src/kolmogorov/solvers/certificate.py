"""What the convex methods share: descend from a copy of the start, and turn the gaps that are left into bounds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.kernels.rows.quadratic import certify
from kolmogorov.solvers.contract import Batch, RowSolver


class Certified(RowSolver):
    """A method that knows how far from the optimum it may have ended: at most twice its gap."""

    tol: float

    @abstractmethod
    def _descend(self, gram: Floats, moment: Floats, x: Floats, gaps: Floats, iterations: NDArray[np.int64]) -> None:
        """Improve `x`; write the gap at the end and the iterations of each row."""

    def _descended(self, gram: Floats, moment: Floats, start: Floats) -> tuple[Floats, Floats, Any]:
        x, gaps, iterations = start.copy(), np.empty(len(start)), np.empty(len(start), dtype=np.int64)
        self._descend(gram, moment, x, gaps, iterations)
        return x, gaps, iterations

    def _points(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Floats:
        return self._descended(gram, moment, start)[0]

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        x, gaps, iterations = self._descended(gram, moment, start)
        bounds, converged = np.empty(len(x)), np.empty(len(x), dtype=bool)
        certify(gram, moment, x, float(self.tol), gaps, bounds, converged)
        return Batch(x, bounds, iterations, converged, proved=converged)
