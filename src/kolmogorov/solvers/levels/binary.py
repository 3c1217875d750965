"""The reduction to bits: over equally spaced levels the problem is a binary one of D (L - 1) variables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.errors import SolverMismatchError
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.families import BinarySolver, LevelSolver
from kolmogorov.solvers.registry import binary_solver

# Gaps between levels may differ by so much of one; decimal fractions are not exact.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Binary(LevelSolver):
    """Write x_d = low + step * (sum of L - 1 bits) and hand the bits to a binary solver.

    The bits of a coordinate are interchangeable, so no order between them is needed. Counts, bounds and proofs are
    those of the binary solver.

    Parameters
    ----------
    solver : str or BinarySolver
        `kolmogorov.solvers.names("binary")` lists them.
    levels : sequence of float
        Of batches; a `LevelQP` has its own. Equally spaced.

    Examples
    --------
    >>> from kolmogorov.problems import LevelQP
    >>> problem = LevelQP([[1.0, 0.0], [0.0, 1.0]], [0.3, 3.0], [0.0, 0.5, 1.0])
    >>> Binary("enhanced_gd").solve(problem).x.tolist()
    [0.5, 1.0]
    """

    solver: str | BinarySolver = "auto"

    name = "binary"

    def __post_init__(self) -> None:
        """Look the solver up now, so that a wrong name is an early error, and refuse levels at unequal distances."""
        super().__post_init__()
        binary_solver(self.solver)
        gaps = np.diff(self.levels)
        if np.ptp(gaps) > _ROUNDING * gaps.max():
            raise SolverMismatchError(
                "Solver 'binary' needs equally spaced levels, got "
                f"{', '.join(f'{level:g}' for level in self.levels)}. Use 'coordinate'."
            )

    @property
    def inner(self) -> BinarySolver:
        """The binary solver."""
        return binary_solver(self.solver)

    def check_size(self, size: int) -> None:
        """Raise where the binary solver would, for so many bits."""
        self.inner.check_size(size * (len(self.levels) - 1))

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> Batch:
        n, size = moment.shape
        copies = len(self.levels) - 1
        low, step = self.grid[0], (self.grid[-1] - self.grid[0]) / copies
        spread = np.repeat(np.repeat(step**2 * gram, copies, axis=1), copies, axis=2)
        linear = np.repeat(step * (moment - low * gram.sum(axis=2)), copies, axis=1)
        place = nearest(start, self.grid)
        bits = (np.arange(copies) < place[:, :, None]).reshape(n, size * copies).astype(np.float64)
        batch = self.inner._solve_batch(spread, linear, bits, seeds).certified()
        x = self.grid[batch.x.reshape(n, size, copies).sum(axis=2).astype(np.int64)]
        constant = low**2 * gram.sum(axis=(1, 2)) - 2.0 * low * moment.sum(axis=1)
        bound = None if batch.lower_bound is None else batch.lower_bound + constant
        return replace(batch, x=x, lower_bound=bound, dual=None, trace=None, dual_trace=None)
