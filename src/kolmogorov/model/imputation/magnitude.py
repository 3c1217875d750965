"""The magnitude of numbers: sums and differences of numbers near the largest float are beyond all floats.

So columns are computed with in numbers below 1. Both ways multiply by a power of two, which rounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kolmogorov._support.typing import Floats

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Magnitude:
    """A power of two that is larger than all numbers of a column."""

    exponent: int

    @classmethod
    def of(cls, numbers: Floats) -> Self:
        """Take the least such power."""
        return cls(int(np.frexp(np.abs(numbers).max())[1]))

    def small(self, numbers: Floats) -> Floats:
        """Return numbers divided by the power."""
        return _times(numbers, -self.exponent)

    def back(self, small: Floats) -> Floats:
        """Return numbers times the power; the largest float where that is larger."""
        return _times(small, self.exponent)


def mean_of(numbers: Floats) -> float:
    """Return the mean of numbers whose sum may be beyond all floats.

    Examples
    --------
    >>> mean_of(np.array([1.5e308, 1.5e308, 1.5e308, 1.5e308]))
    1.5e+308
    """
    magnitude = Magnitude.of(numbers)
    return float(magnitude.back(magnitude.small(numbers).mean()))


def _times(numbers: Floats, exponent: int) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.clip(np.ldexp(numbers, exponent), -_LARGEST, _LARGEST)
    return found
