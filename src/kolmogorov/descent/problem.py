"""What a descent solves: the objective that every half-step lowers, and the normal equations of every row.

Where only yes is recorded, every unobserved entry counts as a no of weight w. A row's Gram matrix is then w times the
sum over all partners, which is the same for all rows, plus corrections over its observed ones (Hu, Koren, Volinsky
2008); its moment is that of the observed ones, since a no adds nothing to it.

Here is also all that a benchmark chose for the descent; other constants, by judgement, stand where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.solvers import RowSolver
from kolmogorov.solvers.rows import binary_normal_equations, normal_equations

Prior = Literal["mean", "uniform"]
#: What all unobserved entries weigh by default, for each one observed: on splits of MovieLens 100K that no table has
#: lists have an nDCG@10 of 0.307 with 8 and 16, 0.296 with 4, 0.298 with 32. And ridges on theta and on values of
#: descents over tables in which only yes is recorded, by turns: those of few yeses and of many do best with one or the
#: other, and most with both.
UNOBSERVED_MASS, ONLY_YES_RIDGES = 8.0, ((30.0, 0.5), (60.0, 1.0))
#: Ratings that every user and item counts as having beside its own where a completed table is learned from. On a split
#: of MovieLens 100K that no table has 0, 10 and 100 have 0.8897, 0.8897 and 0.8886 stars, with chances 0.8789, 0.8791
#: and 0.8795; where all count the same it is 0.8919 and 0.8801.
EXTRA_RATINGS = 10.0
#: Users and items whose chances of a yes stand for those of a large table: of 8,000 x 4,000 the factors found by them
#: are 0.015 off, by all cells 0.017.
SAMPLE = 1024

USER_SIDE, ITEM_SIDE = 0, 1


@dataclass(frozen=True, eq=False)
class Problem:
    """What a fit solves, and by what.

    Minimised is the sum over observations of w (theta_u . psi_i - p)^2, plus `unobserved` times the sum of (theta_u .
    psi_i)^2 over all other pairs, plus `user_reg` times the squared distance of every theta_u from the centre, plus
    `item_reg` times the squared distance of every psi_i from 0, "does not happen", or from the mean of the table
    (`item_prior`). With prior "mean" the centre is a third block, whose optimum is the mean theta of the users
    observed, or of all where the unobserved counts. With `keep_better` a row keeps its point where its solver finds a
    worse one.
    """

    user_solver: RowSolver
    item_solver: RowSolver
    user_reg: float = 0.0
    item_reg: float = 0.0
    prior: Prior = "mean"
    unobserved: float | Literal["auto"] = 0.0
    item_prior: Literal["zero", "mean"] = "zero"
    keep_better: bool = True


def usual_weight(n_entries: int, n_cells: int) -> float:
    """Return what an unobserved entry weighs by default: all of them together weigh some times what was observed.

    Examples
    --------
    >>> usual_weight(50, 1050)
    0.4
    """
    return min(1.0, UNOBSERVED_MASS * n_entries / max(n_cells - n_entries, 1))


# --- the normal equations ---------------------------------------------------------------------------------------------

#: Events that a word of bits holds.
_WORD = 64


@dataclass(frozen=True, eq=False)
class Partners:
    """The other side's factors, whose products the normal equations sum; float64[n_partners, D].

    `bits` are the factors as words, where they are bits: sums of those that all weigh one are counts, which is quicker.
    `unobserved` is what an entry that was not observed weighs, as a no, and `total` then the products of all partners'
    factors, summed.
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
        self, view: View, first: int, last: int, ridge: float, centre: Floats, memory: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return Gram matrices and moments of the rows `first` to `last`, in new memory or in that given."""
        n, size = last - first, self.factors.shape[1]
        memory = np.empty(n * (size + 1) * size) if memory is None else memory
        gram = memory[: n * size * size].reshape(n, size, size)
        moment = memory[n * size * size :].reshape(n, size)
        table, rest = (view.indptr, view.indices, view.values), (first, last, ridge, centre, gram, moment)
        if self.bits is not None and not view.weights.size:
            binary_normal_equations(*table, self.bits, *rest)
        else:
            normal_equations(*table, view.weights, self.factors, *rest)
        if self.total is not None and view.weights.size:
            plain = Partners(self.factors, self.bits)
            counted, _ = plain.equations(View(*table, np.empty(0)), first, last, 0.0, np.zeros(size))
            gram += self.unobserved * self.total
            gram -= self.unobserved * counted
        elif self.total is not None:
            # Every observation weighs one: its products are in the sums already.
            gram *= 1.0 - self.unobserved
            gram[:, np.arange(size), np.arange(size)] += self.unobserved * ridge
            gram += self.unobserved * self.total
        view.forget(first, last)
        return gram, moment


def packed_bits(factors: Floats) -> NDArray[np.uint64] | None:
    """Return factors that are all 0 or 1 as one word per row, or None where they are not or do not fit."""
    size = factors.shape[1]
    # Factors that are no bits mostly show it in the first row.
    if size > _WORD or not all(((rows == 0.0) | (rows == 1.0)).all() for rows in (factors[:1], factors)):
        return None
    return factors.astype(np.uint64) @ (np.uint64(1) << np.arange(size, dtype=np.uint64))
