"""What the arithmetic of a value may be off by. Not a solver itself."""

from __future__ import annotations

import numpy as np

from kolmogorov.solvers.contract import Floats


def rounding_allowance(gram: Floats, moment: Floats, levels: Floats) -> Floats:
    """Bound each row's rounding error of its value over levels^D, so that lower bounds stay below every value."""
    reach = float(np.abs(levels).max())
    size = reach**2 * np.abs(gram).sum(axis=(1, 2)) + 2.0 * reach * np.abs(moment).sum(axis=1)
    allowance: Floats = 64.0 * np.finfo(np.float64).eps * size
    return allowance
