"""Columns of cells that come batch by batch: ids and values, of which only distinct ones are looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.sources import Source
from kolmogorov.data.values import (
    BLANK_WORDS,
    PAIR_OF,
    Notation,
    UnreadableError,
    looks_like_number,
    numbers_of,
    text_of,
)
from kolmogorov.data.vocabulary import Coder, id_text, is_whole
from kolmogorov.errors import DataError


def distinct(column: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return the distinct cells of an Arrow column, and then None, and which of them each cell is."""
    if pa.types.is_nested(column.type):
        # Nothing that is asked for holds lists: what does is shown in an error.
        cells: list[Any] = [None if cell is None else (str(cell),) for cell in column.to_pylist()]
        return [*cells, None], np.arange(len(cells))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = column.dictionary
    quick = pa.types.is_string(texts.type)
    listed = texts.to_numpy(zero_copy_only=False).tolist() if quick else texts.to_pylist()
    return [*listed, None], column.indices.fill_null(len(listed)).to_numpy(zero_copy_only=False)


def cell_codes(coder: Coder, column: Any) -> NDArray[np.int32]:
    """Return the number of each cell of an Arrow column, -1 where it is empty."""
    cells, codes = distinct(column)
    numbers = np.fromiter((-1 if cell is None else coder[cell] for cell in cells), np.int32, len(cells))
    return numbers[codes]


class _Keys(dict[Any, int]):
    """The key of each cell that may be an id: -1 of what stands for nothing, -2 of what cannot be one."""

    def __init__(self, texts: Coder, gone: frozenset[str]) -> None:
        self._texts, self._gone = texts, gone

    def __missing__(self, cell: Any) -> int:
        text = "" if cell is None else id_text(cell)
        possible = text is not None and "\0" not in text and (text or "" in self._gone)
        self[cell] = key = -2 if not possible else -1 if text in self._gone else self._texts[text]
        return key


class IdColumn:
    """The ids of one side, over all sources: texts, whatever they came as."""

    def __init__(self, what: str) -> None:
        self.what, self.texts = what, Coder()
        # By the type of the column as well: True is 1 as a key.
        self._keys: dict[Any, _Keys] = {}

    def read(self, column: Any, source: Source, row: int, gone: frozenset[str]) -> NDArray[np.int32]:
        """Return a key for each cell, -1 where it is one of the texts that stand for nothing."""
        cells, codes = distinct(column)
        keys = self._keys.setdefault((str(column.type), gone), _Keys(self.texts, gone))
        found = np.fromiter(map(keys.__getitem__, cells), np.int32, len(cells))[codes]
        if (found < -1).any():
            at = int(np.argmax(found < -1))
            cell = cells[codes[at]]
            came = repr(cell) if cell not in (None, "") else "nothing. Drop such rows, or say missing=''"
            binary = ": this is not a text file" if "\0" in str(cell) else ""
            raise DataError(f"{source.place(row + at)}: the {self.what} must be an id, got {came}{binary}.")
        return found

    def finish(self, keys: NDArray[np.int32]) -> tuple[list[str], NDArray[np.int32]]:
        """Return the ids of some keys in order, whole numbers as numbers go, and the rows of the keys."""
        every = list(self.texts)
        present = np.flatnonzero(np.bincount(keys, minlength=len(every))).tolist()
        texts = [every[key] for key in present]
        found = ids_in_order(texts, self.what)
        row_of = {text: row for row, text in enumerate(found)}
        return found, np.array([row_of.get(text, -1) for text in every], dtype=np.int32)[keys]


def ids_in_order(texts: Collection[str], what: str) -> list[str]:
    """Return distinct ids in order, and refuse a word for nothing that is alone among numbers."""
    odd = [text for text in texts if not is_whole(text)]
    if len(odd) == 1 < len(texts) and odd[0].casefold() in BLANK_WORDS:
        raise DataError(
            f"The {what} is {odd[0]!r} in some lines and a number in all others: it seems to be missing. To leave such "
            f"lines out, say missing={odd[0]!r}."
        )
    return sorted(texts) if odd else sorted(texts, key=int)


class ValueColumn:
    """The cells of a column of values, as numbers when all are known."""

    def __init__(self, form: Notation, what: str = "value") -> None:
        self.what, self._form = what, form
        self._cells = Coder()
        self._parts: list[NDArray[Any]] = []
        self.words: Mapping[str, float] = {}
        self.decimal: str | None = None

    def read(self, column: Any) -> None:
        """Take some more cells."""
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if (number or pa.types.is_decimal(kind)) and self._form.map is None and not self._form.missing:
            self._parts.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        else:
            if pa.types.is_dictionary(kind) and kind.ordered and not self._cells:
                # The order of categories is that of the answers.
                ordered = column.dictionary.to_pylist()
                if not all(isinstance(t, str) and (looks_like_number(t) or t.casefold() in PAIR_OF) for t in ordered):
                    meaning = {text_of(t).casefold(): float(k) for k, t in enumerate(ordered, start=1)}
                    self._form = self._form if self._form.map else Notation(meaning, self._form.missing)
            self._parts.append(cell_codes(self._cells, column))

    def texts(self) -> list[str]:
        """Return the distinct cells as texts."""
        return [text_of(cell) for cell in self._cells]

    def finish(
        self,
        place: Callable[[int], str],
        *,
        empty: bool = False,
        decimal: str | None = None,
        beside: Sequence[ValueColumn] = (),
    ) -> Floats:
        """Return the numbers, NaN where they are missing; columns `beside` may have more of the same words."""
        form = self._form
        if decimal is not None and form.decimal == "auto":
            form = Notation(form.map, form.missing, decimal, form.thousands)
        texts = self.texts()
        try:
            found = numbers_of(texts, form, empty_is_missing=empty)
        except UnreadableError as error:
            said = str(error)
            if beside and "map=" in said:
                # A map is for all columns.
                try:
                    numbers_of([*texts, *(t for other in beside for t in other.texts())], form, empty_is_missing=empty)
                except UnreadableError as wider:
                    said = str(wider) if "map=" in str(wider) else error.complaint
            here = [part == error.at if part.dtype == np.int32 else np.zeros(part.size, bool) for part in self._parts]
            raise DataError(f"{place(int(np.argmax(np.concatenate(here))))}: {self.what} {said}") from None
        self.words, self.decimal = found.words, found.decimal
        table = np.append(found.numbers, np.nan)
        parts = [table[part] if part.dtype == np.int32 else part for part in self._parts]
        return np.concatenate(parts) if parts else np.empty(0)
