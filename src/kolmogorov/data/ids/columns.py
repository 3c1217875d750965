"""Columns of ids: what may be an id, and how a column of them is held."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Ids
from kolmogorov.data.numbers.columns import Place, column_of, in_array
from kolmogorov.errors import DataError

#: What programs write where there is nothing.
BLANK_WORDS = frozenset(("na", "n/a", "#n/a", "nan", "null", "none", "<na>"))


def normalise_ids(raw: Any, what: str = "id", place: Place = in_array) -> NDArray[Any]:
    """Turn an array-like of ids into int64 or into an object array of str; anything else is an error."""
    array = column_of(raw, f"{what} ids", "a one-dimensional array of integers or strings", place)
    if array.dtype.kind == "U" and isinstance(raw, (list, tuple)):
        # NumPy has made texts of numbers among them, and cut off NUL characters at their ends.
        array = np.array(raw, dtype=object)
    kind = array.dtype.kind
    if kind in "iu":
        if kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise DataError(f"{what} ids must be below 2**63, got {int(array.max())}.")
        return array.astype(np.int64, copy=False)
    if array.size == 0:
        return array.astype(np.int64)
    if kind == "f":
        _complain(~np.isfinite(array), array, what, "a missing or infinite value", place)
        _complain(array != np.floor(array), array, what, "the fraction {!r}", place)
        _complain(np.abs(array) > 2.0**53, array, what, "{!r}, too large to be exact", place)
        return array.astype(np.int64)
    if kind in "UT":
        return array.astype(object)
    if kind == "O":
        types = set(map(type, array.tolist()))
        if types <= {str, np.str_}:
            return array
        if types <= {int, np.int64, np.int32}:
            large = np.array([not -(2**63) <= entry < 2**63 for entry in array.tolist()])
            _complain(large, array, what, "{!r}, which needs more than 64 bits", place)
            return array.astype(np.int64)
        kind_of_first = isinstance(array[0], str)
        strange = [_is_neither(entry) or isinstance(entry, str) != kind_of_first for entry in array.tolist()]
        _complain(np.array(strange), array, what, "{!r}", place)
    raise DataError(f"{what} ids must be integers or strings, got an array of type {array.dtype}.")


def _is_neither(entry: Any) -> bool:
    return not isinstance(entry, (str, numbers.Integral)) or isinstance(entry, (bool, np.bool_))


def _complain(wrong: NDArray[Any], array: NDArray[Any], what: str, came: str, place: Place) -> None:
    if wrong.any():
        position = int(np.argmax(wrong))
        got = came.format(array.item(position))
        raise DataError(f"{place(position)}: {what} ids must all be integers or all be strings, got {got}.")


@dataclass(frozen=True, eq=False)
class CodedTexts:
    """A column in which every distinct text is held once: entry k is `texts[codes[k]]`.

    With `literal` texts are what they are; otherwise they are fields of a text file, which may all be integers.
    """

    texts: Sequence[str]
    codes: NDArray[Any]
    literal: bool = True


#: One side of a chunk: fields of a text file, checked integers or texts, or texts that are coded already.
IdColumn = tuple[str, ...] | Ids | CodedTexts


def is_blank_word(text: str) -> bool:
    """Tell a word that programs write where there is nothing."""
    return text.strip().casefold() in BLANK_WORDS


def marked_ids(column: IdColumn, marks: frozenset[str]) -> NDArray[np.bool_]:
    """Tell which ids are one of some texts that stand for nothing."""
    if isinstance(column, CodedTexts):
        return np.array([text.strip() in marks for text in column.texts], dtype=bool)[column.codes]
    if isinstance(column, tuple) or column.dtype == object:
        return np.array([str(text).strip() in marks for text in column], dtype=bool)
    return np.zeros(column.size, dtype=bool)


def listed_ids(column: IdColumn) -> list[Any]:
    """Return the ids of a column as a list.

    Examples
    --------
    >>> listed_ids(CodedTexts(["ann", "bob"], np.array([1, 0, 0])))
    ['bob', 'ann', 'ann']
    """
    if isinstance(column, CodedTexts):
        return [column.texts[code] for code in column.codes.tolist()]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def taken_ids(column: IdColumn, rows: NDArray[Any]) -> IdColumn:
    """Return the ids of some rows, in their order; texts that none of them has are gone.

    Examples
    --------
    >>> taken_ids(CodedTexts(["ann", "bob", "cas"], np.array([2, 0, 1])), np.array([0, 0, 2]))
    CodedTexts(texts=['bob', 'cas'], codes=array([1, 1, 0]), literal=True)
    """
    if isinstance(column, np.ndarray):
        return column[rows]
    coded = column if isinstance(column, CodedTexts) else CodedTexts(column, np.arange(len(column)), literal=False)
    present, codes = np.unique(coded.codes[rows], return_inverse=True)
    return CodedTexts([coded.texts[code] for code in present.tolist()], codes, coded.literal)
