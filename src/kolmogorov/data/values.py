"""Values as numbers, whatever they are written as: only distinct texts are looked at, all of a column together."""

from __future__ import annotations

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
    "strongly disagree,disagree,slightly disagree,neutral,neither agree nor disagree,slightly agree,agree,strongly "
    "agree",
    "never,rarely,seldom,sometimes,often,usually,always",
    "very bad,bad,poor,fair,ok,good,very good,excellent",
    "not at all,a little,somewhat,a lot,very much,extremely",
    "very dissatisfied,dissatisfied,neither satisfied nor dissatisfied,satisfied,very satisfied",
    "very low,low,medium,high,very high",
]
_NUMBERED = re.compile(r"\(?([+-]?\d{1,3})\s*[-–—:=.)]+\s*\D.*", re.DOTALL)
#: A point, or a comma, in front of three digits, where thousands may be meant; a comma in a number.
_GROUPED = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}[{mark}]\d{{3}}", re.ASCII) for mark in ".,"}
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*%?", re.ASCII)
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
    """How values are written: what words mean, in small letters; what is missing, as texts; the separators."""

    map: Mapping[str, float] | None = None
    missing: Sequence[str] = ()
    decimal: str = "auto"
    thousands: str | None = None


def text_of(value: Any) -> str:
    """Write a value as a file would hold it: 5.0 is "5"."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value).strip()


class Numbers(NamedTuple):
    """The numbers of some texts, NaN where they are missing; the words among them; the decimal separator, if any."""

    numbers: Floats
    words: dict[str, float]
    decimal: str | None = None


def numbers_of(texts: Sequence[str | None], form: Notation) -> Numbers:
    """Return a number for each distinct text of a column, in the order in which they came; None is an empty cell."""
    plain = ["" if text is None else text.strip() for text in texts]
    gone = [number for number in map(plain_float, form.missing) if number is not None]
    at = [k for k, text in enumerate(plain) if text not in form.missing and plain_float(text) not in gone]
    numbers = np.full(len(plain), np.nan)
    try:
        numbers[at], words, decimal = _numbers([plain[k] for k in at], form)
    except UnreadableError as error:
        error.at = at[error.at]
        raise
    if form.map is None:
        # A number that means missing may be written in other ways.
        numbers[np.isin(numbers, gone)] = np.nan
    return Numbers(numbers, words, decimal)


def _numbers(texts: list[str], form: Notation) -> tuple[list[float], dict[str, float], str | None]:
    """Return what texts stand for: by the map, because they are yes and no, or because they are numbers."""
    folded = [text.casefold() for text in texts]
    if form.map is not None:
        keys = [text if text in form.map else text_of(plain_float(text)) for text in folded]
        for k, key in enumerate(keys):
            if key not in form.map:
                said = f"{texts[k]!r} is not in map; the column holds {_listed(texts)}."
                raise UnreadableError(k, said, _advised(texts, form.map))
        return [form.map[key] for key in keys], {t: form.map[key] for t, key in zip(folded, keys, strict=True)}, None
    worded = [k for k, text in enumerate(folded) if text in PAIR_OF]
    if not worded:
        return _plain(texts, form)
    pair = PAIR_OF[folded[worded[0]]]
    # A dash beside 0 and 1 is rather a missing value.
    meaning = {pair[0]: 1.0, pair[1]: 0.0} | ({"0": 0.0, "1": 1.0} if pair is not _SIGNS else {})
    if strangers := [k for k, text in enumerate(folded) if text not in meaning]:
        # Words among numbers are blamed, and numbers among words, whichever come later.
        raise _unreadable(texts, worded[0] if plain_float(texts[0]) is not None else strangers[0])
    return [meaning[text] for text in folded], {text: meaning[text] for text in folded if text in pair}, None


def _plain(texts: list[str], form: Notation) -> tuple[list[float], dict[str, float], str | None]:
    """Return numbers that are written as such, or as percentages."""
    decimal = form.decimal
    if decimal == "auto":
        decimal = ("," if form.thousands == "." else ".") if form.thousands else _separator(texts)
    values: list[float] = []
    for k, text in enumerate(texts):
        number = _number(text.removesuffix("%").rstrip(), decimal, form.thousands)
        if number is None:
            raise _unreadable(texts, k)
        if not math.isfinite(number):
            raise UnreadableError(k, f"must be finite, got {number:g}.")
        values.append(number / 100.0 if text.endswith("%") else number)
    shares = [k for k, text in enumerate(texts) if text.endswith("%")]
    # Zero is the same with and without.
    others = [k for k, text in enumerate(texts) if not text.endswith("%") and values[k]]
    if shares and others:
        k, other = max(shares[0], others[0]), min(shares[0], others[0])
        said = f"must be a percentage in every line or in none, got {texts[k]!r} beside {texts[other]!r}."
        raise UnreadableError(k, said)
    seen = "." if any("." in text for text in texts) else None
    return values, {texts[k]: values[k] for k in shares[:_MOST_WORDS]}, "," if decimal == "," else seen


def _separator(texts: list[str]) -> str:
    """Tell what separates decimals, from all texts of a column; where that is open it is asked."""
    points = [k for k, text in enumerate(texts) if "." in text and looks_like_number(text)]
    commas = [k for k, text in enumerate(texts) if _COMMA.fullmatch(text)]
    doubtful = None
    if points and commas:
        doubtful = max(points[0], commas[0])
    elif commas and all(_GROUPED[","].fullmatch(texts[k].rstrip("% ")) for k in commas):
        doubtful = commas[0]
    elif any(len(text.lstrip("+-")) == 3 and text.isdigit() for text in texts):
        doubtful = next((k for k in points if _GROUPED["."].fullmatch(texts[k])), None)
    if doubtful is None:
        return "," if commas else "."
    mark, name = (",", "comma") if doubtful in commas else (".", "point")
    raise UnreadableError(
        doubtful,
        f"must be a number, got {texts[doubtful]!r}, whose {name} may stand before decimals or between thousands. Say "
        f"decimal={mark!r} or thousands={mark!r}.",
    )


def _number(text: str, decimal: str, thousands: str | None) -> float | None:
    """Return the number that a text is; None where it is none."""
    if thousands is not None and thousands in text:
        whole, point, rest = text.partition(decimal)
        groups = whole.lstrip("+-").split(thousands)
        if not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:]):
            return None
        text = whole.replace(thousands, "") + point + rest
    # float() also takes "1_000"; nobody who writes that means a number.
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(",", ".", 1) if decimal == "," else text)
    except ValueError:
        return None


def _unreadable(texts: list[str], at: int) -> UnreadableError:
    """Say what is wrong with a text, and what to do about it."""
    words = sorted(word for word in set(texts) if not looks_like_number(word)) or [texts[at]]
    said = f"must be a number, got {texts[at]!r}"
    worded = any(word.casefold() in PAIR_OF and word != "-" for word in words)
    if texts[at] and (2 * len(words) > len(texts) or worded):
        return UnreadableError(at, f"{said}; the column holds {_listed(words)}.", _advised(texts, {}))
    marks = words if texts[at] else [""]
    remedy = f" If that means missing, say missing={(marks[0] if len(marks) == 1 else marks)!r}."
    return UnreadableError(at, f"{said}.", remedy if len(marks) <= _MOST_MARKS else "")


def _listed(texts: Iterable[str]) -> str:
    shown = sorted({text.casefold(): text for text in sorted(texts) if text}.values(), key=str.casefold)
    return ", ".join(map(repr, shown[:_MOST_WORDS])) + (", ..." if len(shown) > _MOST_WORDS else "")


def _advised(texts: list[str], known: Mapping[str, float]) -> str:
    """Advise on the map to write, in the order of the answers where that is known."""
    words = list({text.casefold(): text for text in sorted(texts) if text}.values())
    if len(words) > _MOST_WORDS:
        return ""
    guessed = {word: known.get(word.casefold(), meant) for word, meant in _grades(words).items()}
    order = sorted(words, key=lambda word: (guessed[word] is None, guessed[word] or 0.0, word.casefold()))
    shown = ", ".join(f"{w!r}: {'NUMBER' if guessed[w] is None else format(guessed[w], 'g')}" for w in order)
    return f" Say what each means: map={{{shown}}}."


def _grades(words: Sequence[str]) -> dict[str, float | None]:
    """Guess a number for each answer: its own ("2 - disagree"), its place among words of grades, yes and no."""
    folded = {word: word.casefold() for word in words}
    numbered = {word: found[1] for word, text in folded.items() if (found := _NUMBERED.fullmatch(text))}
    if len(numbered) == len(words):
        return {word: float(number) for word, number in numbered.items()}
    for grades in (line.split(",") for line in _GRADES):
        if len(words) > 1 and {*folded.values()} <= {*grades}:
            order = sorted(folded.values(), key=grades.index)
            return {word: order.index(text) + 1.0 for word, text in folded.items()}
    return {w: float(t == PAIR_OF[t][0]) if t in PAIR_OF else plain_float(w) for w, t in folded.items()}


def looks_like_number(text: str) -> bool:
    """Tell a number, whatever its decimal separator, from a word."""
    return plain_float(text.strip().removesuffix("%").rstrip().replace(",", ".")) is not None


def plain_float(text: str) -> float | None:
    """Return a finite number as programs write it, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


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
        self.decimal: str | None = None

    def read(self, column: Any) -> None:
        """Take some more cells."""
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

    def texts(self) -> list[str]:
        """Return the distinct cells as texts."""
        return [text_of(cell) for cell in self._cells]

    def said(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the distinct cells as texts, and then an empty one, and which of them each cell is."""
        codes = np.concatenate(self._parts or [np.empty(0, np.int32)])
        if codes.dtype == np.int32:
            return np.array([*self.texts(), ""], dtype=object), codes
        numbers, codes = np.unique(codes, return_inverse=True)
        return np.array(["" if x != x else text_of(x) for x in numbers.tolist()], dtype=object), codes

    def finish(self, place: Callable[[int], str], what: str = "value", beside: Sequence[str] = ()) -> None:
        """Find the numbers; texts of columns `beside` are in the map that is advised."""
        self.numbers, self._parts = np.concatenate(self._parts or [np.empty(0)]), []
        if self.numbers.dtype != np.int32:
            return
        try:
            found = numbers_of(self.texts(), self.form)
        except UnreadableError as error:
            said = str(error)
            if beside and "map=" in said:
                said = error.complaint + _advised([*self.texts(), *beside], self.form.map or {})
            raise DataError(f"{place(int(np.argmax(self.numbers == error.at)))}: {what} {said}") from None
        self.words, self.decimal = found.words, found.decimal
        self.numbers = np.append(found.numbers, np.nan)[self.numbers]
