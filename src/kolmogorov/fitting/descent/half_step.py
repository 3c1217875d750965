"""One half of a sweep: every row of one side, given the other side's factors."""

from __future__ import annotations

from collections.abc import Callable
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
    `unobserved`. A table of `large` observations or more is worth calls that make and solve rows in one go.
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
    large: int = _LARGE

    def run(self, view: View, factors: Floats, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Solve every row given the other side's factors; return new rows and their values.

        The value of a row is x^T gram x - 2 x^T moment.
        """
        size, partners = current.shape[1], Partners.of(factors, view, self.unobserved)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            memory = dealer.scratch((last - first) * (size + 1) * size)
            return partners.equations(view, first, last, self.ridge, self.centre, memory=memory)

        crowded = dealer.n_threads >= _CROWD and view.indices.size >= self.large
        if crowded and self.solver.from_table and not self.unobserved and self.keep_better:
            return self._run_compiled(view, partners, current, dealer)
        seeds = self._seeds(len(current))
        return solved_rows(self.solver, equations, current, seeds, dealer, view.indptr, keeping=self.keep_better)

    def _run_compiled(self, view: View, partners: Partners, current: Floats, dealer: Threads) -> tuple[Floats, Floats]:
        """Run by a solver that makes its rows' normal equations itself."""
        plain = partners.bits is not None and not view.weights.size
        bits = partners.bits if plain else np.empty(0, dtype=np.uint64)
        pull = (self.ridge, self.centre, current)
        table = (view.indptr, view.indices, view.values, view.weights, partners.factors, bits, *pull)
        result, values = np.empty_like(current), np.empty(len(current))

        def share(first: int, last: int) -> None:
            self.solver.solve_rows(table, first, last, result, values)
            view.forget(first, last)

        squares = current.shape[1] ** 2
        dealer.deal(share, len(current), squares, view.indptr, squares, self.solver.row_cost(current.shape[1]))
        return result, values

    def solved(self, gram: Floats, moment: Floats, start: Floats) -> Floats:
        """Solve rows from their normal equations."""
        seeds, dealer = self._seeds(len(start)), Threads(1)

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            return gram[first:last], moment[first:last]

        return solved_rows(self.solver, equations, start, seeds, dealer, keeping=self.keep_better)[0]

    def _seeds(self, count: int) -> NDArray[np.uint64]:
        return row_seeds(self.seed, self.sweep, self.side, np.arange(self.offset, self.offset + count))


def solved_rows(
    solver: RowSolver,
    equations: Callable[[int, int], tuple[Floats, Floats]],
    start: Floats,
    seeds: NDArray[np.uint64],
    dealer: Threads,
    indptr: NDArray[np.int64] | None = None,
    *,
    keeping: bool = True,
) -> tuple[Floats, Floats]:
    """Solve rows whose Gram matrices and moments `equations` makes share by share; return them and their values.

    When `keeping`, a row whose solver returns a worse point than where it starts stays there.
    """
    result, values = np.empty_like(start), np.empty(len(start))
    squares = start.shape[1] ** 2

    def share(first: int, last: int) -> None:
        rows = slice(first, last)
        gram, moment = equations(first, last)
        result[rows] = solver.solve_batch(gram, moment, start[rows], seeds[rows])
        if keeping:
            keep_better(gram, moment, start[rows], result[rows], values[rows])
        else:
            batch_values(gram, moment, result[rows], values[rows])

    dealer.deal(share, len(start), squares, indptr, squares, solver.row_cost(start.shape[1]))
    return result, values
