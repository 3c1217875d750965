"""What always holds of arrays, said once: shapes and types, numbers, simplices, bits, indices.

Compiled code relies on it and does not look. Whatever comes from a file is checked with these, and so is what a fit
ends with; a violation is an `InvariantError` whose text begins with what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.errors import InvariantError

#: Where any number lies that a fit can come to; beyond, sums and squares of later computations would overflow. By
#: judgement.
LEAST_NUMBER, LARGEST_NUMBER = 1e-15, 1e15
#: How far the sum of a distribution may be from 1.
_SLACK = 1e-6
#: Elements looked at together, so that checks ask for little memory beside what they check.
_BLOCK = 1 << 18


def check_array(what: str, array: NDArray[Any], dtype: Any, shape: tuple[int | None, ...]) -> None:
    """Check type and shape; None stands for any length."""
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != np.dtype(dtype) or not fits:
        wanted = " x ".join("any" if n is None else str(n) for n in shape)
        raise InvariantError(f"{what} must be {np.dtype(dtype)}[{wanted}], got {array.dtype}{list(array.shape)}")


def _check_all(what: str, array: NDArray[Any], holds: Callable[[NDArray[Any]], Any], otherwise: str) -> None:
    """Check something of every element, a block of them at a time; comparisons are written so that NaN fails."""
    flat = array.reshape(-1)
    for first in range(0, flat.size, _BLOCK):
        if not holds(flat[first : first + _BLOCK]).all():
            raise InvariantError(f"{what} holds {otherwise}")


def check_finite(what: str, array: NDArray[Any]) -> None:
    """Check that every element is a number."""
    _check_all(what, array, np.isfinite, "NaN or infinity")


def check_between(what: str, array: NDArray[Any], low: float, high: float) -> None:
    """Check that every element is a number from `low` to `high`."""
    _check_all(what, array, lambda x: (x >= low) & (x <= high), f"a number outside [{low:g}, {high:g}]")


def check_bounded(what: str, array: NDArray[Any]) -> None:
    """Check that every element is a number of a size that can be computed with."""
    check_finite(what, array)
    check_between(what, array, -LARGEST_NUMBER, LARGEST_NUMBER)


def check_positive(what: str, array: NDArray[Any]) -> None:
    """Check that every element is a number above zero."""
    _check_all(what, array, lambda x: (x > 0.0) & (x < np.inf), "a number that is not positive and finite")


def check_bits(what: str, array: NDArray[Any]) -> None:
    """Check that every element is 0 or 1."""
    if array.dtype != bool:
        _check_all(what, array, lambda x: (x == 0) | (x == 1), "a number that is neither 0 nor 1")


def check_among(what: str, array: NDArray[Any], levels: NDArray[np.float64]) -> None:
    """Check that every element is one of some increasing numbers."""
    _check_all(what, array, lambda x: np.isin(x, levels), "a number that is no level")


def check_simplex(what: str, array: NDArray[Any]) -> None:
    """Check that the last axis holds distributions."""
    check_between(what, array, 0.0, 1.0 + _SLACK)
    rows = array.reshape(-1, array.shape[-1])
    step = max(1, _BLOCK // array.shape[-1])
    for first in range(0, len(rows), step):
        if not (np.abs(rows[first : first + step].sum(axis=1) - 1.0) <= _SLACK).all():
            raise InvariantError(f"{what} is not on the probability simplex: a sum is not 1")


def check_indptr(what: str, indptr: NDArray[Any], n_entries: int) -> None:
    """Check that rows begin at 0, follow each other and end with the entries.

    Neighbours are compared, since the difference of two integers can overflow.
    """
    if indptr.dtype != np.int64 or indptr.ndim != 1 or indptr.size < 1:
        raise InvariantError(f"{what} must be int64 with one element more than there are rows")
    if indptr[0] != 0 or indptr[-1] != n_entries or not (indptr[1:] >= indptr[:-1]).all():
        raise InvariantError(f"{what} does not increase from 0 to the number of entries, {n_entries}")


def check_indices(what: str, indptr: NDArray[np.int64], indices: NDArray[Any], n_partners: int) -> None:
    """Check that partners exist and increase within each row, so that none is there twice; `indptr` was checked."""
    if indices.dtype not in (np.int32, np.int64) or indices.ndim != 1:
        raise InvariantError(f"{what} must be int32 or int64")
    for first in range(0, indices.size, _BLOCK):
        # One element more on the left, to compare blocks with each other.
        start = max(first - 1, 0)
        block = indices[start : first + _BLOCK]
        if not ((block >= 0) & (block < n_partners)).all():
            raise InvariantError(f"{what} holds a number outside the table, which has {n_partners} partners")
        falls = np.flatnonzero(block[1:] <= block[:-1]) + start + 1
        if falls.size:
            begins = indptr[np.searchsorted(indptr, falls, side="right") - 1]
            if (begins != falls).any():
                raise InvariantError(f"{what} does not increase within a row: a pair is there twice or out of order")
