"""The models that the page computes with: one, or some of the draws of a model that consists of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Rows
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.fitting.trained import Trained
from kolmogorov.report.packing import as_text, bits, shares
from kolmogorov.sampling.new_rows import concentration
from kolmogorov.sampling.posterior import Posterior
from kolmogorov.surface.event_model import EventModel

#: Numbers of all thetas and of all psis on a page; of draws that have more, some are taken.
_ROOM, _LEAST_DRAWS = 600_000, 8
#: Models of a companion on a page; more would be taken for draws, between which there are intervals.
_MOST_MEMBERS = 3
#: Values that a relaxed psi is rounded to.
_STEPS = 100


def grid_of(trained: Trained) -> list[float] | None:
    """Return the values of a model with levels; None where supports are yes or no, or relaxed."""
    levels = getattr(trained, "levels", None)
    return None if levels is None else [float(level) for level in levels]


def reading(fitted: Fitted, likes: float) -> Fitted:
    """Return the model of "yes or no" that a fitted one holds: an item happens where its value means yes."""
    if fitted.psi.dtype == bool:
        return fitted
    changes: dict[str, Any] = {"psi": fitted.psi >= likes - 1e-9}
    if grid_of(fitted) is not None:
        changes["levels"] = None
    return replace(fitted, **changes)


def members(model: EventModel, rows: Rows) -> dict[str, Any]:
    """Describe the models by which the page predicts, for the users that it shows.

    Each has the psis of all items, the thetas of the users shown, and what fold-in needs: the centre that theta is
    drawn to, and how strongly. `groups` says which named event each of its events is counted to. Where there are soft
    values they predict, and lie anywhere `between` two numbers; their events are those of the model they belong to.
    """
    found = model.fitted_
    if isinstance(found, Posterior):
        return _drawn(found, rows)
    assert isinstance(found, Fitted)
    if found.soft is not None:
        return _softened(found, found.soft, rows)
    levels, codes = _levels(found)
    ridge = model.ridges[0]  # type: ignore[attr-defined]
    return _single(found, rows, _coded(codes, levels), ridge) | {"levels": levels}


def _softened(found: Fitted, soft: Fitted, rows: Rows) -> dict[str, Any]:
    """Describe a companion; of many models side by side the first few."""
    assert soft.ridges is not None
    psi = soft.psi_or_average[:-1]
    low, high = float(psi.min()), float(psi.max())
    groups = found.places.reshape(soft.n_members, -1)
    some = [soft.member(number) for number in range(min(soft.n_members, _MOST_MEMBERS))]
    scaled = [(each.psi_or_average[:-1] - low) / max(high - low, 1e-9) for each in some]
    described = [
        _single(each, rows, shares(psi), float(soft.ridges[0])) for each, psi in zip(some, scaled, strict=True)
    ]
    models = [one["models"][0] | {"groups": its.tolist()} for one, its in zip(described, groups, strict=False)]
    return described[0] | {"models": models, "n_all": soft.n_members, "levels": [], "between": [low, high]}


def _single(found: Fitted, rows: Rows, psi: str, ridge: float) -> dict[str, Any]:
    return {
        "fine": True,
        "floor": 0.0,
        "cut": None,
        "likelihood": "gaussian",
        "between": None,
        "n_all": 1,
        "models": [
            {
                "psi": psi,
                "theta": shares(found.theta[rows]),
                "centre": found.centre.tolist(),
                "population": found.theta_or_population[-1].tolist(),
                "ridge": ridge,
                "groups": list(range(found.n_events)),
            }
        ],
    }


def _drawn(posterior: Posterior, rows: Rows) -> dict[str, Any]:
    size = posterior.n_events
    most = max(_LEAST_DRAWS, _ROOM // max(1, (len(rows) + len(posterior.items) // 8) * size))
    count = min(posterior.n_draws, most)
    chosen = np.unique(np.linspace(0, posterior.n_draws - 1, count).round().astype(int))
    groups = posterior.event_groups.reshape(posterior.n_draws, size)
    levels = grid_of(posterior) or [0.0, 1.0]
    # Errors of rounding average out over draws.
    fine = len(chosen) * len(rows) * size <= _ROOM
    models = []
    for k in chosen.tolist():
        population = posterior.theta[k, posterior.user_seen].mean(axis=0, dtype=np.float64)
        pull = concentration(posterior, k, population)
        noise = 1.0 if posterior.likelihood == "bernoulli" else float(posterior.noise[k].mean())
        models.append(
            {
                "psi": _coded(_places(posterior.psi[k], levels), levels),
                "theta": shares(posterior.theta[k, rows].astype(np.float64), fine=fine),
                "centre": (population / population.sum()).tolist(),
                "population": (population / population.sum()).tolist(),
                "ridge": pull * noise,
                "groups": groups[k].tolist(),
            }
        )
    return {
        "fine": fine,
        "floor": posterior.floor,
        "cut": _cut(posterior),
        "likelihood": posterior.likelihood,
        "levels": levels,
        "between": None,
        "n_all": posterior.n_draws,
        "models": models,
    }


def _cut(posterior: Posterior) -> list[float] | None:
    """Return what each draw is cut to before they are averaged; None where they are not."""
    return list(posterior.bounds) if np.isfinite(posterior.bounds).all() else None


def _levels(fitted: Fitted) -> tuple[list[float], NDArray[np.int64]]:
    """Return the values that psi takes, and the place of each entry among them."""
    if fitted.psi.dtype == bool:
        return [0.0, 1.0], fitted.psi.astype(np.int64)
    grid = grid_of(fitted) or np.linspace(0.0, 1.0, _STEPS + 1).tolist()
    middles = [(low + high) / 2 for low, high in pairwise(grid)]
    return grid, np.searchsorted(middles, fitted.psi).astype(np.int64)


def _places(psi: NDArray[Any], levels: list[float]) -> NDArray[np.int64]:
    """Return the place of each value among the levels."""
    grid = np.array(levels)
    return np.searchsorted(0.5 * (grid[1:] + grid[:-1]), psi).astype(np.int64)


def _coded(codes: NDArray[np.int64], levels: list[float]) -> str:
    return bits(codes > 0) if levels == [0.0, 1.0] else as_text(codes.astype(np.uint8))
