"""Ids as they come in, chunk by chunk, and the vocabulary that they make in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.vocabulary import Vocabulary, normalise_ids
from kolmogorov.errors import DataError

Place = Callable[[int], str]


class TextNames(dict[str, int]):
    """Texts by first appearance; a lookup of a new one adds it, at the speed of a dictionary's own code.

    Fields of a text file are stripped, must not be empty, and are integers where all of them are. With `literal` texts
    come from a column of texts, and are what they are.
    """

    def __init__(self, what: str, literal: bool = False) -> None:
        super().__init__()
        self.what = what
        self.literal = literal

    def __missing__(self, text: str) -> int:
        if not self.literal and (not text.strip() or "\0" in text):
            raise ValueError(text)
        self[text] = number = len(self)
        return number

    def read(self, column: Sequence[str], place: Place) -> NDArray[np.int32]:
        """Return a number for each id; `place` names one that cannot be an id."""
        try:
            return np.fromiter(map(self.__getitem__, column), dtype=np.int32, count=len(column))
        except ValueError:
            wrong = next(k for k, text in enumerate(column) if not text.strip() or "\0" in text.strip())
            text = column[wrong].strip()
            came = "nothing" if not text else f"{text!r}: this is not a text file"
            raise DataError(f"{place(wrong)}: the {self.what} must be an id, got {came}.") from None

    def vocabulary(self) -> tuple[Vocabulary, NDArray[np.int64]]:
        """Return the ids, integers where all of them are, and the row number of each number given out."""
        texts = list(self) if self.literal else [text.strip() for text in self]
        if not self.literal and all(_is_integer(text) for text in texts):
            ids, rank = np.unique(np.array([int(text) for text in texts], dtype=np.int64), return_inverse=True)
            return Vocabulary(ids), rank.astype(np.int64, copy=False)
        merged: dict[str, int] = {}
        codes = np.array([merged.setdefault(text, len(merged)) for text in texts], dtype=np.int64)
        return Vocabulary.from_dictionary(list(merged), codes)


class IntegerNames:
    """Integers, which stand for themselves until all of them are known."""

    def __init__(self) -> None:
        self._known = np.empty(0, dtype=np.int64)
        self._fresh: list[NDArray[np.int64]] = []
        self._pending = 0

    def read(self, column: NDArray[np.int64]) -> NDArray[np.int64]:
        """Note the ids of a chunk and return them."""
        self._fresh.append(np.unique(column))
        self._pending += self._fresh[-1].size
        if self._pending > max(4 * self._known.size, 1 << 20):
            self._merge()
        return column

    def _merge(self) -> None:
        self._known = np.unique(np.concatenate([self._known, *self._fresh]))
        self._fresh, self._pending = [], 0

    def vocabulary(self) -> Vocabulary:
        """Return the ids in increasing order."""
        self._merge()
        return Vocabulary(self._known)


class Naming:
    """Row numbers for the ids of one side of many files, in which ids are all texts or all integers.

    `read` gives keys that stand for ids; once all were read, `settle` gives the vocabulary, and `rows` the row numbers
    of keys.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._texts: TextNames | None = None
        self._integers: IntegerNames | None = None
        self._renumber: NDArray[np.int64] | None = None
        self._offset = 0

    def read(self, column: Any, place: Place) -> NDArray[Any]:
        """Return a key for each id of a chunk: fields of a text file, or a column of an Arrow table."""
        if isinstance(column, tuple):
            return self._text_names(place, literal=False).read(column, place)
        from pyarrow import types

        kind = column.type
        if types.is_integer(kind) or types.is_floating(kind):
            if self._texts is not None:
                raise self._mixed(place, "integers", "texts")
            self._integers = self._integers or IntegerNames()
            return self._integers.read(normalise_ids(column.to_numpy(zero_copy_only=False), self._what, place))
        inner = kind.value_type if types.is_dictionary(kind) else kind
        if not (types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner)):
            raise DataError(f"{place(0)}: the {self._what} ids must be integers or strings, the column holds {kind}.")
        coded = column if types.is_dictionary(kind) else column.dictionary_encode()
        entries = coded.indices.to_numpy(zero_copy_only=False)
        present, first, codes = np.unique(entries, return_index=True, return_inverse=True)
        texts = tuple(coded.dictionary.take(present).to_pylist())
        return self._text_names(place, literal=True).read(texts, lambda k: place(int(first[k])))[codes]

    def settle(self) -> Vocabulary:
        """Return the vocabulary of all ids read."""
        if self._integers is not None:
            vocabulary = self._integers.vocabulary()
            ids = vocabulary.ids
            # Where ids leave few gaps, a table of them is quicker than a search.
            if int(ids[-1]) - int(ids[0]) < 4 * ids.size + 1000:
                self._offset = int(ids[0])
                self._renumber = np.zeros(int(ids[-1]) - self._offset + 1, dtype=np.int64)
                self._renumber[ids - self._offset] = np.arange(ids.size)
            self._ids = ids
            return vocabulary
        assert self._texts is not None
        vocabulary, self._renumber = self._texts.vocabulary()
        self._texts = None
        return vocabulary

    def rows(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """Return the row numbers of keys."""
        if self._renumber is None:
            return np.searchsorted(self._ids, keys)
        return self._renumber[keys - self._offset if self._offset else keys]

    def _text_names(self, place: Place, *, literal: bool) -> TextNames:
        if self._integers is not None:
            raise self._mixed(place, "texts", "integers")
        if self._texts is None:
            self._texts = TextNames(self._what, literal)
        self._texts.literal = self._texts.literal and literal
        return self._texts

    def _mixed(self, place: Place, came: str, before: str) -> DataError:
        return DataError(
            f"{place(0)}: the {self._what} ids are {came} here and {before} in the files before. "
            "Give files of one kind."
        )


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 19
    return plain and (text == "0" or digits[0] != "0")
