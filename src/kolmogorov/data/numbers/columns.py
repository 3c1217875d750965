"""What people hand in for one column, a number or an id for each observation: as a NumPy array, or as a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError

#: Words where an entry is to be found, in error messages: "ratings.csv, line 12".
Place = Callable[[int], str]
_NOT_NUMBERS = {
    "c": "complex ones (Complex data not supported)",
    "m": "durations",
    "M": "dates",
    "V": "records of several fields",
}


def in_array(position: int) -> str:
    """Word the place of an entry of an array."""
    return f"entry {position}"


def column_of(raw: Any, what: str, expected: str, place: Place = in_array) -> NDArray[Any]:
    """Return a one-dimensional array of whatever type; `place` words the place of an entry in error messages.

    Examples
    --------
    >>> column_of((n for n in range(3)), "values", "a one-dimensional array of numbers")
    Traceback (most recent call last):
    kolmogorov.errors.DataError: values must form a one-dimensional array of numbers, got a generator, which can be read
    once only. Make a list of it first.
    """
    refuse_containers(raw, f"{what} must form {expected}")
    if isinstance(raw, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(raw)
        if hidden.any():
            first, whole = place(int(np.argmax(hidden))), what.removeprefix("The ")
            raise DataError(
                f"{first}: this entry of the {whole} is masked, which means missing. Drop such entries first."
            )
        raw = raw.data
    try:
        array = np.asarray(raw)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"{what} must form {expected}: {str(error).rstrip('.')}.") from None
    if array.ndim != 1:
        came = f"shape {array.shape}" if array.ndim else named_kind(raw)
        raise DataError(f"{what} must form {expected}, got {came}.")
    return array


def numbers_of(raw: Any, what: str, place: Place) -> Floats:
    """Return a one-dimensional array of numbers, NaN and infinity among them."""
    array = column_of(raw, f"The {what}s", "a one-dimensional array of numbers", place)
    refuse_kind(array, f"The {what}s")
    try:
        numbers = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        position, entry = first_no_number(array)
        raise DataError(f"{place(position)}: {what} must be a number, got {entry!r}.") from None
    if array.dtype == object and np.isnan(numbers).any():
        position = int(np.argmax(np.isnan(numbers)))
        if array[position] is None:
            raise DataError(f"{place(position)}: {what} must be a number, got None.")
    return numbers


def refuse_containers(raw: Any, expected: str) -> None:
    """Refuse what is no array and what NumPy would make none of; `expected` begins the sentence."""
    if raw is None:
        raise DataError(f"{expected}, got None.")
    if isinstance(raw, (str, bytes, bytearray)):
        raise DataError(f"{expected}, got {named_kind(raw)}.")
    if isinstance(raw, Iterator):
        raise DataError(f"{expected}, got {named_kind(raw)}, which can be read once only. Make a list of it first.")
    if isinstance(raw, Mapping):
        raise DataError(f"{expected}, got a {type(raw).__name__}. Give its keys and its values as lists.")
    if isinstance(raw, Set):
        raise DataError(f"{expected}, got a {type(raw).__name__}, which has no order. Make a list of it first.")


def named_kind(raw: Any) -> str:
    """Say what came, in words."""
    if isinstance(raw, str):
        return f"the text {raw[:60]!r}"
    if isinstance(raw, (bytes, bytearray)):
        return type(raw).__name__
    if np.isscalar(raw) or isinstance(raw, np.ndarray):
        return f"the single value {raw!r}"
    return f"a {type(raw).__name__}"


def refuse_kind(array: NDArray[Any], what: str) -> None:
    """Refuse an array whose type is not one of numbers, or of objects that may be."""
    if array.dtype.kind in _NOT_NUMBERS:
        raise DataError(f"{what} must be real numbers, got {_NOT_NUMBERS[array.dtype.kind]}.")


def first_no_number(array: NDArray[Any]) -> tuple[int, Any]:
    """Return position and content of the first entry that is no number."""
    for position, entry in enumerate(array.ravel().tolist()):
        try:
            float(entry)
        except (TypeError, ValueError):
            if entry is not None:
                return position, entry
    return 0, array.ravel().tolist()[0] if array.size else None
