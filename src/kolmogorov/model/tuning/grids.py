"""What is worth trying of each parameter, by the size of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov.data import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.fitting.descent.objective import usual_weight
from kolmogorov.model.completing import why_ratings
from kolmogorov.model.kolmogorov import KolmogorovModel

Setting = dict[str, Any]
#: Numbers of events for tables with at most so many entries; these grids are by judgement.
_EVENTS = ((2_000, (2, 4, 8)), (300_000, (4, 8, 16)), (float("inf"), (8, 16, 24)))
#: Users with fewer entries than this, on average, are few: no fit of theirs can do without a ridge.
_SPARSE = 10
#: Weights of unobserved entries, as multiples of the usual one.
_WEIGHTS = (0.3, 1.0, 3.0)
#: What says that the ridges are to be searched for, where draws would otherwise learn how much to shrink.
OF_RATINGS = ("user_reg", "item_reg", "prior")


def usual_values(model: Any, table: Observations, given: Collection[str] = ()) -> dict[str, Any]:
    """Return what `tune` tries of each parameter unless it is told otherwise; `given` are those that it was told.

    Draws learn how much to shrink: a model that is learned from them needs no search for ridges.

    Examples
    --------
    >>> import kolmogorov as km
    >>> usual_values(km.KolmogorovModel(), km.datasets.load("zoo"))["n_events"]
    (2, 4, 8)
    """
    values = dict(model._usual_grid)
    if not isinstance(model, KolmogorovModel):
        return values
    values["n_events"] = next(events for most, events in _EVENTS if len(table) <= most)
    if why_ratings(model, table) is None and not any(name in given for name in OF_RATINGS):
        del values["user_reg"], values["item_reg"]
    elif len(table) < _SPARSE * table.n_users:
        values["user_reg"] = tuple(ridge for ridge in values["user_reg"] if ridge >= 1.0)
    if model.unobserved:
        usual = usual_weight(len(table), table.n_users * table.n_items)
        values["unobserved"] = tuple(dict.fromkeys(min(1.0, times * usual) for times in _WEIGHTS))
    return values


def settings_of(model: Any, grid: dict[str, Any], observations: Observations) -> list[Setting]:
    """Return every combination of what is tried of each parameter, in the order of the model's usual grid."""
    known = model.get_params(deep=False)
    for name in grid:
        if name not in known:
            raise ParameterError(f"{type(model).__name__} has no parameter {name!r} to tune.{suggestion(name, known)}")
    values = {name: _listed(tried) for name, tried in {**usual_values(model, observations, grid), **grid}.items()}
    for name, tried in values.items():
        if not tried:
            raise ParameterError(f"Every part of the grid needs at least one value; {name!r} has none.")
    return [dict(zip(values, setting, strict=True)) for setting in product(*values.values())]


def _listed(tried: Any) -> list[Any]:
    return list(tried) if isinstance(tried, Iterable) and not isinstance(tried, str) else [tried]


def counts_unobserved(model: Any, grid: dict[str, Any]) -> bool:
    """Tell whether a search tries models that count unobserved entries as a no."""
    return any(weight != 0.0 for weight in _listed(grid.get("unobserved", getattr(model, "unobserved", 0.0))))
