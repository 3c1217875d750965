"""What a reader is told (`Reading`), and what it tells of a file or a frame (`Provenance`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from numbers import Real
from typing import Any

from kolmogorov._support.validation import AUTO, BOOLEAN, Requirement, check_parameters, is_finite, one_of
from kolmogorov.data.scale import Terms
from kolmogorov.data.values import Notation, text_of
from kolmogorov.errors import InvariantError, ParameterError

ROLES = ("user", "item", "value")
_TEXT = Requirement("a text", lambda value: isinstance(value, str) and bool(value))
_MAP = Requirement("None or a number for each value", lambda given: given is None or isinstance(given, Mapping))
_MARKS = Requirement("texts or numbers", lambda marks: all(isinstance(mark, (str, Real)) for mark in _several(marks)))
_RULES = {"sep": _TEXT, "encoding": _TEXT, "header": BOOLEAN | AUTO, "wide": BOOLEAN, "implicit": BOOLEAN, "map": _MAP}
_RULES |= {"decimal": one_of(("auto", ".", ",")), "scale": one_of(("table", "column")), "missing": _MARKS}


def _several(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


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
    ignore: Any = ()
    implicit: bool = False
    map: Mapping[Any, float] | None = None
    missing: Any = ()
    decimal: str = "auto"
    scale: str = "table"
    encoding: str = "auto"
    titles: Any = None
    #: Columns of another file; they go before those with usual names, where there are any such.
    known: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameters("Reading", vars(self), _RULES)
        if self.map is not None and not self.map:
            raise ParameterError("map must give a number for each value, got none.")
        meanings: dict[str, float] = {}
        for key, number in (self.map or {}).items():
            text = text_of(key).casefold()
            if isinstance(number, str) or not is_finite(number) or meanings.setdefault(text, number) != number:
                said = (
                    f"map must give a finite number for each value, whatever its capitals, got {number!r} for {key!r}."
                )
                raise ParameterError(said)
        role = next((role for role in ("item", "value", "weight") if self.asked[role] is not None), None)
        if self.wide and role:
            raise ParameterError(f"In a wide table every column but the user's is an item. Leave out {role}=.")
        if self.wide and self.implicit:
            raise ParameterError("implicit=True is for a list of pairs; a wide table has a value in each cell.")
        ignore, missing = _several(self.ignore), tuple(dict.fromkeys(map(text_of, _several(self.missing))))
        if ignore and not self.wide:
            raise ParameterError("ignore goes only with a wide table. A list ignores other columns anyway.")
        vars(self).update(map=meanings or None, missing=missing, ignore=ignore)

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
        return Notation(self.map, ("", *self.missing) if self.wide else self.missing, self.decimal)

    @property
    def recipe(self) -> dict[str, Any]:
        """What differs from the defaults, as plain values for a file, but for the scale and titles."""
        options = {option.name: option.default for option in fields(self)}
        for name in ("titles", "known", "minimum", "maximum", "scaling"):
            del options[name]
        changed = {name: getattr(self, name) for name, default in options.items() if getattr(self, name) != default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any], given: Mapping[str, Any]) -> Reading:
        """Return the options of a recipe, over which those given go; its columns are looked for, not asked for."""
        sure = {role for role in ROLES if isinstance(recipe.get(role), str)} | ({"weight"} & recipe.keys())
        known = {role: recipe[role] for role in sure}
        return cls(**{name: part for name, part in recipe.items() if name not in known} | dict(given), known=known)


@dataclass(frozen=True, repr=False)
class Provenance:
    """What was understood of a file or a frame that observations were read from."""

    #: The name of the column of each role; the columns not used; the sentences that say it all.
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    #: Words, and the numbers that they became.
    words: Mapping[str, float] = field(default_factory=dict)
    #: The options of `kolmogorov.read_ratings` that read the next file the same way.
    recipe: Mapping[str, Any] = field(default_factory=dict)
    #: The file's name without its ending, or the dataset's; who made it and under which licence, where that is said.
    name: str = ""
    credit: str = ""

    def label(self, rating: float) -> str | None:
        """Return the word that a rating was read from, or None; of several words the first."""
        return next((word for word, number in self.words.items() if abs(number - rating) < 1e-6), None)

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for a file or for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Provenance:
        """Return what `to_dict` gave, which may come from a file that anybody made."""
        kinds = {name: type(empty) for name, empty in asdict(cls()).items()}
        if not isinstance(stored, dict) or {name: type(part) for name, part in stored.items()} != kinds:
            raise InvariantError("the source has a strange part")
        if not all(isinstance(t, str) for t in (*stored["columns"].values(), *stored["ignored"], *stored["lines"])):
            raise InvariantError("columns and lines of the source must be texts")
        if not all(type(number) in (int, float) and is_finite(number) for number in stored["words"].values()):
            raise InvariantError("words of the source must have finite numbers")
        # The next file is read by it.
        Reading.of_recipe(stored["recipe"], {})
        return cls(**stored)
