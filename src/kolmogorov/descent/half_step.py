"""One half of a sweep: the normal equations of every row of one side, given the other's factors, and what solves them.

Where only yes is recorded, every unobserved entry counts as a no of weight w. A row's Gram matrix is then w times the
sum over all partners, which is the same for all rows, plus corrections over its observed ones (Hu, Koren, Volinsky
2008); its moment is that of the observed ones, since a no adds nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.solvers import RowSolver
from kolmogorov.solvers.gram import binary_normal_equations, normal_equations
from kolmogorov.solvers.quadratic import batch_values, keep_better

_WORD = 64


@dataclass(frozen=True, eq=False)
class Partners:
    """The other side's factors, whose products the normal equations sum.

    Attributes
    ----------
    factors : float64[n_partners, D]
    bits : uint64[n_partners] or None
        The factors as bits, where they are: sums over observations that all weigh one are then counts, which is
        quicker.
    unobserved : float
        What an entry that was not observed weighs, as a no.
    total : float64[D, D] or None
        The products of all partners' factors, summed; where the unobserved counts.
    """

    factors: Floats
    bits: NDArray[np.uint64] | None
    unobserved: float = 0.0
    total: Floats | None = None

    @classmethod
    def of(cls, factors: Floats, view: View, unobserved: float = 0.0) -> Partners:
        """Look whether the factors are bits, unless the view's weights make that of no use."""
        bits = packed_bits(factors) if unobserved or not view.weights.size else None
        return cls(factors, bits, unobserved, factors.T @ factors if unobserved else None)

    def equations(
        self,
        view: View,
        first: int,
        last: int,
        ridge: float,
        centre: Floats,
        memory: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Return Gram matrices and moments of the rows `first` to `last`, in new memory or in that given."""
        n, size = last - first, self.factors.shape[1]
        memory = np.empty(n * (size + 1) * size) if memory is None else memory
        gram = memory[: n * size * size].reshape(n, size, size)
        moment = memory[n * size * size :].reshape(n, size)
        table = (view.indptr, view.indices, view.values)
        rest = (first, last, ridge, centre, gram, moment)
        if self.bits is not None and not view.weights.size:
            binary_normal_equations(*table, self.bits, *rest)
        else:
            normal_equations(*table, view.weights, self.factors, *rest)
        if self.total is not None:
            self._add_unobserved(self.total, gram, view, first, last, ridge)
        view.forget(first, last)
        return gram, moment

    def _add_unobserved(self, total: Floats, gram: Floats, view: View, first: int, last: int, ridge: float) -> None:
        """Turn sums over the observed entries into sums over all, of which those observed are no longer a no."""
        diagonal = np.arange(gram.shape[1])
        if not view.weights.size:
            # Every observation weighs one: its products are in the sums already.
            gram *= 1.0 - self.unobserved
            gram[:, diagonal, diagonal] += self.unobserved * ridge
            gram += self.unobserved * total
            return
        plain = View(view.indptr, view.indices, view.values, np.empty(0))
        alike = Partners(self.factors, self.bits)
        counted, _ = alike.equations(plain, first, last, 0.0, np.zeros(gram.shape[1]))
        counted *= self.unobserved
        gram += self.unobserved * total
        gram -= counted


def packed_bits(factors: Floats) -> NDArray[np.uint64] | None:
    """Return factors that are all 0 or 1 as one word per row, or None where they are not or do not fit."""
    size = factors.shape[1]
    # Factors that are no bits mostly show it in the first row.
    if size > _WORD or not all(((rows == 0.0) | (rows == 1.0)).all() for rows in (factors[:1], factors)):
        return None
    return factors.astype(np.uint64) @ (np.uint64(1) << np.arange(size, dtype=np.uint64))


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
