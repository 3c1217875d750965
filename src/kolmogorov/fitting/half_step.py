"""One half of a sweep: every row of one side, given the other side's factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import View
from kolmogorov.execution import Threads
from kolmogorov.fitting.equations import Partners
from kolmogorov.kernels.rows.quadratic import keep_better
from kolmogorov.solvers import RowSolver

USER_SIDE, ITEM_SIDE = 0, 1
#: So many points (a power of two) that are gone through take as long as an entry of a Gram matrix in a share of rows.
_POINTS = 12


@dataclass(frozen=True, eq=False)
class HalfStep:
    """How the rows of one side are solved: the solver, the ridge, what it shrinks to, and the seed.

    A row whose solver returns a worse point than it has stays as it is. Where the rows are part of a larger table,
    `offset` is the number of the first. Entries that were not observed count as a no of weight `unobserved`.
    """

    solver: RowSolver
    ridge: float
    centre: Floats
    seed: int
    sweep: int
    side: int
    offset: int = 0
    unobserved: float = 0.0

    def run(
        self, view: View, factors: Floats, current: Floats, dealer: Threads, everyone: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values.

        The value of a row is x^T gram x - 2 x^T moment. What was not observed is with one of `everyone`, by default of
        those with factors.
        """
        n_rows, size = current.shape
        partners = Partners.of(factors, view, self.unobserved, everyone)
        result = np.empty_like(current)
        values = np.empty(n_rows)

        def share(first: int, last: int) -> None:
            gram, moment = partners.equations(view, first, last, self.ridge, self.centre)
            result[first:last], values[first:last] = self.solved(gram, moment, current[first:last], first)

        dealer.deal(share, n_rows, self._row_entries(size), view.indptr, size * size)
        return result, values

    def _row_entries(self, size: int) -> int:
        """Return what bounds the rows of a share: their Gram matrices, or the points that are gone through for each."""
        points = 1 << max(size - _POINTS, 0) if self.solver.name == "exhaustive" else 0
        return max(size * size, points)

    def solved(self, gram: Floats, moment: Floats, start: Floats, first: int) -> tuple[Floats, Floats]:
        """Solve rows from their normal equations; `first` is the number of the first of them."""
        rows = np.arange(self.offset + first, self.offset + first + len(start))
        result = self.solver.solve_batch(gram, moment, start, row_seeds(self.seed, self.sweep, self.side, rows))
        values = np.empty(len(start))
        keep_better(gram, moment, start, result, values)
        return result, values
