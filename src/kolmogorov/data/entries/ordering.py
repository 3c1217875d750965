"""Sorting small integers in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def counting_order(codes: NDArray[Any], n_codes: int) -> NDArray[Any]:
    """Return the stable sorting permutation of integers in [0, n_codes).

    SciPy's conversion of a matrix with one entry per row from row order to column order is a counting
    sort in compiled code, and all that is needed here.

    Examples
    --------
    >>> counting_order(np.array([2, 0, 2, 1]), 3).tolist()
    [1, 3, 0, 2]
    """
    from scipy.sparse import csr_array

    index = np.int32 if max(codes.size, n_codes) < 2**31 else np.int64
    starts = np.arange(codes.size + 1, dtype=index)
    table = csr_array(
        (np.empty(codes.size, dtype=np.int8), codes.astype(index, copy=False), starts),
        shape=(codes.size, max(n_codes, 1)),
    )
    order: NDArray[Any] = table.tocsc().indices
    return order
