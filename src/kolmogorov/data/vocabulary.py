"""Ids to row numbers and back. An id is a text; what is handed in is looked up by its text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Ids, Rows
from kolmogorov.data.scale import Place
from kolmogorov.data.values import BLANK_WORDS, Coder
from kolmogorov.errors import DataError, UnknownIdError

#: Texts that are compared with a wrong id letter by letter: more take seconds.
_MOST_COMPARED = 3_000
#: Tells a whole number as it is usually written.
is_whole = re.compile(r"0|-?[1-9][0-9]{0,17}").fullmatch
#: Halves of characters: no file and no answer of a server can hold them.
_has_half = re.compile("[\ud800-\udfff]").search


def id_text(cell: Any) -> str | None:
    """Return an id as text, or None where it cannot be one."""
    if isinstance(cell, str):
        return None if _has_half(cell) else cell.strip()
    if isinstance(cell, (float, np.floating)):
        number = float(cell)
        return str(int(number)) if number.is_integer() and abs(number) <= 2.0**53 else None
    whole = isinstance(cell, (int, np.integer)) and not isinstance(cell, (bool, np.bool_))
    return str(int(cell)) if whole else None


def in_array(position: int) -> str:
    """Word the place of an entry of an array."""
    return f"entry {position}"


def one_dimensional(raw: Any, what: str) -> NDArray[Any]:
    """Return what people hand in for one column as an array; what is no sequence of cells is a sentence."""
    if raw is None or isinstance(raw, (str, bytes, Iterator, Mapping, Set)) or np.isscalar(raw):
        came = "None" if raw is None else f"a {type(raw).__name__}"
        raise DataError(f"{what} must form a one-dimensional array, such as a list, got {came}.")
    if isinstance(raw, np.ma.MaskedArray) and np.ma.getmaskarray(raw).any():
        first = int(np.argmax(np.ma.getmaskarray(raw)))
        raise DataError(f"entry {first}: this entry of the {what} is masked, which means missing. Drop such entries.")
    try:
        array = np.asarray(raw)
        if array.dtype.kind == "U" and isinstance(raw, (list, tuple)):
            # NumPy has made texts of numbers among them, and cut off NUL characters at their ends.
            array = np.array(raw, dtype=object)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"{what} must form a one-dimensional array: {str(error).rstrip('.')}.") from None
    if array.ndim != 1:
        raise DataError(f"{what} must form a one-dimensional array, got shape {array.shape}.")
    return array


class IdColumn(dict[Any, int]):
    """The ids of one side: their texts, whatever they came as, and the key of every cell there was."""

    def __init__(self, what: str, missing: Sequence[str] = (), blank: bool = False) -> None:
        super().__init__()
        # In an array an empty text is an id like others; in a file it is a cell that says nothing.
        self.what, self.texts, self._blank = what, Coder(), blank
        self._gone = {mark for mark in missing if mark.casefold() in BLANK_WORDS}

    def __missing__(self, cell: Any) -> int:
        """Find the key of a cell: -1 of what stands for nothing, -2 of what cannot be an id."""
        text = "" if cell is None else id_text(cell[1] if isinstance(cell, tuple) else cell)
        named = text or (self._blank and cell is not None and text is not None)
        self[cell] = key = -1 if text in self._gone else self.texts[text] if named else -2
        return key

    def keys_of(self, cells: list[Any], codes: NDArray[Any], place: Place, first: int = 0) -> NDArray[np.int32]:
        """Return a key for each row from the first on by which distinct cell it is; -1 where it stands for nothing."""
        # True is 1 as a key.
        named = cells if cells and isinstance(cells[0], str) else [(type(cell), cell) for cell in cells]
        found = np.fromiter(map(self.__getitem__, named), np.int32, len(cells))[codes]
        if (found < -1).any():
            at = int(np.argmax(found < -1))
            cell = cells[codes[at]]
            advice = "" if cell else " Leave such rows out, or read them with missing=''."
            raise DataError(
                f"{place(first + at)}: {self.what} ids must be texts or whole numbers, got {cell!r}.{advice}"
            )
        return found


def coded(raw: Any, what: str = "id", place: Place = in_array) -> tuple[list[str], Rows]:
    """Return the distinct texts of an array-like of ids, and which of them each entry is."""
    array, ids = one_dimensional(raw, f"{what} ids"), IdColumn(what, blank=True)
    if array.dtype.kind in "iu":
        cells, codes = np.unique(array, return_inverse=True)
        return list(map(str, cells.tolist())), codes.astype(np.int64, copy=False)
    coder = Coder()
    try:
        codes = np.fromiter(map(coder.__getitem__, array.tolist()), np.int64, array.size)
    except TypeError:
        raise DataError(f"{what} ids must be texts or whole numbers, got {array.tolist()[:1]}.") from None
    keys = ids.keys_of(list(coder), codes, place)
    return list(ids.texts), keys.astype(np.int64)


def in_order(texts: Iterable[str], what: str = "") -> list[str]:
    """Return distinct ids in their order: as numbers go where all are whole numbers, otherwise as texts do.

    Of a column of ids, `what` they are said to be, a word for nothing that is alone among numbers is refused.
    """
    found = list(dict.fromkeys(texts))
    odd = [text for text in found if not is_whole(text)]
    if what and len(odd) == 1 < len(found) and odd[0].casefold() in BLANK_WORDS:
        raise DataError(
            f"The {what} is {odd[0]!r} in some lines and a number in all others: it seems to be missing. To leave such "
            f"lines out, say missing={odd[0]!r}."
        )
    return sorted(found) if odd else sorted(found, key=int)


class Vocabulary:
    """The ids of one side of a table.

    Parameters
    ----------
    ids : sequence of str
        Distinct.
    labels : sequence of str, optional
        A title for each id, shown to people beside it.

    Examples
    --------
    >>> films = Vocabulary.of(["alien", "brazil"])
    >>> films.encode(["brazil", "casablanca"]).tolist()
    [1, -1]
    >>> Vocabulary.of([10, 9]).ids.tolist()
    ['9', '10']
    """

    def __init__(self, ids: Iterable[str], labels: Iterable[str] | None = None) -> None:
        self.ids: Ids = _objects(ids)
        self.labels: NDArray[Any] | None = None
        if labels is not None:
            self.labels = _objects(str(label).encode(errors="replace").decode() for label in labels)
            if len(self.labels) != len(self.ids):
                raise DataError(f"There are {len(self.ids)} ids but {len(self.labels)} labels.")

    @classmethod
    def of(cls, raw: Any, what: str = "id") -> Vocabulary:
        """Collect the distinct ids of an array-like."""
        return cls.index(raw, what)[0]

    @classmethod
    def index(cls, raw: Any, what: str = "id", place: Place = in_array) -> tuple[Vocabulary, Rows]:
        """Collect the distinct ids of an array-like, and give each entry's row number."""
        texts, codes = coded(raw, what, place)
        found = cls(in_order(texts))
        return found, found.rows_of(texts)[codes]

    @classmethod
    def range(cls, size: int) -> Vocabulary:
        """Number the rows "0", "1", "2", ..."""
        return cls(map(str, range(size)))

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return np.array_equal(self.ids, other.ids) if isinstance(other, Vocabulary) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(i) for i in self.ids[:3].tolist())
        return f"Vocabulary({len(self)} ids: {shown}{', ...' if len(self) > 3 else ''})"

    @cached_property
    def are_names(self) -> bool:
        """Whether rows are called something that says more than a number."""
        return self.labels is not None or not all(map(is_whole, self.ids.tolist()))

    def rows_of(self, texts: Iterable[str]) -> Rows:
        """Return the row number of each text, -1 where it is unknown."""
        return np.array([self._row_of.get(text, -1) for text in texts], dtype=np.int64)

    def encode(self, raw: Any, what: str = "id") -> Rows:
        """Return each id's row number, -1 where it is unknown."""
        texts, codes = coded(raw, what)
        return self.rows_of(texts)[codes]

    def parse(self, text: str) -> str:
        """Read what was typed: an id, or the title of one."""
        found = [text] if text in self._row_of else self.titled(text)
        if len(found) > 1:
            raise UnknownIdError(f"Several ids have the title {text!r}: {', '.join(found)}. Give the id.")
        return found[0] if found else text

    def titled(self, title: str) -> list[str]:
        """Return the ids that have a title."""
        return [] if self.labels is None else self.ids[self.labels == title].tolist()

    def translate(self, other: Vocabulary) -> Rows:
        """Return this vocabulary's row number of each id of another, -1 where it has none."""
        return np.arange(len(self)) if other is self else self.rows_of(other.ids.tolist())

    def name(self, row: int) -> str:
        """Return what to call a row in front of people: its title, or its id."""
        return str(self.ids[row] if self.labels is None else self.labels[row])

    def with_labels(self, labels: Mapping[str, str]) -> Vocabulary:
        """Return the same ids with titles, if there are any; an id without one is its own title."""
        return Vocabulary(self.ids, [labels.get(i, i) for i in self.ids.tolist()]) if labels else self

    def chosen(self, rows: Any) -> Vocabulary:
        """Return the ids of some rows, by mask or position, with their titles."""
        return Vocabulary(self.ids[rows], None if self.labels is None else self.labels[rows])

    def suggestion(self, wrong: Any) -> str:
        """Return a sentence, with a blank before it, that names ids or titles like a wrong id; maybe nothing.

        Examples
        --------
        >>> Vocabulary(["dolphin", "lion"]).suggestion("Dolfin")
        " Did you mean 'dolphin'?"
        """
        sought = str(wrong).strip().casefold()
        titles = zip(self.ids.tolist(), [] if self.labels is None else self.labels.tolist(), strict=False)
        known = {title.casefold(): f"{i!r} (titled {title!r})" for i, title in titles}
        known |= {text.casefold(): repr(text) for text in self.ids.tolist()}
        alike = [text for text in known if text[:1] == sought[:1]] if len(known) > _MOST_COMPARED else list(known)
        near = difflib.get_close_matches(sought, alike[:_MOST_COMPARED], n=3, cutoff=0.65)
        near += [text for text in known if sought in text][:3] if len(sought) > 2 else []
        found = [sought] if sought in known else list(dict.fromkeys(near))[:3]
        return f" Did you mean {' or '.join(known[text] for text in found)}?" if found else ""

    def arrays(self, side: str) -> dict[str, NDArray[Any]]:
        """Return ids and titles for a file, under names that begin with `side`: bytes, and where each ends."""
        found: dict[str, NDArray[Any]] = {}
        for name, texts in (("ids", self.ids), ("labels", self.labels)):
            if texts is not None:
                encoded = [text.encode() for text in texts.tolist()]
                found[f"{side}_{name}_ends"] = np.cumsum([len(text) for text in encoded], dtype=np.int64)
                found[f"{side}_{name}_bytes"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return found

    @classmethod
    def from_arrays(cls, side: str, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """Undo `arrays`; what does not form a vocabulary is a ValueError or a KeyError."""
        ids = _texts_of(f"{side}_ids", arrays)
        if len(set(ids)) != len(ids):
            raise ValueError(f"the ids of the {side} are not distinct")
        return cls(ids, _texts_of(f"{side}_labels", arrays) if f"{side}_labels_ends" in arrays else None)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {text: row for row, text in enumerate(self.ids.tolist())}


def _objects(texts: Iterable[str]) -> NDArray[Any]:
    found = list(texts)
    array = np.empty(len(found), dtype=object)
    array[:] = found
    array.setflags(write=False)
    return array


def _texts_of(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    content, ends = arrays[f"{name}_bytes"].tobytes(), arrays[f"{name}_ends"].tolist()
    starts = [0, *ends[:-1]]
    if any(end < start for start, end in zip(starts, ends, strict=True)) or (ends[-1] if ends else 0) != len(content):
        raise ValueError("its texts do not belong together")
    return [content[a:b].decode() for a, b in zip(starts, ends, strict=True)]
