"""What rounding may change in the value of a point."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.kernels.rows.quadratic import rounding_allowances


def binary_allowance(gram: Floats, moment: Floats) -> Floats:
    """Bound each row's rounding error of its value over {0,1}^D, so that lower bounds stay below every value."""
    rounding_allowances(gram, moment, out := np.empty(len(moment)))
    return out
