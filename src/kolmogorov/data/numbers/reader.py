"""Values as numbers, whatever they are written as: each distinct text is read once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import Message, Option, advice, named, option
from kolmogorov.data.numbers.columns import Place, column_of, in_array, numbers_of
from kolmogorov.data.numbers.notation import AMONG_BITS, PAIR_OF, Notation, text_of
from kolmogorov.errors import DataError

#: Words that an error lists. By judgement.
_MOST_WORDS = 12
#: Stray words among numbers that may all mean missing. By judgement.
_MOST_MARKS = 3
#: Written where only the user knows the number.
_PLACEHOLDER = "NUMBER"
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_COMMA_NUMBER = re.compile(r"[+-]?(\d*),(\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class _UnreadableError(ValueError):
    """A text that no number can be made of, with what to say beside that."""


class Marks:
    """What stands before decimals, once it is known; columns of one table share it."""

    def __init__(self, decimal: str = "auto") -> None:
        self.point = None if decimal == "auto" else decimal


class NumberReader(dict[str, float]):
    """Numbers by their text. Ratings repeat a few texts a million times, so each text is parsed once.

    What was found in one text, as that commas stand before decimals, holds for those that come later; the reader of a
    column sees all of it. `what` is what errors call the column; with `fixed` the caller has no say in how values are
    read, and errors advise on none. The columns of a table share their `marks`.

    Examples
    --------
    >>> NumberReader(Notation.of(missing="NA")).read(["Yes", "NO", "NA"])
    array([ 1.,  0., nan])
    """

    #: Texts that are remembered, so that memory does not grow with a column of measurements. By judgement.
    _LIMIT = 200_000

    def __init__(
        self, notation: Notation, what: str = "value", *, fixed: bool = False, marks: Marks | None = None
    ) -> None:
        super().__init__()
        self._fixed = fixed or what != "value"
        self._notation, self.what = notation, what
        self._missing = set(notation.missing)
        self._missing_numbers = {number for mark in notation.missing if (number := _plain_float(mark)) is not None}
        self.marks = marks or Marks(notation.decimal)
        self._pair: tuple[str, str] | None = None
        #: A number that is neither 0 nor 1, one that is, one in percent, one in three digits, one such as 1.000.
        self._number: str | None = None
        self._bit: str | None = None
        self._percent: str | None = None
        self._hundreds: str | None = None
        self._grouped: str | None = None
        #: Words that were read, and the numbers that they became.
        self.words: dict[str, float] = {}

    @property
    def skips_empty(self) -> bool:
        """Whether an empty cell is a missing value instead of an error."""
        return "" in self._missing

    @property
    def has_numbers(self) -> bool:
        """Whether some number or some word that means yes or no was read."""
        return any(seen is not None for seen in (self._number, self._bit, self._pair))

    @property
    def skips(self) -> bool:
        """Whether some values are missing, which `read` gives as NaN."""
        return bool(self._missing)

    def __missing__(self, text: str) -> float:
        self[text] = number = self._parsed(text.strip())
        return number

    def read(self, column: Sequence[str], place: Place = in_array) -> Floats:
        """Return the numbers of texts, NaN where they are missing; `place` names one that is none."""
        if len(self) > self._LIMIT:
            self.clear()
        try:
            return np.fromiter(map(self.__getitem__, column), dtype=np.float64, count=len(column))
        except ValueError:
            for offset, text in enumerate(column):
                try:
                    self[text]
                except ValueError as error:
                    complaint = self._complaint(text, column, error)
                    raise DataError(f"{place(offset)}: {self.what} " + complaint) from None
            raise

    def of_array(self, raw: Any, place: Place) -> Floats:
        """Return the numbers of an array of texts or of numbers, NaN where they are missing."""
        array = column_of(raw, f"The {self.what}s", "a one-dimensional array of numbers", place)
        texts = array.dtype.kind in "UT" or (array.dtype == object and any(isinstance(x, str) for x in array.tolist()))
        if texts:
            return self.read([self._cell(cell) for cell in array.tolist()], place)
        if self._notation.meaning is not None:
            distinct, codes = np.unique(numbers_of(array, self.what, place), return_inverse=True)
            written = (
                [str(bool(x)) for x in distinct] if array.dtype == bool else [text_of(x) for x in distinct.tolist()]
            )
            return self.read(written, lambda code: place(int(np.argmax(codes == code))))[codes]
        if self.skips_empty and array.dtype == object:
            array = np.array([np.nan if cell is None else cell for cell in array.tolist()], dtype=object)
        found = numbers_of(array, self.what, place)
        if not self.skips_empty and (strange := np.isnan(found)).any():
            at = place(int(np.argmax(strange)))
            raise DataError(f"{at}: {self.what} must be finite, got nan." + self._skipping(""))
        marks = list(self._missing_numbers)
        return np.where(np.isin(found, marks), np.nan, found) if marks else found

    def _cell(self, cell: Any) -> str:
        """Write a cell of a column of texts; what is no text stays recognisable."""
        if cell is None or (isinstance(cell, float) and np.isnan(cell)):
            return "" if self.skips_empty else str(cell)
        return cell if isinstance(cell, str) else text_of(cell)

    # --- one text ---------------------------------------------------------------------------------------------------

    def _parsed(self, text: str) -> float:
        if text in self._missing:
            return math.nan
        if self._notation.meaning is not None:
            return self._meant(text)
        pair = PAIR_OF.get(text.casefold())
        number = self._as_number(text) if pair is None else float(text.casefold() == pair[0])
        if number in self._missing_numbers:
            return math.nan
        if math.isnan(number):
            raise _UnreadableError(f"must be finite, got {number:g}.")
        if pair is not None:
            among_bits = pair in AMONG_BITS
            if self._number is not None or self._pair not in (None, pair) or (self._bit and not among_bits):
                _unreadable()
            self._pair = pair
            self.words[text.casefold()] = number
        elif number not in (0.0, 1.0):
            if self._pair is not None:
                _unreadable()
            self._number = text
        else:
            if self._pair is not None and self._pair not in AMONG_BITS:
                _unreadable()
            self._bit = text
        return number

    def _meant(self, text: str) -> float:
        """Look a text up in the map, as it stands or as the number that it is."""
        meaning, number = self._notation.meaning or {}, _plain_float(text)
        for key in (text.casefold(), "" if number is None else text_of(number)):
            if key and key in meaning:
                self.words[text.casefold()] = meaning[key]
                return meaning[key]
        return math.nan if number in self._missing_numbers else _unreadable()

    def _as_number(self, text: str) -> float:
        # float() also takes "1_000"; nobody who writes that means a number.
        if "_" in text:
            _unreadable()
        if text.endswith("%"):
            return self._as_percentage(text)
        if self._percent is not None and _plain_float(text.replace(",", ".")) not in (None, 0.0):
            raise _UnreadableError(_percents(text, self._percent))
        plain = text
        if self._notation.thousands is not None and self._notation.thousands in text:
            whole, point, rest = text.partition(self.marks.point or ".")
            groups = whole.lstrip("+-").split(self._notation.thousands)
            if not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:]):
                _unreadable()
            plain = whole.replace(self._notation.thousands, "") + point + rest
        if "," in plain:
            plain = self._with_point(plain)
        elif "." in plain:
            if self.marks.point == ",":
                raise _UnreadableError(_decimals(text, "."))
            self.marks.point = "."
        number = float(plain)
        if self._notation.decimal == "auto" and self._notation.thousands is None:
            self._refuse_thousands(text)
        return number

    def _as_percentage(self, text: str) -> float:
        """Read 50% as 0.5; a column is in percent or it is not."""
        if self._percent is None and (other := self._number or (self._bit if self._bit != "0" else None)):
            raise _UnreadableError(_percents(text, other))
        number = self._as_number(text[:-1].rstrip()) if self._percent is None else self._one_of_percents(text)
        self._percent = text
        if len(self.words) < _MOST_WORDS:
            self.words[text] = number / 100.0
        return number / 100.0

    def _one_of_percents(self, text: str) -> float:
        """Read the number of a percentage after others."""
        before, self._percent = self._percent, None
        try:
            return self._as_number(text[:-1].rstrip())
        finally:
            self._percent = before

    def _refuse_thousands(self, text: str) -> None:
        """Refuse 1.000 beside 900: its point may stand between thousands."""
        if _GROUPED.fullmatch(text):
            self._grouped = self._grouped or text
        elif len(text.lstrip("+-")) == 3 and text.lstrip("+-").isdigit():
            self._hundreds = self._hundreds or text
        if self._grouped is not None and self._hundreds is not None:
            raise _UnreadableError(
                f"is {self._grouped!r} in one place and {self._hundreds!r} in another, so the point may stand before "
                "decimals or between thousands."
                + advice("Say {} or {}.", option("decimal", "."), option("thousands", "."))
            )

    def _with_point(self, text: str) -> str:
        """Write a decimal comma as a point, if that is what a comma surely is."""
        found = _COMMA_NUMBER.fullmatch(text)
        if found is None:
            _unreadable()
        elif self.marks.point == ".":
            raise _UnreadableError(_decimals(text, ","))
        elif self.marks.point is None and len(found[2]) == 3 and 1 <= len(found[1]) <= 3 and found[1].strip("0"):
            comma, group = option("decimal", ","), option("thousands", ",")
            raise _UnreadableError(
                f"must be a number, got {text!r}, whose comma may stand before decimals or between thousands."
                + advice("Say {} or {}.", comma, group)
            )
        self.marks.point = ","
        return text.replace(",", ".")

    # --- what is said of one that is none ---------------------------------------------------------------------------

    def _complaint(self, text: str, column: Sequence[str], error: ValueError) -> str | Message:
        if isinstance(error, _UnreadableError) and error.args:
            return error.args[0]  # type: ignore[no-any-return]
        if not text.strip() or self.what != "value":
            empty = not text.strip() and (self.has_numbers or self._some_number(column))
            return f"must be a number, got {text!r}." + (self._skipping("") if empty else "")
        words = self._words(text, column)
        if self._notation.meaning is None and (stray := self._stray(words, column)):
            few = len(stray) <= _MOST_MARKS and not any("," in word for word in stray)
            came = f"must be a number, got {text!r}" if text.strip() in stray else f"is {stray[0]!r} beside {text!r}"
            return f"{came}." + (self._skipping(*stray) if few else "")
        shown = ", ".join(map(repr, words[:_MOST_WORDS])) + (", ..." if len(words) > _MOST_WORDS else "")
        remedy = self._mapping(words, column) if len(words) <= _MOST_WORDS else ""
        if self._notation.meaning is not None:
            return f"{text!r} is not in " + named("map") + f"; the column holds {shown}." + remedy
        return f"must be a number, got {text!r}; the column holds {shown}." + remedy

    def _stray(self, words: list[str], column: Sequence[str]) -> list[str]:
        """Return the words of a column that holds numbers for the most part, and none that means yes or no."""
        stray = [word for word in words if not looks_like_number(word)]
        if 2 * sum(map(looks_like_number, column)) < len(column):
            return []
        return [] if any(word.casefold() in PAIR_OF and word != "-" for word in stray) else stray

    def _some_number(self, column: Sequence[str]) -> bool:
        return any(map(looks_like_number, column))

    def _words(self, text: str, column: Sequence[str]) -> list[str]:
        """Return the distinct texts so far that are no numbers, or all where a map was given, in order."""
        texts = {found.strip() for found in (*self, *column)} - self._missing - {""}
        if self._notation.meaning is None:
            texts = {found for found in texts if _plain_float(found.replace(",", ".")) is None} | {text.strip()}
        folded = {found.casefold(): found for found in sorted(texts)}
        return [folded[key] for key in sorted(folded)]

    def _mapping(self, words: list[str], column: Sequence[str]) -> str | Message:
        """Advise on the map to write; where only the user knows what a word means, a placeholder stands for it."""
        if (known := self._notation.meaning) is None:
            numbers = sorted({text.strip() for text in column if looks_like_number(text)} - self._missing)
            words = sorted({*words, *numbers[:_MOST_WORDS]}, key=str.casefold)
            known = {} if numbers else {word.casefold(): meant for word in words if (meant := _guess(word)) is not None}
        guessed = {word: _written(known.get(word.casefold())) for word in words}
        python = "map={" + ", ".join(f"{word!r}: {number}" for word, number in guessed.items()) + "}"
        shell = ",".join(f"{word}={number}" for word, number in guessed.items())
        return "" if self._fixed else advice("Say what each means: {}.", Option("map", python, shell))

    def _skipping(self, *words: str) -> str | Message:
        given = (
            option("missing", words[0])
            if len(words) == 1
            else Option("missing", f"missing={[*words]}", ",".join(words))
        )
        return "" if self._fixed else advice("If that means missing, say so with {}.", given)


def _guess(word: str) -> float | None:
    pair = PAIR_OF.get(word.casefold())
    return _plain_float(word) if pair is None else float(word.casefold() == pair[0])


def _written(number: float | None) -> str:
    return _PLACEHOLDER if number is None else f"{number:g}"


def looks_like_number(text: str) -> bool:
    """Tell whether a text is a number for the most part, whatever its decimals."""
    return _plain_float(text.strip().rstrip("%").replace(",", ".")) is not None


def _plain_float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _unreadable() -> Any:
    raise _UnreadableError


def _percents(text: str, other: str) -> str:
    return f"must be a percentage in every line or in none, got {text!r} beside {other!r}."


def _decimals(text: str, mark: str) -> Message:
    other = "," if mark == "." else "."
    return f"must be a number, got {text!r} where others have {other!r} before their decimals." + advice(
        "If it stands between thousands, say {}.", option("thousands", mark)
    )
