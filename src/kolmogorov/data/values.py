"""Values as numbers, whatever they are written as: only distinct texts are looked at, all of a column together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import is_finite
from kolmogorov.errors import ParameterError

#: Words that go together, yes first; capitals do not matter.
_SIGNS = ("+", "-")
_PAIRS = [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), _SIGNS, ("like", "dislike")]
_PAIRS += [("ja", "nein"), ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux")]
PAIR_OF = {word: pair for pair in _PAIRS for word in pair}
#: Words of graded answers, lowest first: what the `map` that is advised begins from.
_GRADES = [
    [
        *("strongly disagree", "disagree", "slightly disagree", "neutral", "neither agree nor disagree"),
        *("slightly agree", "agree", "strongly agree"),
    ],
    ["never", "rarely", "seldom", "sometimes", "often", "usually", "always"],
    ["very bad", "bad", "poor", "fair", "ok", "good", "very good", "excellent"],
    ["not at all", "a little", "somewhat", "a lot", "very much", "extremely"],
    ["very dissatisfied", "dissatisfied", "neither satisfied nor dissatisfied", "satisfied", "very satisfied"],
    ["very low", "low", "medium", "high", "very high"],
]
_NUMBERED = re.compile(r"\(?([+-]?\d{1,3})\s*[-–—:=.)]+\s*\D.*", re.DOTALL)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_COMMA = re.compile(r"[+-]?(\d*),(\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: What programs write where there is nothing.
BLANK_WORDS = frozenset(("", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"))
#: Words that an error lists.
_MOST_WORDS = 12
#: Stray words among numbers that may all mean missing.
_MOST_MARKS = 3


class UnreadableError(ValueError):
    """A text that no number can be made of: where it stands among those given, and what to say."""

    def __init__(self, at: int, complaint: str, remedy: str = "") -> None:
        super().__init__(complaint + remedy)
        self.at, self.complaint = at, complaint


@dataclass(frozen=True)
class Notation:
    """How values are written: what words mean, what is missing, the decimal separator, and the one of thousands."""

    map: Mapping[str, float] | None = None
    missing: tuple[str, ...] = ()
    decimal: str = "auto"
    thousands: str | None = None

    @classmethod
    def of(cls, map: Any = None, missing: Any = (), decimal: str = "auto", thousands: Any = None) -> Notation:
        """Check what people hand in.

        Examples
        --------
        >>> Notation.of({"Yes": 1, "No": 0}, missing=99)
        Notation(map={'yes': 1.0, 'no': 0.0}, missing=('99',), decimal='auto', thousands=None)
        """
        if decimal not in ("auto", ".", ","):
            raise ParameterError(f"decimal must be 'auto', '.' or ',', got {decimal!r}.")
        if thousands is not None:
            if not isinstance(thousands, str) or len(thousands) != 1 or thousands.isalnum() or thousands in "+-":
                raise ParameterError(f"thousands must be one character that is no digit, got {thousands!r}.")
            point = ("," if thousands == "." else ".") if decimal == "auto" else decimal
            if thousands == point:
                raise ParameterError(f"thousands and decimal cannot both be {thousands!r}.")
            decimal = point
        marks = (missing,) if isinstance(missing, (str, Real)) else missing
        if not isinstance(marks, Iterable) or not all(isinstance(mark, (str, Real)) for mark in marks):
            raise ParameterError(f"missing must be texts that stand for a missing value, got {missing!r}.")
        return cls(_meanings(map), tuple(dict.fromkeys(text_of(mark) for mark in marks)), decimal, thousands)


def _meanings(given: Any) -> dict[str, float] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(f"map must give a number for each value, got {given!r}.")
    found: dict[str, float] = {}
    for key, number in given.items():
        if isinstance(number, str) or not is_finite(number):
            raise ParameterError(f"map must give a finite number for each value, got {number!r} for {key!r}.")
        text = text_of(key).casefold()
        if found.setdefault(text, float(number)) != float(number):
            raise ParameterError(f"map gives two numbers for {text!r}; capitals make no difference.")
    return found


def text_of(value: Any) -> str:
    """Write a value as a file would hold it: 5.0 is "5"."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        whole = isinstance(value, Integral) or float(value).is_integer()
        return str(int(value if isinstance(value, Integral) else float(value))) if whole else str(value)
    return str(value)


