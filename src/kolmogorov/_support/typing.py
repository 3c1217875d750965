"""Names for the arrays that go through the whole library."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Ratings, probabilities, weights, factors.
Floats = NDArray[np.float64]
#: One random stream for each row (`_support.seeds`).
Seeds = NDArray[np.uint64]
#: Whole numbers: iterations, nodes, observations of a row.
Counts = NDArray[np.int64]
#: Row numbers of users or of items, from 0.
Rows = NDArray[np.int64]
#: Ids as people know them: int64, or objects that are str.
Ids = NDArray[Any]
