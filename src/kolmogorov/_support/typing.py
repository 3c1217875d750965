"""Names for the arrays that go through the whole library."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Ratings, probabilities, weights, factors.
Floats = NDArray[np.float64]
#: One random stream for each row (`_support.seeds`).
Seeds = NDArray[np.uint64]
#: Whole numbers: iterations, nodes, observations of a row; row numbers of users or of items, from 0.
Counts = NDArray[np.int64]
Rows = NDArray[np.int64]
#: Ids as people know them: objects that are str.
Ids = NDArray[Any]