@dataclass(frozen=True)
class Numbers:
    """The numbers of some texts, NaN where they are missing; the words among them; the decimal separator, if any."""

    numbers: Floats
    words: Mapping[str, float]
    decimal: str | None


def numbers_of(texts: Sequence[str | None], form: Notation, *, empty_is_missing: bool = False) -> Numbers:
    """Return a number for each distinct text of a column, in the order in which they came; None is an empty cell.

    Examples
    --------
    >>> numbers_of(["Yes", "NO", "NA"], Notation.of(missing="NA")).numbers
    array([ 1.,  0., nan])
    >>> found = numbers_of(["3,5", "4"], Notation())
    >>> found.numbers, found.decimal
    (array([3.5, 4. ]), ',')
    """
    plain = ["" if text is None else text.strip() for text in texts]
    gone = {*form.missing, *([""] if empty_is_missing else [])}
    numbers = np.full(len(plain), np.nan)
    at = [k for k, text in enumerate(plain) if text not in gone]
    found = [plain[k] for k in at]
    missing_numbers = {number for mark in form.missing if (number := plain_float(mark)) is not None}
    try:
        if form.map is not None:
            values, words, decimal = *_mapped(found, form, missing_numbers), None
        else:
            values, words, decimal = _numbers(found, form, missing_numbers)
    except UnreadableError as error:
        error.at = at[error.at]
        raise
    numbers[at] = [math.nan if value in missing_numbers else value for value in values]
    return Numbers(numbers, words, decimal)


def _mapped(texts: list[str], form: Notation, missing: set[float]) -> tuple[list[float], dict[str, float]]:
    meaning, values = form.map or {}, []
    words: dict[str, float] = {}
    for k, text in enumerate(texts):
        number = plain_float(text)
        key = next((key for key in (text.casefold(), text_of(number)) if key in meaning), None)
        if key is None and number not in missing:
            raise UnreadableError(
                k, f"{text!r} is not in map; the column holds {_listed(texts)}.", _advised(texts, meaning)
            )
        values.append(math.nan if key is None else meaning[key])
        if key is not None:
            words[text.casefold()] = meaning[key]
    return values, words


def _numbers(texts: list[str], form: Notation, missing: set[float]) -> tuple[list[float], dict[str, float], str | None]:
    folded = [text.casefold() for text in texts]
    pairs = [PAIR_OF.get(text) for text in folded]
    if first := next((pair for pair in pairs if pair is not None), None):
        # A dash beside 0 and 1 is rather a missing value.
        bits = {"0": 0.0, "1": 1.0} if first is not _SIGNS else {}
        meaning = {first[0]: 1.0, first[1]: 0.0, **bits}
        strangers = [k for k, text in enumerate(folded) if text not in meaning and plain_float(text) not in missing]
        if not strangers:
            return (
                [meaning.get(text, math.nan) for text in folded],
                {text: meaning[text] for text in folded if text in first},
                None,
            )
        # Words among numbers are blamed, and numbers among words, whichever come later.
        number_first = pairs[0] is None and plain_float(texts[0]) is not None
        blamed = next(k for k, pair in enumerate(pairs) if pair) if number_first else strangers[0]
        raise UnreadableError(blamed, *_complaint(texts, blamed))
    decimal = form.decimal if form.decimal != "auto" else _separator(texts, form)
    per_cent = [text.endswith("%") for text in texts]
    values: list[float] = []
    words: dict[str, float] = {}
    for k, text in enumerate(texts):
        number = _number(text.removesuffix("%").rstrip(), decimal, form.thousands)
        if number is None:
            raise UnreadableError(k, *_complaint(texts, k))
        if not math.isfinite(number):
            raise UnreadableError(k, f"must be finite, got {number:g}.")
        if per_cent[k] != per_cent[0] and number:
            other = next(t for t, share in zip(texts, per_cent, strict=True) if share != per_cent[k])
            if k > texts.index(other):
                raise UnreadableError(
                    k, f"must be a percentage in every line or in none, got {text!r} beside {other!r}."
                )
        values.append(number / 100.0 if per_cent[k] else number)
        if per_cent[k] and len(words) < _MOST_WORDS:
            words[text] = values[-1]
    seen = "." if any("." in text for text in texts) else None
    return values, words, "," if decimal == "," else seen


