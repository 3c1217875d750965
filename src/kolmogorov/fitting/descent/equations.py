"""Normal equations: the sums over a row's observations that its small problem is made of.

Where only yes is recorded, every unobserved entry counts as a no of weight w. A row's Gram matrix is then w times the
sum over all partners, which is the same for all rows, plus corrections over its observed ones (Hu, Koren, Volinsky
2008); its moment is that of the observed ones, since a no adds nothing to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.entries.view import View
from kolmogorov.kernels.rows.gram import binary_normal_equations, normal_equations

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
