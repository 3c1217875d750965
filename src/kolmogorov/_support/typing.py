"""Names of array types, said once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Row numbers of users or items.
Rows = NDArray[np.int64]
