"""What the arithmetic of a value may be off by. Not a solver itself."""

from __future__ import annotations

import numpy as np

from kolmogorov.kernels.rows.quadratic import rounding_allowances
from kolmogorov.solvers.contract import Floats


def rounding_allowance(gram: Floats, moment: Floats) -> Floats:
    """Bound each row's rounding error of its value over {0,1}^D, so that lower bounds stay below every value."""
    out = np.empty(len(moment))
    rounding_allowances(gram, moment, out)
    return out
