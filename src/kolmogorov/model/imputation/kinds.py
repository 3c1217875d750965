"""What a user says of the columns of a table: which are ordered, and which nominal."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any, Literal

from kolmogorov._support.wording import named
from kolmogorov.errors import ParameterError

Kind = Literal["auto", "numbers", "ordered", "nominal"]


def kinds_of(ordered: Any, nominal: Any, names: list[Any], n_columns: int) -> list[Kind]:
    """Return what is said of every column; `names` are those that the table has, if any.

    Columns may come as a list, an array or an index; None names none.

    Examples
    --------
    >>> kinds_of("auto", ["town"], ["age", "town"], 2)
    ['auto', 'nominal']
    """
    open_kind: Any = "auto" if isinstance(ordered, str) else "numbers"
    kinds: list[Kind] = [open_kind] * n_columns
    said: list[tuple[Kind, Any]] = [("ordered", None if open_kind == "auto" else ordered), ("nominal", nominal)]
    for kind, chosen in said:
        for column in () if chosen is None else chosen:
            place = _place(column, kind, names, n_columns)
            if kinds[place] not in ("auto", "numbers"):
                raise ParameterError(f"Column {column!r} is named as 'ordered' and as 'nominal'. Name it once.")
            kinds[place] = kind
    return kinds


def _place(column: Any, parameter: str, names: list[Any], n_columns: int) -> int:
    if isinstance(column, str):
        if column in names:
            return names.index(column)
        had = f"columns {', '.join(map(repr, names[:5]))}" if names else "columns without names"
        raise ParameterError(named(parameter) + f" names the column {column!r}; the table has {had}.")
    whole = isinstance(column, numbers.Integral) and not isinstance(column, bool)
    if whole and 0 <= int(column) < n_columns:
        return int(column)
    raise ParameterError(
        named(parameter) + f" must hold names of columns, or places from 0 to {n_columns - 1}, got {column!r}."
    )


def check_kinds(ordered: Any, nominal: Any) -> None:
    """Raise where what names columns is neither a collection of them nor "auto" or None."""
    for name, value in (("ordered", ordered), ("nominal", nominal)):
        if value is None or (name == "ordered" and isinstance(value, str) and value == "auto"):
            continue
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ParameterError(named(name) + f" must be a list of columns, got {value!r}. Write [{value!r}].")
