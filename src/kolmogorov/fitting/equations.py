"""Normal equations: the sums over a row's observations that its small problem is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import View
from kolmogorov.kernels.rows.gram import binary_normal_equations, normal_equations

_WORD = 64


@dataclass(frozen=True, eq=False)
class Partners:
    """The other side's factors, whose products the normal equations sum; as bits where they are bits.

    Attributes
    ----------
    factors : float64[n_partners, D]
    bits : uint64[n_partners] or None
        With them the sums are counts, which is quicker.
    """

    factors: Floats
    bits: NDArray[np.uint64] | None

    @classmethod
    def of(cls, factors: Floats, view: View) -> Partners:
        """Look whether the factors are bits, and whether the view's observations all weigh the same."""
        return cls(factors, None if view.weights.size else packed_bits(factors))

    @classmethod
    def with_precision(cls, factors: Floats, view: View, precision: Floats) -> tuple[Partners, View, Floats | None]:
        """Prepare sums in which a row's observations weigh its precision: in the sums of bits, or else in the view."""
        partners = cls.of(factors, view)
        if partners.bits is not None:
            return partners, view, precision
        return partners, view.weighed(np.repeat(precision, view.counts)), None

    def equations(
        self, view: View, first: int, last: int, ridge: float, centre: Floats, precision: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return Gram matrices and moments of the rows `first` to `last`.

        A `precision` for each row of the view weighs its observations; with it the factors must be bits.
        """
        size = self.factors.shape[1]
        gram = np.empty((last - first, size, size))
        moment = np.empty((last - first, size))
        table = (view.indptr, view.indices, view.values)
        rest = (first, last, ridge, centre, gram, moment)
        if self.bits is None:
            normal_equations(*table, view.weights, self.factors, *rest)
        else:
            binary_normal_equations(*table, self.bits, np.empty(0) if precision is None else precision, *rest)
        view.forget(first, last)
        return gram, moment


def packed_bits(factors: Floats) -> NDArray[np.uint64] | None:
    """Return factors that are all 0 or 1 as one word per row, or None where they are not or do not fit."""
    size = factors.shape[1]
    if size > _WORD or not ((factors == 0.0) | (factors == 1.0)).all():
        return None
    return factors.astype(np.uint64) @ (np.uint64(1) << np.arange(size, dtype=np.uint64))
