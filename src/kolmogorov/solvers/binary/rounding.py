"""What the arithmetic of a value may be off by. Not a solver itself."""

from __future__ import annotations

import numpy as np

from kolmogorov.solvers.contract import Floats


def rounding_allowance(gram: Floats, moment: Floats) -> Floats:
    """Bound each row's rounding error of x^T gram x - 2 x^T moment over {0,1}^D, so that lower bounds stay below it."""
    total = np.abs(gram).sum(axis=(-2, -1)) + 2.0 * np.abs(moment).sum(axis=-1)
    return 4.0 * np.finfo(np.float64).eps * total