def _separator(texts: list[str], form: Notation) -> str:
    """Tell what separates decimals, from all texts of a column; where that is open it is asked."""
    points = [k for k, text in enumerate(texts) if "." in text and looks_like_number(text)]
    commas = [k for k, text in enumerate(texts) if _COMMA.fullmatch(text.removesuffix("%").rstrip())]
    if points and commas:
        blamed, mark = (commas[0], ",") if points[0] < commas[0] else (points[0], ".")
        other = "." if mark == "," else ","
        raise UnreadableError(
            blamed,
            f"must be a number, got {texts[blamed]!r} where others have {other!r} before their decimals. If it stands "
            f"between thousands, say thousands={mark!r}.",
        )
    if commas:
        found = [_COMMA.fullmatch(texts[k].removesuffix("%").rstrip()) for k in commas]
        if all(m and len(m[2]) == 3 and 1 <= len(m[1]) <= 3 and m[1].strip("0") for m in found):
            raise UnreadableError(
                commas[0],
                f"must be a number, got {texts[commas[0]]!r}, whose comma may stand before decimals or between "
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
    # float() also takes "1_000"; nobody who writes that means a number.
    if "_" in text:
        return None
    if thousands is not None and thousands in text:
        whole, point, rest = text.partition(decimal)
        groups = whole.lstrip("+-").split(thousands)
        if not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:]):
            return None
        text = whole.replace(thousands, "") + point + rest
    if decimal == ",":
        if "." in text:
            return None
        text = text.replace(",", ".", 1)
    try:
        return float(text)
    except ValueError:
        return None


def _complaint(texts: list[str], at: int) -> tuple[str, str]:
    """Say what is wrong with a text, and what to do about it."""
    text = texts[at]
    if not text:
        remedy = " If that means missing, say missing=''." if any(map(looks_like_number, texts)) else ""
        return "must be a number, got ''.", remedy
    words = [word for word in texts if word and not looks_like_number(word)]
    numbers = [word for word in texts if looks_like_number(word)]
    if len(numbers) >= len(words) and not any(word.casefold() in PAIR_OF and word != "-" for word in words):
        marks = sorted(set(words)) or [text]
        few = len(marks) <= _MOST_MARKS and not any("," in word for word in marks)
        shown = repr(marks[0] if len(marks) == 1 else marks)
        return f"must be a number, got {text!r}.", f" If that means missing, say missing={shown}." if few else ""
    return f"must be a number, got {text!r}; the column holds {_listed(words)}.", _advised(texts, {})


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
    """Guess a number for each answer: its own ("2 - disagree"), its place among words of grades, yes and no.

    Examples
    --------
    >>> grades_of(["agree", "disagree", "strongly agree"])
    {'agree': 2.0, 'disagree': 1.0, 'strongly agree': 3.0}
    >>> grades_of(["1 - no way", "2: fine"])
    {'1 - no way': 1.0, '2: fine': 2.0}
    """
    folded = [word.casefold() for word in words]
    numbered = [_NUMBERED.fullmatch(word) for word in folded]
    if all(numbered):
        return {word: float(found[1]) for word, found in zip(words, numbered, strict=True) if found}
    for grades in _GRADES:
        if len(set(folded)) > 1 and set(folded) <= set(grades):
            order = sorted(set(folded), key=grades.index)
            return {word: float(order.index(text) + 1) for word, text in zip(words, folded, strict=True)}
    pairs = [PAIR_OF.get(text) for text in folded]
    return {
        word: plain_float(word) if pair is None else float(text == pair[0])
        for word, text, pair in zip(words, folded, pairs, strict=True)
    }


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
