"""Values as numbers, whatever they are written as: only distinct texts are looked at, all of a column together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import is_finite
from kolmogorov.errors import DataError, ParameterError

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
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_COMMA = re.compile(r"[+-]?(\d*),(\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: What programs write where there is nothing.
BLANK_WORDS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"))
#: Words that an error lists, and stray ones among numbers that may all mean missing.
_MOST_WORDS, _MOST_MARKS = 12, 3


class UnreadableError(ValueError):
    """A text that no number can be made of: where it stands among those given, and what to say."""

    def __init__(self, at: int, complaint: str, remedy: str = "") -> None:
        super().__init__(complaint + remedy)
        self.at, self.complaint = at, complaint


@dataclass(frozen=True)
class Notation:
    """How values are written: what words mean, what is missing, the decimal separator, and the one of thousands."""

    map: Mapping[Any, float] | None = None
    missing: Any = ()
    decimal: str = "auto"
    thousands: str | None = None

    def __post_init__(self) -> None:
        decimal, mark, given, marks = self.decimal, self.thousands, self.map, self.missing
        if decimal not in ("auto", ".", ","):
            raise ParameterError(f"decimal must be 'auto', '.' or ',', got {decimal!r}.")
        if mark is not None:
            if not isinstance(mark, str) or len(mark) != 1 or mark.isalnum() or mark in "+-":
                raise ParameterError(f"thousands must be one character that is no digit, got {mark!r}.")
            decimal = decimal if decimal != "auto" else "," if mark == "." else "."
            if mark == decimal:
                raise ParameterError(f"thousands and decimal cannot both be {mark!r}.")
        marks = (marks,) if isinstance(marks, (str, Real)) else marks
        if not isinstance(marks, Iterable) or not all(isinstance(mark, (str, Real)) for mark in marks):
            raise ParameterError(f"missing must be texts that stand for a missing value, got {marks!r}.")
        if given is not None and not (isinstance(given, Mapping) and given):
            raise ParameterError(f"map must give a number for each value, got {given!r}.")
        meanings: dict[str, float] = {}
        for key, number in (given or {}).items():
            if isinstance(number, str) or not is_finite(number):
                raise ParameterError(f"map must give a finite number for each value, got {number!r} for {key!r}.")
            text = text_of(key).casefold()
            if meanings.setdefault(text, float(number)) != float(number):
                raise ParameterError(f"map gives two numbers for {text!r}; capitals make no difference.")
        texts = tuple(dict.fromkeys(map(text_of, marks)))
        vars(self).update(map=meanings or None, missing=texts, decimal=decimal)


def text_of(value: Any) -> str:
    """Write a value as a file would hold it: 5.0 is "5"."""
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        whole = isinstance(value, Integral) or float(value).is_integer()
        return str(int(value if isinstance(value, Integral) else float(value))) if whole else str(value)
    return str(value).strip()


class Numbers(NamedTuple):
    """The numbers of some texts, NaN where they are missing; the words among them; the decimal separator, if any."""

    numbers: Floats
    words: dict[str, float]
    decimal: str | None = None


def numbers_of(texts: Sequence[str | None], form: Notation, *, empty_is_missing: bool = False) -> Numbers:
    """Return a number for each distinct text of a column, in the order in which they came; None is an empty cell."""
    plain = ["" if text is None else text.strip() for text in texts]
    gone = {*form.missing, *([""] if empty_is_missing else [])}
    gone_numbers = {number for mark in form.missing if (number := plain_float(mark)) is not None}
    at = [k for k, text in enumerate(plain) if text not in gone and plain_float(text) not in gone_numbers]
    numbers = np.full(len(plain), np.nan)
    found = [plain[k] for k in at]
    try:
        values, words, decimal = _worded(found, form) or _plain(found, form)
    except UnreadableError as error:
        error.at = at[error.at]
        raise
    numbers[at] = values
    if form.map is None:
        # A number that means missing may be written in other ways.
        numbers[np.isin(numbers, list(gone_numbers))] = np.nan
    return Numbers(numbers, words, decimal)


def _worded(texts: list[str], form: Notation) -> tuple[list[float], dict[str, float], None] | None:
    """Return the numbers that words stand for, by the map or because they are yes and no; None where there are none."""
    folded = [text.casefold() for text in texts]
    if form.map is not None:
        meaning = form.map
        keys = [text if text in meaning else text_of(plain_float(text)) for text in folded]
        for k, key in enumerate(keys):
            if key not in meaning:
                said = f"{texts[k]!r} is not in map; the column holds {_listed(texts)}."
                raise UnreadableError(k, said, _advised(texts, meaning))
        return [meaning[key] for key in keys], dict(zip(folded, map(meaning.__getitem__, keys), strict=True)), None
    pairs = [PAIR_OF.get(text) for text in folded]
    first = next((pair for pair in pairs if pair is not None), None)
    if first is None:
        return None
    # A dash beside 0 and 1 is rather a missing value.
    meaning = {first[0]: 1.0, first[1]: 0.0} | ({"0": 0.0, "1": 1.0} if first is not _SIGNS else {})
    if strangers := [k for k, text in enumerate(folded) if text not in meaning]:
        # Words among numbers are blamed, and numbers among words, whichever come later.
        number_first = pairs[0] is None and plain_float(texts[0]) is not None
        raise _unreadable(texts, next(k for k, pair in enumerate(pairs) if pair) if number_first else strangers[0])
    return [meaning[text] for text in folded], {text: meaning[text] for text in folded if text in first}, None


def _plain(texts: list[str], form: Notation) -> tuple[list[float], dict[str, float], str | None]:
    """Return numbers that are written as such, or as percentages."""
    decimal = form.decimal if form.decimal != "auto" else _separator(texts)
    per_cent = [text.endswith("%") for text in texts]
    values: list[float] = []
    words: dict[str, float] = {}
    for k, text in enumerate(texts):
        number = _number(text.removesuffix("%").rstrip(), decimal, form.thousands)
        if number is None:
            raise _unreadable(texts, k)
        if not math.isfinite(number):
            raise UnreadableError(k, f"must be finite, got {number:g}.")
        if per_cent[k] != per_cent[0] and number:
            other = per_cent.index(not per_cent[k])
            if k > other:
                said = f"must be a percentage in every line or in none, got {text!r} beside {texts[other]!r}."
                raise UnreadableError(k, said)
        values.append(number / 100.0 if per_cent[k] else number)
        if per_cent[k] and len(words) < _MOST_WORDS:
            words[text] = values[-1]
    seen = "." if any("." in text for text in texts) else None
    return values, words, "," if decimal == "," else seen


def _separator(texts: list[str]) -> str:
    """Tell what separates decimals, from all texts of a column; where that is open it is asked."""
    points = [k for k, text in enumerate(texts) if "." in text and looks_like_number(text)]
    found = {k: m for k, text in enumerate(texts) if (m := _COMMA.fullmatch(text.removesuffix("%").rstrip()))}
    if points and found:
        first = min(found)
        blamed, mark, other = (first, ",", ".") if points[0] < first else (points[0], ".", ",")
        raise UnreadableError(
            blamed,
            f"must be a number, got {texts[blamed]!r} where others have {other!r} before their decimals. If it stands "
            f"between thousands, say thousands={mark!r}.",
        )
    if found:
        if all(len(m[2]) == 3 and 1 <= len(m[1]) <= 3 and m[1].strip("0") for m in found.values()):
            raise UnreadableError(
                min(found),
                f"must be a number, got {texts[min(found)]!r}, whose comma may stand before decimals or between "
                "thousands. Say decimal=',' or thousands=','.",
            )
        return ","
    grouped = next((k for k in points if _GROUPED.fullmatch(texts[k])), None)
    hundreds = next((k for k, text in enumerate(texts) if len(text.lstrip("+-")) == 3 and text.isdigit()), None)
    if grouped is not None and hundreds is not None:
        raise UnreadableError(
            max(grouped, hundreds),
            f"is {texts[grouped]!r} in one place and {texts[hundreds]!r} in another, so the point may stand before "
            "decimals or between thousands. Say decimal='.' or thousands='.'.",
        )
    return "."


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
    text = texts[at]
    numbers = [word for word in texts if looks_like_number(word)]
    if not text:
        return UnreadableError(
            at, "must be a number, got ''.", " If that means missing, say missing=''." if numbers else ""
        )
    words = [word for word in texts if word and not looks_like_number(word)]
    if len(numbers) >= len(words) and not any(word.casefold() in PAIR_OF and word != "-" for word in words):
        marks = sorted(set(words)) or [text]
        few = len(marks) <= _MOST_MARKS and not any("," in word for word in marks)
        remedy = f" If that means missing, say missing={(marks[0] if len(marks) == 1 else marks)!r}." if few else ""
        return UnreadableError(at, f"must be a number, got {text!r}.", remedy)
    said = f"must be a number, got {text!r}; the column holds {_listed(words)}."
    return UnreadableError(at, said, _advised(texts, {}))


def _listed(texts: Iterable[str]) -> str:
    folded = {text.casefold(): text for text in sorted(texts) if text}
    shown = [folded[key] for key in sorted(folded)]
    return ", ".join(map(repr, shown[:_MOST_WORDS])) + (", ..." if len(shown) > _MOST_WORDS else "")


def _advised(texts: list[str], known: Mapping[str, float]) -> str:
    """Advise on the map to write, in the order of the answers where that is known."""
    words = list({text.casefold(): text for text in sorted(texts) if text}.values())
    if len(words) > _MOST_WORDS:
        return ""
    guessed = {word: known.get(word.casefold(), meant) for word, meant in grades_of(words).items()}
    order = sorted(words, key=lambda word: (guessed[word] is None, guessed[word] or 0.0, word.casefold()))
    shown = ", ".join(f"{w!r}: {'NUMBER' if guessed[w] is None else format(guessed[w], 'g')}" for w in order)
    return f" Say what each means: map={{{shown}}}."


def grades_of(words: Sequence[str]) -> dict[str, float | None]:
    """Guess a number for each answer: its own ("2 - disagree"), its place among words of grades, yes and no."""
    folded = {word: word.casefold() for word in words}
    numbered = {word: _NUMBERED.fullmatch(text) for word, text in folded.items()}
    if all(numbered.values()):
        return {word: float(found[1]) for word, found in numbered.items() if found}
    answers = set(folded.values())
    for grades in (words.split(",") for words in _GRADES):
        if len(answers) > 1 and answers <= set(grades):
            order = sorted(answers, key=grades.index)
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
    """The cells of a column of values, as numbers when all are known."""

    def __init__(self, form: Notation, what: str = "value", name: str = "") -> None:
        self.form, self.name, self._what, self._cells = form, name, what, Coder()
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
        if (number or pa.types.is_decimal(kind)) and self.form.map is None and not self.form.missing:
            self._parts.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
            return
        if pa.types.is_dictionary(kind) and kind.ordered and not self.order:
            words = [text_of(cell) for cell in column.dictionary.to_pylist()]
            if not all(looks_like_number(word) or word.casefold() in PAIR_OF for word in words):
                self.order = {word: float(k) for k, word in enumerate(words, start=1)}
                meaning = self.form.map or {word.casefold(): place for word, place in self.order.items()}
                self.form = Notation(meaning, self.form.missing)
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

    def finish(self, place: Callable[[int], str], beside: Sequence[ValueColumn] = ()) -> Floats:
        """Return the numbers, NaN where they are missing; a wide table has others `beside`, and empty cells."""
        codes, texts, empty = np.concatenate(self._parts or [np.empty(0)]), self.texts(), bool(beside)
        self._parts = []
        if codes.dtype != np.int32:
            self.numbers = codes
            return codes
        try:
            found = numbers_of(texts, self.form, empty_is_missing=empty)
        except UnreadableError as error:
            said = str(error)
            if beside and "map=" in said:
                # A map is for all columns.
                try:
                    numbers_of([*texts, *(t for c in beside for t in c.texts())], self.form, empty_is_missing=empty)
                except UnreadableError as wider:
                    said = str(wider) if "map=" in str(wider) else error.complaint
            raise DataError(f"{place(int(np.argmax(codes == error.at)))}: {self._what} {said}") from None
        self.words, self.decimal = found.words, found.decimal
        self.numbers = np.append(found.numbers, np.nan)[codes]
        return self.numbers
