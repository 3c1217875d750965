"""The levels on which chains draw psi: as far beyond the scale as averages need, as fine as items can tell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations

#: An item's value in an event is kept as one byte; a reach of ten scales either way is beyond all use. By judgement.
MOST_LEVELS, FURTHEST_LEVEL = 64, 10.0
#: The paper's two levels where answers are yes and no: one answer in a hundred goes against its event. By judgement.
NEARLY_SURE = np.array([0.01, 0.99])
#: The step of a grid where the ratings' own is finer or coarser, with the two between which that serves. By judgement.
_USUAL_STEP, _FINEST_STEP, _COARSEST_STEP = 0.2, 0.15, 0.25
#: Ratings looked at to find their step. By judgement.
_LOOK = 1 << 20
#: Levels of ratings that are hidden behind yes and no, which nothing bounds: as many as a file holds. By judgement.
_HIDDEN = np.arange(-29, 34) / 4.0
#: How far levels lie at least beyond either end of the scale, in scales; `benchmarks/accuracy.py choices` tries less.
_BEYOND = 1.0
#: And from the mean: so many deviations of levels whose averages over events are as far apart as ratings are.
#: By judgement.
_DEVIATIONS = 2.5
#: Levels in the deviation that the answers to an item leave open. By judgement.
_FINENESS = 4


def level_grid(psi: str, table: Observations, likelihood: str, n_events: int) -> Floats:
    """Return the levels that chains draw from; the paper's two are 0 and 1, or nearly so with yes and no."""
    noisy = likelihood == "gaussian"
    if psi == "binary":
        return np.array([0.0, 1.0]) if noisy else NEARLY_SURE
    return rating_levels(table, n_events) if noisy else _HIDDEN


def rating_levels(table: Observations, n_events: int) -> Floats:
    """Return levels for tables with normal noise.

    Thetas that are anywhere on the simplex average D levels to a D-th of their variance: what is averaged must be the
    wider. A level of an item with n answers is known to about D / sqrt(n) of their deviation; on a grid that is
    coarser than this, levels do not move one by one.

    Examples
    --------
    >>> import kolmogorov as km
    >>> table = km.Observations.from_arrays(["ann", "bob", "cas"], ["tea"] * 3, [1, 3, 5], minimum=0)
    >>> rating_levels(table, 2)[[0, -1]].tolist()
    [-1.0, 2.0]
    """
    mean, deviation = float(table.values.mean()), float(table.values.std())
    base = step_of(table)
    away = min(_DEVIATIONS * math.sqrt(n_events) * deviation, base * (MOST_LEVELS // 2 - 2))
    low, high = min(-_BEYOND, mean - away), max(1.0 + _BEYOND, mean + away)
    each = len(table) / max(int((table.columns.counts > 0).sum()), 1)
    wanted = deviation * n_events / math.sqrt(max(each, 1.0)) / _FINENESS
    most = base * (MOST_LEVELS - 3) / (high - low)
    # Where only yes is recorded answers do not differ, and say nothing of the distance between levels.
    parts = max(1, min(math.ceil(base / wanted), math.floor(most))) if wanted > 0.0 else 1
    inside = round(parts / base)
    return np.arange(math.floor(low * inside), math.ceil(high * inside) + 1) / inside


def are_levels(grid: NDArray[Any]) -> bool:
    """Tell whether numbers, of a file say, are levels: increasing, not too many and not too far away."""
    shaped = grid.ndim == 1 and 2 <= grid.size <= MOST_LEVELS
    return bool(shaped and (np.abs(grid) <= FURTHEST_LEVEL).all() and (np.diff(grid) > 0.0).all())


def nearest(values: NDArray[Any], points: NDArray[np.float64]) -> NDArray[Any]:
    """Return which of some increasing points is nearest to each value; half-way between two it is the lower one.

    The numbers are of the smallest unsigned type that holds them: up to 256 points take a byte each.

    Examples
    --------
    >>> nearest(np.array([-7.0, 0.24, 0.25, 0.9]), np.array([0.0, 0.5, 1.0])).tolist()
    [0, 0, 0, 2]
    """
    return np.searchsorted(middles(points), values).astype(np.min_scalar_type(points.size - 1))


def middles(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where rounding to the nearest of some increasing points changes."""
    return 0.5 * (points[1:] + points[:-1])


def step_of(table: Observations) -> float:
    """Return the distance of neighbouring ratings where it makes a grid of sensible size, or else the usual one."""
    found = np.unique(table.values[:_LOOK].round(9))
    step = float(np.diff(found).min()) if 2 <= found.size <= MOST_LEVELS else 0.0
    return step if _FINEST_STEP <= step <= _COARSEST_STEP else _USUAL_STEP
