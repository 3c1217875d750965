"""What is said of a column of values before it is looked at: what words mean, and how numbers are written."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.validation import is_finite
from kolmogorov._support.wording import named
from kolmogorov.errors import ParameterError

#: Words that go together, yes first; capitals do not matter.
_SIGNS = ("+", "-")
_PAIRS = [("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), _SIGNS, ("like", "dislike")]
_PAIRS += [("ja", "nein"), ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux")]
#: The two words that a word is one of.
PAIR_OF = {word: pair for pair in _PAIRS for word in pair}
#: Pairs that may stand beside 0 and 1: a dash beside them is rather a missing value.
AMONG_BITS = frozenset(_PAIRS) - {_SIGNS}
#: Words that no column is called by.
_NEVER_NAMES = frozenset(("yes", "no", "true", "false", "ja", "nein", "wahr", "falsch", "oui", "non"))


@dataclass(frozen=True)
class Notation:
    """What is said about the column of values before it is looked at."""

    #: What each value means, in small letters; where this is said, there may be no others.
    meaning: Mapping[str, float] | None = None
    #: What stands for a missing value; "" also for the empty cells of frames.
    missing: tuple[str, ...] = ()
    decimal: str = "auto"
    #: A character between groups of three digits.
    thousands: str | None = None

    @classmethod
    def of(cls, meaning: Any = None, missing: Any = (), decimal: str = "auto", thousands: Any = None) -> Notation:
        """Check what people hand in.

        Examples
        --------
        >>> Notation.of({"Yes": 1, "No": 0}, missing=99)
        Notation(meaning={'yes': 1.0, 'no': 0.0}, missing=('99',), decimal='auto', thousands=None)
        """
        if thousands is not None:
            name = named("thousands")
            if not isinstance(thousands, str) or len(thousands) != 1 or thousands.isalnum() or thousands in "+-":
                raise ParameterError(name + f" must be one character that is no digit, got {thousands!r}.")
            point = ("," if thousands == "." else ".") if decimal == "auto" else decimal
            if thousands == point:
                raise ParameterError(name + " and " + named("decimal") + f" cannot both be {thousands!r}.")
            decimal = point
        return cls(None if meaning is None else _checked_map(meaning), _checked_missing(missing), decimal, thousands)

    def begins(self, first: str, second: str) -> bool:
        """Tell whether the first of two fields is a value as well, and not the name of a column above the second.

        Examples
        --------
        >>> form = Notation()
        >>> form.begins("yes", "no"), form.begins("like", "yes"), form.begins("rating", "yes"), form.begins("yes", "1")
        (True, False, False, True)
        """
        one, other = first.strip().casefold(), second.strip().casefold()
        if first.strip() in self.missing or self.meaning is not None:
            return first.strip() in self.missing or one in (self.meaning or {})
        if one in _NEVER_NAMES:
            return True
        return one in PAIR_OF and (not other or second.strip() in self.missing or PAIR_OF[one] == PAIR_OF.get(other))


def _checked_map(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(named("map") + f" must give a number for each value, got {given!r}.")
    found: dict[str, float] = {}
    for key, number in given.items():
        if isinstance(number, (str, bytes)) or not isinstance(number, numbers.Real) or not is_finite(number):
            raise ParameterError(
                named("map") + f" must give a finite number for each value, got {number!r} for {key!r}."
            )
        text = text_of(key).casefold()
        if found.setdefault(text, float(number)) != float(number):
            raise ParameterError(named("map") + f" gives two numbers for {text!r}; capitals make no difference.")
    return found


def _checked_missing(given: Any) -> tuple[str, ...]:
    marks = (given,) if isinstance(given, (str, numbers.Real)) else given
    if not isinstance(marks, Iterable) or not all(isinstance(mark, (str, numbers.Real)) for mark in marks):
        raise ParameterError(named("missing") + f" must be texts that stand for a missing value, got {given!r}.")
    return tuple(dict.fromkeys(text_of(mark) for mark in marks))


def text_of(value: Any) -> str:
    """Write a value as a file would hold it."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and is_finite(value):
        return str(int(float(value))) if float(value).is_integer() else str(value)
    return str(value)
