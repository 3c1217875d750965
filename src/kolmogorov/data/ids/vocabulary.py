"""Raw ids to row numbers and back."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Ids, Rows
from kolmogorov.data.ids.columns import normalise_ids
from kolmogorov.data.ids.encoder import IdEncoder
from kolmogorov.errors import DataError, UnknownIdError

#: Texts that are looked at, and those among them that are compared letter by letter. A million take half a second,
#: and people do not wait for longer.
_MOST_TEXTS, _MOST_COMPARED = 1_000_000, 3_000
_SHOWN = 3
#: Share of letters in common from which two texts are alike. By judgement.
_ALIKE = 0.65


class Vocabulary:
    """The ids of one side of the table: all integers or all strings.

    Parameters
    ----------
    ids : array
        Distinct; int64 in increasing order, or str objects.
    labels : sequence of str, optional
        A title for each id, shown to people beside it.

    Examples
    --------
    >>> films = Vocabulary.of(["alien", "brazil"])
    >>> films.encode(["brazil", "casablanca"]).tolist()
    [1, -1]
    """

    def __init__(self, ids: Ids, labels: Iterable[str] | None = None) -> None:
        self.ids = ids.copy()
        self.ids.setflags(write=False)
        self.labels: NDArray[Any] | None = None
        if labels is not None:
            self.labels = np.array([str(label) for label in labels], dtype=object)
            if len(self.labels) != len(ids):
                raise DataError(f"There are {len(ids)} ids but {len(self.labels)} labels.")
            self.labels.setflags(write=False)

    @classmethod
    def of(cls, raw: Any, what: str = "id") -> Vocabulary:
        """Collect the distinct ids of an array-like."""
        return cls.index(raw, what)[0]

    @classmethod
    def index(cls, raw: Any, what: str = "id") -> tuple[Vocabulary, Rows]:
        """Collect the distinct ids of an array-like, and give each entry's row number."""
        encoder = IdEncoder(what)
        keys = encoder.read(normalise_ids(raw, what))
        return cls(encoder.finish()), encoder.row_numbers(keys).astype(np.int64, copy=False)

    @classmethod
    def range(cls, size: int) -> Vocabulary:
        """Number the rows 0, 1, 2, ..."""
        return cls(np.arange(size, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.ids.dtype == other.ids.dtype and np.array_equal(self.ids, other.ids)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(i) for i in self.ids[:3].tolist())
        return f"Vocabulary({len(self)} ids: {shown}{', ...' if len(self) > 3 else ''})"

    @property
    def holds_strings(self) -> bool:
        """Whether the ids are strings; otherwise they are integers."""
        return self.ids.dtype == object

    def encode(self, raw: Any, what: str = "id") -> Rows:
        """Return each id's row number, -1 where the id is unknown. Ids of the wrong type are an error."""
        array = normalise_ids(raw, what)
        if array.size == 0 or len(self) == 0:
            return np.full(array.shape, -1, dtype=np.int64)
        if (array.dtype == object) != self.holds_strings:
            expected, came = ("strings", "integers") if self.holds_strings else ("integers", "strings")
            raise DataError(
                f"{what} ids are {expected} here, got {came} such as {array.item(0)!r}.{self.suggestion(array.item(0))}"
            )
        if self.holds_strings:
            return np.fromiter((self._row_of.get(i, -1) for i in array), dtype=np.int64, count=array.size)
        rows = np.searchsorted(self.ids, array)
        rows[rows == len(self)] = 0
        return np.where(self.ids[rows] == array, rows, -1)

    def parse(self, text: str) -> Any:
        """Read an id as typed in a shell: an integer where the ids are integers; a title serves as well."""
        if self.labels is not None:
            found = self.titled(text)
            if len(found) == 1:
                return found[0]
            if found:
                raise UnknownIdError(f"Several ids have the title {text!r}: {', '.join(map(str, found))}. Give the id.")
        if self.holds_strings:
            return text
        if text.removeprefix("-").isdecimal() and abs(int(text)) < 2**63:
            return int(text)
        also = " or titles" if self.labels is not None else ""
        raise UnknownIdError(f"Ids are integers{also}; {text!r} is not one.{self.suggestion(text)}")

    def titled(self, title: str) -> list[Any]:
        """Return the ids that have a title."""
        return [self.ids.item(row) for row in self._rows_titled.get(title, ())]

    def suggestion(self, wrong: Any) -> str:
        """Return a sentence, with a blank before it, that names ids or titles like a wrong id; maybe nothing."""
        return suggestion(self.ids, self.labels, wrong)

    def translate(self, other: Vocabulary) -> Rows:
        """Return this vocabulary's row number of each id of another, -1 where it has none.

        Where one holds integers and the other strings, ids are compared as text: whether the ids of a file read as
        integers depends on all of them, and two files about the same things may differ in that.
        """
        if other is self:
            return np.arange(len(self))
        if other.holds_strings == self.holds_strings:
            return self.encode(other.ids)
        return self.rows_of_texts(map(str, other.ids.tolist()))

    def rows_of_texts(self, texts: Iterable[str]) -> Rows:
        """Return row numbers of ids given as text, -1 where unknown."""
        rows = {str(identifier): row for row, identifier in enumerate(self.ids.tolist())}
        return np.array([rows.get(text, -1) for text in texts], dtype=np.int64)

    def name(self, row: int) -> str:
        """Return what to call a row in front of people: its title, or its id."""
        return str(self.ids[row] if self.labels is None else self.labels[row])

    def with_labels(self, labels: dict[Any, str]) -> Vocabulary:
        """Return the same ids with titles; an id without one is its own title."""
        return Vocabulary(self.ids, [labels.get(i, str(i)) for i in self.ids.tolist()])

    def arrays(self, side: str) -> dict[str, NDArray[Any]]:
        """Return ids and titles as arrays of numbers for a file, under names that begin with `side`."""
        arrays = _text_arrays(f"{side}_ids", self.ids) if self.holds_strings else {side: self.ids}
        return arrays if self.labels is None else arrays | _text_arrays(f"{side}_labels", self.labels)

    @classmethod
    def from_arrays(cls, side: str, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """Undo `arrays`; what does not form a vocabulary is a ValueError or a KeyError."""
        ids = arrays[side] if side in arrays else _texts(f"{side}_ids", arrays)
        ordered = ids.dtype == object or (ids.dtype == np.int64 and (ids[1:] > ids[:-1]).all())
        if ids.ndim != 1 or not ordered or (ids.dtype == object and len(set(ids.tolist())) != ids.size):
            raise ValueError(f"the ids of the {side} are not distinct")
        return cls(ids, _texts(f"{side}_labels", arrays) if f"{side}_labels_ends" in arrays else None)

    @cached_property
    def _rows_titled(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, label in enumerate(() if self.labels is None else self.labels.tolist()):
            found.setdefault(label, []).append(row)
        return found

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {identifier: row for row, identifier in enumerate(self.ids)}


def _text_arrays(name: str, texts: NDArray[Any]) -> dict[str, NDArray[Any]]:
    encoded = [str(text).encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {f"{name}_ends": ends, f"{name}_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8)}


def _texts(name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    content = arrays[f"{name}_bytes"].tobytes()
    ends = arrays[f"{name}_ends"].tolist()
    starts = [0, *ends[:-1]]
    if any(end < start for start, end in zip(starts, ends, strict=True)) or (ends[-1] if ends else 0) != len(content):
        raise ValueError("its texts do not belong together")
    texts = np.empty(len(ends), dtype=object)
    pairs = zip(starts, ends, strict=True)
    texts[:] = [content[start:end].decode("utf-8", "surrogatepass") for start, end in pairs]
    return texts


def suggestion(ids: NDArray[Any], labels: NDArray[Any] | None, wrong: Any) -> str:
    """Return a sentence, with a blank before it, that names ids like the wrong one; nothing where there are none.

    Examples
    --------
    >>> suggestion(np.array(["dolphin", "lion"], dtype=object), None, "Dolfin")
    " Did you mean 'dolphin'?"
    >>> suggestion(np.array([3, 8, 12]), None, 9)
    ' The nearest ids are 8 and 12.'
    """
    if isinstance(wrong, str):
        return _like_a_text(ids, labels, wrong)
    if ids.dtype == object or not isinstance(wrong, (int, np.integer)) or not ids.size:
        return ""
    place = int(np.searchsorted(ids, wrong))
    near = [str(identifier) for identifier in ids[max(place - 1, 0) : place + 1].tolist()]
    return f" The nearest id is {near[0]}." if len(near) == 1 else f" The nearest ids are {near[0]} and {near[1]}."


def _like_a_text(ids: NDArray[Any], labels: NDArray[Any] | None, wrong: str) -> str:
    """Look for similar ids and titles, without regard to capitals."""
    found: dict[str, None] = {}
    if ids.dtype == object:
        found |= {repr(ids[row]): None for row in _similar(ids, wrong)}
    if labels is not None:
        found |= {f"{ids.item(row)!r} (titled {str(labels[row])!r})": None for row in _similar(labels, wrong)}
    shown = list(found)[:_SHOWN]
    return f" Did you mean {' or '.join(shown)}?" if shown else ""


def _similar(texts: NDArray[Any], wrong: str) -> list[int]:
    """Return the rows of texts that contain the wrong one, or that differ from it by little, best first."""
    sought = wrong.strip().casefold()
    if not sought:
        return []
    folded = [str(text).casefold() for text in texts[:_MOST_TEXTS].tolist()]
    if sought in folded:
        return [row for row, text in enumerate(folded) if text == sought][:_SHOWN]
    close = difflib.get_close_matches(sought, _worth_comparing(folded, sought), n=_SHOWN, cutoff=_ALIKE)
    contain = [text for text in folded if sought in text][:_SHOWN] if len(sought) > 2 else []
    wanted = set(close) | set(contain)
    rows: dict[str, int] = {}
    for row, text in enumerate(folded):
        if text in wanted:
            rows.setdefault(text, row)
    return [rows[text] for text in dict.fromkeys([*close, *contain])]


def _worth_comparing(texts: list[str], sought: str) -> list[str]:
    """Return some of the texts: those that begin alike for longest, then those that are about as long."""
    pool = texts
    for length in range(1, len(sought) + 1):
        if len(pool) <= _MOST_COMPARED:
            break
        narrower = [text for text in pool if text.startswith(sought[:length])]
        if len(narrower) <= _MOST_COMPARED:
            others = [text for text in pool if abs(len(text) - len(sought)) <= 1]
            return [*narrower, *others[: _MOST_COMPARED - len(narrower)]]
        pool = narrower
    return pool[:_MOST_COMPARED]
