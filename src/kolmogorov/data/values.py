"""Values as numbers, whatever they are written as: only distinct texts are looked at, all of a column together."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError

#: Words that go together, yes first; capitals do not matter.
_SIGNS = ("+", "-")
_PAIRS = [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), _SIGNS, ("like", "dislike")]
_PAIRS += [("ja", "nein"), ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux")]
PAIR_OF = {word: pair for pair in _PAIRS for word in pair}
#: Words of graded answers, lowest first: what the `map` that is advised begins from.
_GRADES = [
    "strongly disagree,disagree,neutral,neither agree nor disagree,agree,strongly agree",
    "never,rarely,seldom,sometimes,often,usually,always",
    "very bad,bad,poor,fair,ok,good,very good,excellent",
]
#: An answer that begins with its number; a number with a comma, which may also stand between thousands.
_NUMBERED = re.compile(r"\(?([+-]?\d{1,3})\s*[-–—:=.)]+\s*\D.*", re.DOTALL)
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
#: What programs write where there is nothing.
BLANK_WORDS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"))
#: Words that an error lists, and stray ones among numbers that may all mean missing.
_MOST_WORDS, _MOST_MARKS = 12, 3


class UnreadableError(ValueError):
    """A text that no number can be made of: where it stands among those given, and what to say."""

    def __init__(self, at: int, complaint: str, remedy: str = "") -> None:
        super().__init__(complaint + remedy)
        self.at, self.complaint = at, complaint


class Notation(NamedTuple):
    """How values are written: what words mean, in small letters; what is missing, as texts; the mark of decimals."""

    map: Mapping[str, float] | None = None
    missing: Sequence[str] = ()
    decimal: str = "auto"


class Numbers(NamedTuple):
    """The numbers of some texts, NaN where they are missing; the words among them; the decimal separator, if any."""

    numbers: Floats
    words: dict[str, float]
    decimal: str = ""


def text_of(value: Any) -> str:
    """Write a value as a file would hold it: 5.0 is "5"."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value).strip()


def plain_float(text: str) -> float | None:
    """Return a finite number as programs write it, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    # Nobody who writes "1_000" means a number.
    return number if math.isfinite(number) and "_" not in text else None


def looks_like_number(text: str) -> bool:
    """Tell a number, whatever its decimal separator, from a word."""
    return plain_float(text.replace(",", ".")) is not None


def numbers_of(texts: Sequence[str], form: Notation, beside: Sequence[str] = ()) -> Numbers:
    """Return a number for each distinct text of a column, in the order in which they came.

    They are what a map says, or yes and no, or numbers. Columns `beside` it, whose texts are given, are written alike.
    """
    gone = {number for mark in form.missing if (number := plain_float(mark)) is not None}
    stripped = ((k, text.strip()) for k, text in enumerate(texts))
    kept = {k: text for k, text in stripped if text not in form.missing and plain_float(text) not in gone}
    numbers, words, every = np.full(len(texts), np.nan), dict[str, float](), [*kept.values(), *beside]
    worded = [k for k, text in kept.items() if text.casefold() in PAIR_OF]
    if form.map is not None or worded:
        pair = () if form.map is not None else PAIR_OF[kept[worded[0]].casefold()]
        # A dash beside 0 and 1 is rather a missing value.
        meaning = form.map or dict(zip((*pair, "1", "0")[: 2 if pair is _SIGNS else 4], (1.0, 0.0) * 2, strict=False))
        for k, text in kept.items():
            key = text.casefold() if text.casefold() in meaning else text_of(plain_float(text))
            if key not in meaning and form.map is not None:
                said = f"{text!r} is not in map; the column holds {_listed(kept.values())}."
                raise UnreadableError(k, said, _advised(every, meaning))
            if key not in meaning:
                # Words among numbers are blamed, and numbers among words, whichever come later.
                raise _unreadable(kept, worded[0] if plain_float(next(iter(kept.values()))) is not None else k, every)
            numbers[k] = words[text.casefold()] = meaning[key]
        return Numbers(numbers, {word: n for word, n in words.items() if form.map is not None or word in pair})
    commas = {k: text for k, text in kept.items() if _COMMA.fullmatch(text)}
    written = [*commas.values(), *filter(_COMMA.fullmatch, beside)]
    if form.decimal == "auto" and commas and all(map(_GROUPED.fullmatch, written)):
        k, text = next(iter(commas.items()))
        said = f"must be a number, got {text!r}, whose comma may stand before decimals or between thousands."
        raise UnreadableError(k, said, " Say decimal=',', or write thousands without it.")
    comma = form.decimal == "," or (form.decimal == "auto" and bool(written))
    for k, text in kept.items():
        number = plain_float(text.replace(",", ".", 1) if comma and "." not in text else "" if comma else text)
        if number is None:
            raise _unreadable(kept, k, every)
        numbers[k] = number
    return Numbers(numbers, {}, "," if comma else "." if any("." in text for text in kept.values()) else "")


def _unreadable(kept: Mapping[int, str], at: int, every: Sequence[str]) -> UnreadableError:
    """Say what is wrong with a text, and what to do about it."""
    words = sorted({word for word in kept.values() if not looks_like_number(word)}) or [kept[at]]
    said = f"must be a {'finite ' * ('inf' in kept[at].casefold())}number, got {kept[at]!r}"
    worded = any(word.casefold() in PAIR_OF and word != "-" for word in words)
    if kept[at] and (2 * len(words) > len(kept) or worded):
        return UnreadableError(at, f"{said}; the column holds {_listed(words)}.", _advised(every, {}))
    marks = words if kept[at] else [""]
    remedy = f" If that means missing, say missing={(marks[0] if len(marks) == 1 else marks)!r}."
    return UnreadableError(at, f"{said}.", remedy if len(marks) <= _MOST_MARKS else "")


def _different(texts: Iterable[str]) -> list[str]:
    """Return texts that are not empty, in order; of those that differ by capitals only, one."""
    return sorted({text.casefold(): text for text in sorted(texts) if text}.values(), key=str.casefold)


def _listed(texts: Iterable[str]) -> str:
    shown = _different(texts)
    return ", ".join(map(repr, shown[:_MOST_WORDS])) + (", ..." if len(shown) > _MOST_WORDS else "")


def _advised(texts: Iterable[str], known: Mapping[str, float]) -> str:
    """Advise on the map to write, in the order of the answers where that is known: their own numbers, or grades."""
    if len(words := _different(texts)) > _MOST_WORDS:
        return ""
    folded = [word.casefold() for word in words]
    numbered = [found[1] for word in words if (found := _NUMBERED.fullmatch(word))]
    grades = next((line.split(",") for line in _GRADES if {*folded} <= {*line.split(",")}), [])
    guessed: list[float | None] = [plain_float(text) for text in folded]
    if len(numbered) == len(words):
        guessed = [float(number) for number in numbered]
    elif grades and len(words) > 1:
        guessed = [sorted(folded, key=grades.index).index(text) + 1.0 for text in folded]
    for k, text in enumerate(folded):
        guessed[k] = known.get(text, float(text == PAIR_OF[text][0]) if text in PAIR_OF else guessed[k])
    order = sorted(zip(words, guessed, strict=True), key=lambda pair: (pair[1] is None, pair[1] or 0.0))
    shown = ", ".join(f"{word!r}: {'NUMBER' if number is None else format(number, 'g')}" for word, number in order)
    return f" Say what each means: map={{{shown}}}."


# --- columns ----------------------------------------------------------------------------------------------------------


class Coder(dict[Any, int]):
    """Numbers for distinct cells, by first appearance, at the speed of a dictionary's own code."""

    def __missing__(self, cell: Any) -> int:
        self[cell] = number = len(self)
        return number


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


