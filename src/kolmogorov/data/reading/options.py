"""What a reader may be told about ratings: every option once, with its type, its default and what it must be.

Functions that read take some of them as keyword arguments, and hand them on as one `ReadingOptions`. What each means
is said in `kolmogorov.read_ratings`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, TypedDict, TypeVar

from kolmogorov._support.validation import Boolean, Either, OneOf, Requirement, Text, Word, check_parameters, suggestion
from kolmogorov._support.wording import named
from kolmogorov.data.entries.entries import Duplicates
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.scale import ScaleRequest
from kolmogorov.errors import ParameterError

#: A column by its name or by its position from 0; None lets the reader choose, and means no weight.
Column = str | int | None
F = TypeVar("F", bound=Callable[..., Any])


class ArrayKeywords(TypedDict, total=False):
    """Options of arrays."""

    minimum: float | None
    maximum: float | None
    scaling: str
    duplicates: Duplicates


class FrameKeywords(ArrayKeywords, total=False):
    """Options of frames, beside the columns that are positional there."""

    weight: Any
    map: Mapping[Any, float] | None
    missing: Any
    decimal: str
    thousands: str | None


class NamedFrameKeywords(FrameKeywords, total=False):
    """Options of a frame in memory, whatever its shape."""

    wide: bool
    keep: Any
    ignore: Any
    only_yes: bool


class TableKeywords(FrameKeywords, total=False):
    """Options of tables that know the names of their columns."""

    user: Column
    item: Column
    value: Column


class ReadingKeywords(TableKeywords, total=False):
    """Options of files: all of them."""

    sep: str
    header: bool | str
    wide: bool
    keep: Any
    ignore: Any
    only_yes: bool
    encoding: str
    titles: Any


_REQUIREMENTS: dict[str, Requirement] = {
    "sep": Text("a separator, 'whitespace' or 'auto'"),
    "header": Either(Boolean(), Word("auto")),
    "wide": Boolean(),
    "only_yes": Boolean(),
    "decimal": OneOf(("auto", ".", ",")),
    "scaling": OneOf(("auto", "max", "minmax")),
    "duplicates": OneOf(("error", "mean", "last")),
    "encoding": Text("the name of an encoding"),
}


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """All options of a reader, checked when they are put together.

    Examples
    --------
    >>> options = ReadingOptions(map={"Yes": 1, "No": 0}, missing=99, maximum=1)
    >>> options.to_dict()
    {'map': {'yes': 1.0, 'no': 0.0}, 'missing': ['99'], 'maximum': 1}
    >>> ReadingOptions(**options.to_dict()).notation == options.notation
    True
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
    only_yes: bool = False
    map: Mapping[Any, float] | None = None
    missing: Any = ()
    decimal: str = "auto"
    thousands: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    scaling: str = "auto"
    duplicates: Duplicates = "error"
    encoding: str = "auto"
    titles: Any = None
    #: Columns that are found by these names, where there are any such, before they are by the usual ones.
    known_names: Mapping[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    #: How numbers and words are written.
    notation: Notation = field(init=False, repr=False, compare=False)
    #: What is said about the scale.
    scale_request: ScaleRequest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters("Observations", vars(self), _REQUIREMENTS)
        others = [role for role, column in self.columns.items() if role != "user" and column is not None]
        if self.wide and others:
            raise ParameterError(
                "In a wide table every column but the user's is an item. Leave out " + named(others[0]) + "."
            )
        for name in ("keep", "ignore"):
            given = getattr(self, name)
            if given is not None and not self.wide and _names(given, name):
                raise ParameterError(named(name) + " goes only with a wide table. A list ignores other columns anyway.")
            object.__setattr__(self, name, None if given is None else _names(given, name))
        if self.wide and self.only_yes:
            raise ParameterError(named("only_yes") + " is for a list of pairs; a wide table has a value in each cell.")
        notation = Notation.of(self.map, self.missing, self.decimal, self.thousands)
        object.__setattr__(self, "notation", notation)
        object.__setattr__(self, "scale_request", ScaleRequest(self.minimum, self.maximum, self.scaling))

    @property
    def columns(self) -> dict[str, Any]:
        """The columns by role."""
        return {"user": self.user, "item": self.item, "value": self.value, "weight": self.weight}

    @classmethod
    def of_recipe(cls, recipe: Mapping[str, Any], given: Mapping[str, Any]) -> ReadingOptions:
        """Return the options of a recipe, over which those given go; its columns are looked for by name, not asked for.

        Examples
        --------
        >>> options = ReadingOptions.of_recipe({"user": "Who", "decimal": ","}, {"sep": ";"})
        >>> options.user, dict(options.known_names), options.decimal, options.sep
        (None, {'user': 'Who'}, ',', ';')
        """
        roles = ("user", "item", "value")
        names = {role: recipe[role] for role in roles if isinstance(recipe.get(role), str)}
        told = {name: value for name, value in recipe.items() if name in DEFAULTS and name not in names}
        options = cls(**(told | dict(given)))
        object.__setattr__(options, "known_names", names)
        return options

    @property
    def merging(self) -> Duplicates:
        """What is done with several values of a pair; clicks are repeated as a matter of course, and count once."""
        return "mean" if self.only_yes and self.duplicates == "error" else self.duplicates

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as plain values, for a file; titles are no part of it."""
        given = {name: getattr(self, name) for name in DEFAULTS if name != "titles"}
        given |= {"map": self.notation.meaning, "missing": list(self.notation.missing) or ()}
        given |= {"ignore": list(self.ignore) or (), "keep": None if self.keep is None else list(self.keep)}
        return {name: value for name, value in given.items() if value != DEFAULTS[name]}


def _names(given: Any, name: str) -> tuple[Any, ...]:
    """Return columns as a tuple, whether one or several are given."""
    if isinstance(given, (str, int)):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise ParameterError(named(name) + f" must be columns, by name or position, got {given!r}.")
    return tuple(given)


_FIELDS = {option.name: option for option in fields(ReadingOptions) if option.init}
#: The default of each option.
DEFAULTS: dict[str, Any] = {name: option.default for name, option in _FIELDS.items()}


def taking(keywords: Any) -> Callable[[F], F]:
    """Return a decorator for a function that takes ``**options``: it shows them one by one, and refuses others by name.

    Examples
    --------
    >>> @taking(ArrayKeywords)
    ... def read(source, **options): ...
    >>> list(inspect.signature(read).parameters)
    ['source', 'minimum', 'maximum', 'scaling', 'duplicates']
    >>> read(None, maxium=5)
    Traceback (most recent call last):
    TypeError: read() got an unexpected keyword argument 'maxium'. Did you mean 'maximum'?
    """

    def decorated(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        known = [option for name, option in _FIELDS.items() if name in keywords.__annotations__]
        shown = [
            inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default, annotation=o.type)
            for o in known
        ]
        signature = signature.replace(parameters=[*own, *shown])

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            wrong = next((name for name in given if name not in signature.parameters), None)
            if wrong is not None:
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {wrong!r}."
                    f"{suggestion(wrong, signature.parameters)}"
                )
            return function(*args, **given)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return decorated
