"""What a reader may be told, checked once; each option is said in `kolmogorov.read_ratings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kolmogorov.data.scale import ScaleRequest
from kolmogorov.data.values import (
    Notation,
)
from kolmogorov.errors import ParameterError

_WORDS = {
    "header": (True, False, "auto"),
    "wide": (True, False),
    "implicit": (True, False),
    "scaling": ("auto", "max", "minmax"),
    "scale": ("table", "column"),
    "duplicates": ("error", "mean", "last"),
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a reader is told, checked; each is said in `kolmogorov.read_ratings`.

    Examples
    --------
    >>> Reading(map={"Yes": 1, "No": 0}, missing=99, maximum=1).to_dict()
    {'map': {'yes': 1.0, 'no': 0.0}, 'missing': ['99'], 'maximum': 1}
    """

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
    minimum: float | None = None
    maximum: float | None = None
    scaling: str = "auto"
    scale: str = "table"
    duplicates: str = "error"
    encoding: str = "auto"
    titles: Any = None
    #: Names that columns had in another file; they go before usual ones, where there are any such columns.
    known: Mapping[str, Any] = field(default_factory=dict, repr=False)
    notation: Notation = field(init=False, repr=False, compare=False)
    request: ScaleRequest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            if not any(getattr(self, name) is word or getattr(self, name) == word != 1 for word in words):
                shown = ", ".join(map(repr, words))
                raise ParameterError(f"{name} must be one of {shown}, got {getattr(self, name)!r}.")
        for name in ("sep", "encoding"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise ParameterError(f"{name} must be a text, got {getattr(self, name)!r}.")
        role = next((role for role in ("item", "value", "weight") if getattr(self, role) is not None), None)
        if self.wide and role:
            raise ParameterError(f"In a wide table every column but the user's is an item. Leave out {role}=.")
        if self.wide and self.implicit:
            raise ParameterError("implicit=True is for a list of pairs; a wide table has a value in each cell.")
        for name in ("keep", "ignore"):
            given = getattr(self, name)
            columns = given if given is None else (given,) if isinstance(given, (str, int)) else tuple(given)
            if columns and not self.wide:
                raise ParameterError(f"{name} goes only with a wide table. A list ignores other columns anyway.")
            object.__setattr__(self, name, columns)
        object.__setattr__(self, "notation", Notation.of(self.map, self.missing, self.decimal, self.thousands))
        object.__setattr__(self, "request", ScaleRequest(self.minimum, self.maximum, self.scaling))

    @property
    def asked(self) -> dict[str, Any]:
        """The columns by role."""
        return {role: getattr(self, role) for role in ("user", "item", "value", "weight")}

    @property
    def merging(self) -> str:
        """What is done with several values of a pair; clicks are repeated as a matter of course, and count once."""
        return "mean" if self.implicit and self.duplicates == "error" else self.duplicates

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as plain values, for a file; titles are no part of it."""
        defaults = {option.name: option.default for option in fields(self) if option.init}
        given = {name: getattr(self, name) for name in defaults if name not in ("titles", "known")}
        given |= {"map": self.notation.map, "missing": list(self.notation.missing) or ()}
        given |= {"ignore": list(self.ignore) or (), "keep": None if self.keep is None else list(self.keep)}
        return {name: value for name, value in given.items() if value != defaults[name]}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any], given: Mapping[str, Any]) -> Reading:
        """Return the options of a recipe, over which those given go; its columns are looked for by name, not asked for.

        Examples
        --------
        >>> told = Reading.of_recipe({"user": "Who", "decimal": ","}, {"sep": ";"})
        >>> told.user, dict(told.known), told.decimal, told.sep
        (None, {'user': 'Who'}, ',', ';')
        """
        known = {role: recipe[role] for role in ("user", "item", "value") if isinstance(recipe.get(role), str)}
        names = {option.name for option in fields(cls) if option.init}
        return cls(**{k: v for k, v in recipe.items() if k in names and k not in known} | dict(given), known=known)
