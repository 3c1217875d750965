"""The value of a point, and what rounding may change in it."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.kernels.rows.quadratic import rounding_allowances


def value_of(gram: Floats, moment: Floats, x: Floats) -> float:
    """Return x^T gram x - 2 x^T moment."""
    return float(x @ gram @ x - 2.0 * (x @ moment))


def binary_allowance(gram: Floats, moment: Floats) -> Floats:
    """Bound each row's rounding error of its value over {0,1}^D, so that lower bounds stay below every value."""
    rounding_allowances(gram, moment, out := np.empty(len(moment)))
    return out


def level_allowance(gram: Floats, moment: Floats, levels: Floats) -> Floats:
    """Bound each row's rounding error of its value over levels^D."""
    reach = float(np.abs(levels).max())
    size = reach**2 * np.abs(gram).sum(axis=(1, 2)) + 2.0 * reach * np.abs(moment).sum(axis=1)
    allowance: Floats = 64.0 * np.finfo(np.float64).eps * size
    return allowance
