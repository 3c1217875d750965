"""Whatever people hand in where an array is expected: as a NumPy array, or as a sentence that says what it is not.

There are two ways out: `column_of` for one entry per observation, and `dense_of` for a table of users × items. Neither
forgets which entries are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.reading.longframe import refuse_long_frame
from kolmogorov.errors import DataError

Floats = NDArray[np.float64]
Locate = Callable[[int], str]
_TABLE = "a table of numbers with one row per user and one column per item, and NaN for missing entries"
_NOT_NUMBERS = {
    "c": "complex ones (Complex data not supported)",
    "m": "durations",
    "M": "dates",
    "V": "records of several fields",
}


class NotNumbersError(DataError, TypeError):
    """A cell that no number can be made of; scikit-learn's conventions ask for a TypeError."""


def column_of(raw: Any, what: str, expected: str, where: Locate | None = None) -> NDArray[Any]:
    """Return a one-dimensional array of whatever type; `where` words the place of an entry in error messages.

    Examples
    --------
    >>> column_of((n for n in range(3)), "values", "a one-dimensional array of numbers")
    Traceback (most recent call last):
    kolmogorov.errors.DataError: values must form a one-dimensional array of numbers, got a generator, which can be read
    once only. Make a list of it first.
    """
    refuse_containers(raw, f"{what} must form {expected}")
    place = where or (lambda position: f"entry {position}")
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
        came = f"shape {array.shape}" if array.ndim else _named(raw)
        raise DataError(f"{what} must form {expected}, got {came}.")
    return array


def numbers_of(raw: Any, what: str, where: Locate) -> Floats:
    """Return a one-dimensional array of numbers, NaN and infinity among them."""
    array = column_of(raw, f"The {what}s", "a one-dimensional array of numbers", where)
    _refuse_kind(array, f"The {what}s")
    try:
        numbers = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        position, entry = _first_that_is_none(array)
        raise DataError(f"{where(position)}: {what} must be a number, got {entry!r}.") from None
    if array.dtype == object and np.isnan(numbers).any():
        position = int(np.argmax(np.isnan(numbers)))
        if array[position] is None:
            raise DataError(f"{where(position)}: {what} must be a number, got None.")
    return numbers


def dense_of(raw: Any) -> Floats:
    """Return a table as floats; NaN, None, masked cells and the empty cells of data frames become NaN.

    Examples
    --------
    >>> dense_of(np.ma.masked_equal([[1, 9], [0, 1]], 9))
    array([[ 1., nan],
           [ 0.,  1.]])
    """
    refuse_containers(raw, f"Expected {_TABLE}")
    frame = frame_of(raw)
    if frame is not None:
        refuse_long_frame(frame)
        return cells_of(frame)
    array = floats_of(raw)
    if array.ndim != 2:
        raise DataError(f"Expected a two-dimensional array (users × items), got shape {array.shape}.")
    return array


def floats_of(raw: Any) -> Floats:
    """Return an array or nested lists as floats, whatever their shape; masked cells are NaN."""
    if isinstance(raw, np.ma.MaskedArray):
        _refuse_kind(raw.data, "The cells of the table")
        hidden = np.ma.getmaskarray(raw)
        array = np.full(raw.shape, np.nan)
        array[~hidden] = floats_of(raw.data[~hidden])
        return array
    try:
        array = np.asarray(raw)
    except (TypeError, ValueError) as error:
        raise DataError(f"Expected {_TABLE}: {str(error).rstrip('.')}.") from None
    if array.ndim == 0:
        raise DataError(f"Expected a two-dimensional array (users × items), got {_named(raw)}.")
    _refuse_kind(array, "The cells of the table")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        position, entry = _first_that_is_none(array)
        cell = ", ".join(map(str, np.unravel_index(position, array.shape)))
        kind = NotNumbersError if isinstance(error, TypeError) else DataError
        raise kind(f"Expected {_TABLE}; cell ({cell}) holds {entry!r} ({error}).") from None


def frame_of(raw: Any) -> Any:
    """Return a data frame as narwhals sees it, or None for everything else."""
    if isinstance(raw, np.ndarray) or not (hasattr(raw, "columns") or hasattr(raw, "column_names")):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(raw, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"Every column of a frame needs a name of its own: {str(error).rstrip('.')}.") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def cells_of(frame: Any) -> Floats:
    """Return the cells of a wide frame, whatever way it marks the empty ones."""
    array = np.full(frame.shape, np.nan)
    for place, name in enumerate(frame.columns):
        column = frame[:, place]
        known = ~column.is_null().to_numpy()
        cells = column.to_numpy()[known]
        try:
            _refuse_kind(cells, f"The cells of column {name!r}")
            array[known, place] = cells.astype(np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"Expected {_TABLE}; column {name!r} holds {_first_that_is_none(cells)[1]!r}. Ids of users go into the "
                "index of a pandas frame; a list of ratings is for Observations.from_frame."
            ) from None
    return array


def refuse_containers(raw: Any, expected: str) -> None:
    """Refuse what is no array and what NumPy would make none of; `expected` begins the sentence."""
    if raw is None:
        raise DataError(f"{expected}, got None.")
    if isinstance(raw, (str, bytes, bytearray)):
        raise DataError(f"{expected}, got {_named(raw)}.")
    if isinstance(raw, Iterator):
        raise DataError(f"{expected}, got {_named(raw)}, which can be read once only. Make a list of it first.")
    if isinstance(raw, Mapping):
        raise DataError(f"{expected}, got a {type(raw).__name__}. Give its keys and its values as lists.")
    if isinstance(raw, Set):
        raise DataError(f"{expected}, got a {type(raw).__name__}, which has no order. Make a list of it first.")


def _named(raw: Any) -> str:
    """Say what came, in words."""
    if isinstance(raw, str):
        return f"the text {raw[:60]!r}"
    if isinstance(raw, (bytes, bytearray)):
        return type(raw).__name__
    if np.isscalar(raw) or isinstance(raw, np.ndarray):
        return f"the single value {raw!r}"
    return f"a {type(raw).__name__}"


def _refuse_kind(array: NDArray[Any], what: str) -> None:
    if array.dtype.kind in _NOT_NUMBERS:
        raise DataError(f"{what} must be real numbers, got {_NOT_NUMBERS[array.dtype.kind]}.")


def _first_that_is_none(array: NDArray[Any]) -> tuple[int, Any]:
    """Return position and content of the first entry that is no number."""
    for position, entry in enumerate(array.ravel().tolist()):
        try:
            float(entry)
        except (TypeError, ValueError):
            if entry is not None:
                return position, entry
    return 0, array.ravel().tolist()[0] if array.size else None
