"""The levels on which chains draw psi: as far beyond the scale as averages need, as fine as items can tell."""

from __future__ import annotations

import math

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.levels import MOST_LEVELS, step_of
from kolmogorov.draws.emission import NEARLY_SURE

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
