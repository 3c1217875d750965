"""Which weights an observation may have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats

#: Weights outside are refused. Sums of squares of larger ones overflow, and draws that count trials never end; smaller
#: ones vanish beside the others. By judgement.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9
#: The same in words, for error messages.
ACCEPTED_WEIGHTS = f"weights from {LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g} are accepted"


def outside_weight_bounds(weights: Floats) -> NDArray[np.bool_]:
    """Tell which weights are smaller or larger than is accepted."""
    return ~((weights >= LEAST_WEIGHT) & (weights <= LARGEST_WEIGHT))
