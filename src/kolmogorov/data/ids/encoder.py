"""Row numbers for ids that come in chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Ids, Rows
from kolmogorov._support.wording import advice, option
from kolmogorov.data.ids.columns import CodedTexts, IdColumn, is_blank_word
from kolmogorov.data.numbers.columns import Place, in_array
from kolmogorov.errors import DataError


class IdEncoder:
    """Row numbers for the ids of one side of a table, which come in chunk by chunk, all texts or all integers.

    `read` gives keys that stand for ids. Once all were read, `finish` gives the ids in order, and `row_numbers` the
    row numbers of keys.

    Examples
    --------
    >>> encoder = IdEncoder("user")
    >>> keys = [encoder.read(fields) for fields in [("10", "9"), ("9", "11")]]
    >>> encoder.finish().tolist(), [encoder.row_numbers(part).tolist() for part in keys]
    ([9, 10, 11], [[1, 0], [0, 2]])
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._texts: _Texts | None = None
        self._integers: _Integers | None = None
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._row_of: NDArray[Any] | None = None
        self._offset = 0

    def read(self, column: IdColumn, place: Place = in_array) -> NDArray[Any]:
        """Return a key for each id of a chunk."""
        if isinstance(column, tuple):
            return self._reading_texts(place, literal=False).read(column, place)
        if isinstance(column, CodedTexts):
            codes = column.codes
            texts = self._reading_texts(place, literal=column.literal)
            return texts.read(column.texts, lambda code: place(int(np.argmax(codes == code))))[codes]
        if column.dtype == object:
            return self._reading_texts(place, literal=True).read(column.tolist(), place)
        if self._texts is not None:
            raise self._mixed(place, "integers", "texts")
        self._integers = self._integers or _Integers()
        return self._integers.read(column)

    def finish(self) -> Ids:
        """Return all ids that were read, in increasing order."""
        if self._texts is not None:
            self._ids, row_of = self._texts.sorted()
            self._row_of = _narrow(row_of)
            self._texts = None
        elif self._integers is not None:
            self._ids = ids = self._integers.sorted()
            # Where ids leave few gaps, a table of them is quicker than a search.
            if ids.size and _is_dense(int(ids[0]), int(ids[-1]), ids.size):
                self._offset = int(ids[0])
                self._row_of = _narrow(np.zeros(int(ids[-1]) - self._offset + 1, dtype=np.int64))
                self._row_of[ids - self._offset] = np.arange(ids.size)
        return self._ids

    def row_numbers(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the row numbers of keys."""
        if self._row_of is None:
            return np.searchsorted(self._ids, keys)
        return self._row_of[keys - self._offset if self._offset else keys]

    def _reading_texts(self, place: Place, *, literal: bool) -> _Texts:
        if self._integers is not None:
            raise self._mixed(place, "texts", "integers")
        if self._texts is None:
            self._texts = _Texts(self._what, literal)
        self._texts.literal = self._texts.literal and literal
        return self._texts

    def _mixed(self, place: Place, came: str, before: str) -> DataError:
        return DataError(
            f"{place(0)}: the {self._what} ids are {came} here and {before} in what came before. Give one kind."
        )


class _Texts(dict[str, int]):
    """Texts by first appearance; a lookup of a new one adds it, at the speed of a dictionary's own code.

    Fields of a text file are stripped, must not be empty, and are integers where all of them are. With `literal` texts
    come from a column of texts, and are what they are.
    """

    def __init__(self, what: str, literal: bool) -> None:
        super().__init__()
        self.what = what
        self.literal = literal

    def __missing__(self, text: str) -> int:
        if not self.literal and (not text.strip() or "\0" in text):
            raise ValueError(text)
        self[text] = number = len(self)
        return number

    def read(self, column: Sequence[str], place: Place) -> NDArray[np.int32]:
        """Return a number for each text; `place` names one that cannot be an id."""
        try:
            return np.fromiter(map(self.__getitem__, column), dtype=np.int32, count=len(column))
        except ValueError:
            wrong = next(k for k, text in enumerate(column) if not text.strip() or "\0" in text.strip())
            text = column[wrong].strip()
            came = "nothing" if not text else f"{text!r}: this is not a text file"
            raise DataError(f"{place(wrong)}: the {self.what} must be an id, got {came}.") from None

    def sorted(self) -> tuple[Ids, Rows]:
        """Return the ids in order, integers where all of them are, and the row number of each number given out."""
        texts = [str(text) if self.literal else text.strip() for text in self]
        blank = next((text for text in texts if is_blank_word(text)), None)
        if not self.literal and blank is not None and len(texts) > 1 and _are_integers_beside(texts):
            raise DataError(
                f"The {self.what} is {blank!r} in some lines and a number in all others: it seems to be missing."
                + advice("To leave such lines out, say {}.", option("missing", blank))
            )
        if not self.literal and all(map(_is_integer, texts)):
            ids, row_of = np.unique(np.array([int(text) for text in texts], dtype=np.int64), return_inverse=True)
            return ids, row_of.astype(np.int64, copy=False)
        # Fields that differ by blanks around them are one id.
        distinct = sorted(set(texts))
        numbers = {text: row for row, text in enumerate(distinct)}
        ids = np.empty(len(distinct), dtype=object)
        ids[:] = distinct
        return ids, np.array([numbers[text] for text in texts], dtype=np.int64)


class _Integers:
    """Integers, which are their own keys."""

    def __init__(self) -> None:
        self._known = np.empty(0, dtype=np.int64)
        self._fresh: list[NDArray[np.int64]] = []
        self._pending = 0

    def read(self, column: NDArray[np.int64]) -> NDArray[np.int64]:
        """Note the ids of a chunk and return them."""
        self._fresh.append(_distinct(column))
        self._pending += self._fresh[-1].size
        if self._pending > max(4 * self._known.size, 1 << 20):
            self._merge()
        return column

    def _merge(self) -> None:
        self._known = np.unique(np.concatenate([self._known, *self._fresh]))
        self._fresh, self._pending = [], 0

    def sorted(self) -> NDArray[np.int64]:
        """Return the ids in increasing order."""
        self._merge()
        return self._known


def _distinct(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct ids in order, in linear time where they are dense enough for a table of them."""
    if array.size and _is_dense(low := int(array.min()), high := int(array.max()), array.size):
        present = np.zeros(high - low + 1, dtype=bool)
        present[array - low] = True
        return np.flatnonzero(present) + low
    return np.unique(array)


def _narrow(row_of: Rows) -> NDArray[Any]:
    """Take half the memory for row numbers where they fit, as all but the largest tables' do."""
    return row_of.astype(np.int32) if row_of.size < 2**31 else row_of


def _is_dense(low: int, high: int, size: int) -> bool:
    return high - low < 4 * size + 1000


def _are_integers_beside(texts: list[str]) -> bool:
    """Tell whether all ids are integers but for those that stand for nothing."""
    return all(_is_integer(text) or is_blank_word(text) for text in texts)


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 19
    return plain and (text == "0" or digits[0] != "0")