class ValueColumn:
    """The cells of a column of values; `numbers` when all are known, NaN where they are missing."""

    def __init__(self, form: Notation, name: str = "") -> None:
        self.form, self.name, self._cells = form, name, Coder()
        self._parts: list[NDArray[Any]] = []
        self.numbers: Floats = np.empty(0)
        #: The places of ordered categories, which are no numbers.
        self.order: dict[str, float] = {}
        self.words: dict[str, float] = {}
        self.decimal = ""

    def read(self, column: Any) -> None:
        """Take some more cells: numbers as they are, of all others which they are."""
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        if (number or pa.types.is_decimal(kind)) and self.form.map is None and not {*self.form.missing} - {""}:
            self._parts.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
            return
        if pa.types.is_dictionary(kind) and kind.ordered and not self.order:
            words = [text_of(cell) for cell in column.dictionary.to_pylist()]
            if not all(looks_like_number(word) or word.casefold() in PAIR_OF for word in words):
                self.order = {word: float(k) for k, word in enumerate(words, start=1)}
                meaning = self.form.map or {word.casefold(): place for word, place in self.order.items()}
                self.form = self.form._replace(map=meaning)
        cells, codes = distinct(column)
        keys = (-1 if cell is None or cell != cell else self._cells[cell] for cell in cells)
        self._parts.append(np.fromiter(keys, np.int32, len(cells))[codes])

    def said(self) -> tuple[list[str], NDArray[Any]]:
        """Return the distinct cells as texts, and then an empty one, and which of them each cell is."""
        codes: NDArray[Any] = np.concatenate(self._parts or [np.empty(0, np.int32)])
        cells: Iterable[Any] = self._cells
        if codes.dtype != np.int32:
            cells, codes = np.unique(codes, return_inverse=True)
        return ["" if cell != cell else text_of(cell) for cell in cells] + [""], codes

    def finish(self, place: Callable[[int], str], what: str = "value", beside: Sequence[str] = ()) -> None:
        """Find the numbers; columns `beside` are written alike."""
        codes: NDArray[Any] = np.concatenate(self._parts or [np.empty(0)])
        if codes.dtype == np.int32:
            try:
                found, self.words, self.decimal = numbers_of([text_of(cell) for cell in self._cells], self.form, beside)
            except UnreadableError as error:
                raise DataError(f"{place(int(np.argmax(codes == error.at)))}: {what} {error}") from None
            codes = np.append(found, np.nan)[codes]
        self.numbers, self._parts = codes, []
