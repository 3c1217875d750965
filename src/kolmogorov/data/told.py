"""What a reader is told (`Reading`), and what it tells of a file or a frame (`Provenance`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from numbers import Real
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import AUTO, BOOLEAN, Requirement, check_parameters, is_finite, one_of
from kolmogorov.data.scale import Terms
from kolmogorov.data.values import Notation, text_of
from kolmogorov.errors import InvariantError, ParameterError

ROLES = ("user", "item", "value")
_TEXT = Requirement("a text", lambda value: isinstance(value, str) and bool(value))
_RULES = {"sep": _TEXT, "encoding": _TEXT, "header": BOOLEAN | AUTO, "wide": BOOLEAN, "implicit": BOOLEAN}
_RULES |= {"decimal": one_of(("auto", ".", ",")), "scale": one_of(("table", "column"))}
#: Names of columns and words that a sentence lists.
_MOST_LISTED = 8
_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", "::": "::", "whitespace": "blanks"}
_DONE = {"mean": "their mean taken", "last": "the last kept", "once": "counted once"}


@dataclass(frozen=True, kw_only=True)
class Reading(Terms):
    """The options of `read_ratings`, where each is explained, checked."""

    user: Any = None
    item: Any = None
    value: Any = None
    weight: Any = None
    sep: str = "auto"
    header: bool | str = "auto"
    wide: bool = False
    keep: Any = None
    ignore: Any = ()
    implicit: bool = False
    map: Mapping[Any, float] | None = None
    missing: Any = ()
    decimal: str = "auto"
    thousands: str | None = None
    scale: str = "table"
    encoding: str = "auto"
    titles: Any = None
    #: Names that columns had in another file; they go before usual ones, where there are any such columns.
    known: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameters("Reading", vars(self), _RULES)
        mark, marks, given = self.thousands, self.missing, self.map
        if mark is not None and not (isinstance(mark, str) and len(mark) == 1 and not mark.isalnum() and mark != "-"):
            raise ParameterError(f"thousands must be one character that is no digit, got {mark!r}.")
        if mark == self.decimal:
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
        vars(self).update(map=meanings or None, missing=tuple(dict.fromkeys(map(text_of, marks))))
        role = next((role for role in ("item", "value", "weight") if self.asked[role] is not None), None)
        if self.wide and role:
            raise ParameterError(f"In a wide table every column but the user's is an item. Leave out {role}=.")
        if self.wide and self.implicit:
            raise ParameterError("implicit=True is for a list of pairs; a wide table has a value in each cell.")
        for name in ("keep", "ignore"):
            chosen = getattr(self, name)
            several = isinstance(chosen, Iterable) and not isinstance(chosen, str)
            vars(self)[name] = tuple(chosen) if several else chosen if chosen is None else (chosen,)
            if getattr(self, name) and not self.wide:
                raise ParameterError(f"{name} goes only with a wide table. A list ignores other columns anyway.")

    @property
    def asked(self) -> dict[str, Any]:
        """The columns by role."""
        return {role: getattr(self, role) for role in (*ROLES, "weight")}

    @property
    def merging(self) -> str:
        """What is done with repeated pairs: clicks are repeated as a matter of course, and count once."""
        return "mean" if self.implicit and self.duplicates == "error" else self.duplicates

    @property
    def notation(self) -> Notation:
        """How values are written; a cell of a wide table may be empty."""
        missing = ("", *self.missing) if self.wide else self.missing
        return Notation(self.map, missing, self.decimal, self.thousands)

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as plain values, for a file; titles are no part of it."""
        options = {option.name: option.default for option in fields(self) if option.name not in ("titles", "known")}
        changed = {name: getattr(self, name) for name, default in options.items() if getattr(self, name) != default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any], given: Mapping[str, Any]) -> Reading:
        """Return the options of a recipe, over which those given go; its columns are looked for, not asked for."""
        known = {role: recipe[role] for role in ROLES if isinstance(recipe.get(role), str)}
        if "weight" in recipe:
            known["weight"] = recipe["weight"]
        names = {option.name for option in fields(cls)} - known.keys() - {"known"}
        return cls(**{name: recipe[name] for name in names if name in recipe} | dict(given), known=known)


