"""One half of a sweep: every row of one side, given the other side's factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.execution import Threads
from kolmogorov.fitting.descent.equations import Partners
from kolmogorov.kernels.rows.quadratic import batch_values, keep_better
from kolmogorov.solvers import RowSolver

USER_SIDE, ITEM_SIDE = 0, 1
#: From so many threads and observations on it pays to have rows made and solved in one compiled call: below, threads
#: hardly wait for each other between calls, and some seconds of compilation more would be noticed. By
#: judgement; `benchmarks/threads.py large` times such a table.
_CROWD, _LARGE = 4, 1 << 19


@dataclass(frozen=True, eq=False)
class HalfStep:
    """How the rows of one side are solved: the solver, the ridge, what it shrinks to, and the seed.

    With `keep_better` a row whose solver returns a worse point than it has stays as it is. Where the rows are part of a
    larger table, `offset` is the number of the first. Entries that were not observed count as a no of weight
    `unobserved`.
    """

    solver: RowSolver
    ridge: float
    centre: Floats
    seed: int
    sweep: int
    side: int
    offset: int = 0
    unobserved: float = 0.0
    keep_better: bool = True

    def run(self, view: View, factors: Floats, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values.

        The value of a row is x^T gram x - 2 x^T moment.
        """
        n_rows, size = current.shape
        partners = Partners.of(factors, view, self.unobserved)
        result = np.empty_like(current)
        values = np.empty(n_rows)
        seeds = self._seeds(0, n_rows)
        plain = partners.bits is not None and not view.weights.size
        bits = partners.bits if plain else np.empty(0, dtype=np.uint64)
        table = (view.indptr, view.indices, view.values, view.weights, factors, bits, self.ridge, self.centre, current)

        crowded = dealer.n_threads >= _CROWD and view.indices.size >= _LARGE
        whole = crowded and self.solver.from_table and not self.unobserved and self.keep_better

        def share(first: int, last: int) -> None:
            if whole:
                self.solver.solve_rows(table, first, last, result, values)
                view.forget(first, last)
                return
            rows = slice(first, last)
            memory = dealer.scratch((last - first) * (size + 1) * size)
            gram, moment = partners.equations(view, first, last, self.ridge, self.centre, memory=memory)
            result[rows] = self._solved(gram, moment, current[rows], seeds[rows], values[rows])

        squares = size * size
        dealer.deal(share, n_rows, squares, view.indptr, squares, self.solver.row_cost(size))
        return result, values

    def solved(self, gram: Floats, moment: Floats, start: Floats, first: int) -> tuple[Floats, Floats]:
        """Solve rows from their normal equations; `first` is the number of the first of them."""
        values = np.empty(len(start))
        return self._solved(gram, moment, start, self._seeds(first, len(start)), values), values

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64], values: Floats) -> Floats:
        result = self.solver.solve_batch(gram, moment, start, seeds)
        if self.keep_better:
            keep_better(gram, moment, start, result, values)
        else:
            batch_values(gram, moment, result, values)
        return result

    def _seeds(self, first: int, count: int) -> NDArray[np.uint64]:
        begin = self.offset + first
        return row_seeds(self.seed, self.sweep, self.side, np.arange(begin, begin + count))