@dataclass(frozen=True, repr=False)
class Provenance:
    """What was understood of a file or a frame that observations were read from."""

    #: The name of the column of each role; the columns not used.
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    #: How a text file is written; what stands before decimals, where there are any.
    separator: str = ""
    header: bool = False
    encoding: str = ""
    decimal: str = ""
    #: Words, and the numbers that they became; the ratings, such as "1 to 5 by 0.5"; how they become probabilities.
    words: Mapping[str, float] = field(default_factory=dict)
    points: str = ""
    scale: str = ""
    #: Records read, values left out as missing, records of a pair that had one before, and what was done with these.
    n_records: int = 0
    n_missing: int = 0
    n_repeats: int = 0
    duplicates: str = "error"
    #: The options of `kolmogorov.read_ratings` that read the next file the same way.
    recipe: Mapping[str, Any] = field(default_factory=dict)
    #: The file's name without its ending, or the dataset's; who made it and under which licence, where that is said.
    name: str = ""
    credit: str = ""

    def label(self, rating: float) -> str | None:
        """Return the word that a rating was read from, or None; of several words the first."""
        return next((word for word, number in self.words.items() if abs(number - rating) < 1e-6), None)

    def lines(self) -> list[str]:
        """Return the sentences that say it."""
        if not self.columns:
            return []
        used = ", ".join(f"{role} = {column}" for role, column in self.columns.items())
        said = [f"Columns: {used}.{f' Not used: {_listed(self.ignored)}.' if self.ignored else ''}"]
        if self.separator:
            written = [f"separator {_SEPARATORS.get(self.separator, self.separator)}"]
            written.append("with header" if self.header else "no header")
            written += [f"decimal {'comma' if self.decimal == ',' else 'point'}"] if self.decimal else []
            said.append(f"File: {', '.join(written)}, encoding {self.encoding}.")
        if self.words:
            meant = sorted(self.words.items(), key=lambda pair: -pair[1])
            said.append(f"Words: {_listed([f'{word} = {number:g}' for word, number in meant])}.")
        repeats = f", {self.n_repeats:,} repeated ({_DONE.get(self.duplicates)})" if self.n_repeats else ""
        read = f"{self.n_records:,} read, {self.n_missing:,} missing{repeats}."
        return [*said, f"Ratings: {self.points}, {self.scale}. {read}"]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for a file or for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Provenance:
        """Return what `to_dict` gave, which may come from a file that anybody made."""
        kinds = {name: type(empty) for name, empty in asdict(cls()).items()}
        if not isinstance(stored, dict) or {name: type(part) for name, part in stored.items()} != kinds:
            raise InvariantError("the source has a strange part")
        if not all(isinstance(text, str) for text in (*stored["columns"].values(), *stored["ignored"])):
            raise InvariantError("columns of the source must be texts")
        if not all(type(number) in (int, float) and is_finite(number) for number in stored["words"].values()):
            raise InvariantError("words of the source must have finite numbers")
        # The next file is read by it.
        Reading.of_recipe(stored["recipe"], {})
        return cls(**stored)


def points_of(found: Floats, low: float, high: float) -> str:
    """Say which ratings there are, from the distinct ones; none where they are too many."""
    said = f"{low:g} to {high:g}" if low != high else f"{low:g}"
    # The step is the largest of these that all ratings are multiples of, counted from the smallest.
    for step in (1.0, 0.5, 0.25, 0.1) if found.size > 1 else ():
        steps = (found - low) / step
        if np.allclose(steps, np.rint(steps), atol=1e-9):
            return f"{said} by {step:g}"
    return said


def _listed(names: Any) -> str:
    """Name the first few, and count the others."""
    more = len(names) - _MOST_LISTED
    return ", ".join(map(str, names[:_MOST_LISTED])) + (f" and {more:,} more" if more > 0 else "")
