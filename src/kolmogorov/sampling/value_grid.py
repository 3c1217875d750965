"""The values that draws of ratings take: as far beyond the scale as averages need, as fine as items can tell."""

from __future__ import annotations

import math

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.table.levels import MOST_LEVELS, step_of

#: How far values reach at least beyond either end, in scales.
_REACH = 1.0
#: And from the mean: so many deviations of values whose averages over events are as far apart as ratings are.
_DEVIATIONS = 2.5
#: Chances of a yes whose averages are cut to what chances can be: as far beyond either end as two scales.
REACHING = np.arange(-8, 13) / 4.0
#: Steps in the deviation that the answers to an item leave open of a value.
_STEPS = 4


def value_grid(table: Observations, n_events: int) -> Floats:
    """Return a grid for tables with normal noise.

    Thetas that are anywhere on the simplex average D values to a D-th of their variance: what is averaged must be the
    wider. A value of an item with n answers is known to about D / sqrt(n) of their deviation; on a grid that is
    coarser than this, values do not move one by one.

    Examples
    --------
    >>> import kolmogorov as km
    >>> table = km.Observations.from_arrays(["ann", "bob", "cas"], ["tea"] * 3, [1, 3, 5], minimum=0)
    >>> value_grid(table, 2)[[0, -1]].tolist()
    [-1.0, 2.0]
    """
    mean, deviation = float(table.values.mean()), float(table.values.std())
    base = step_of(table)
    reach = min(_DEVIATIONS * math.sqrt(n_events) * deviation, base * (MOST_LEVELS // 2 - 2))
    low, high = min(-_REACH, mean - reach), max(1.0 + _REACH, mean + reach)
    each = len(table) / max(int((table.columns.counts > 0).sum()), 1)
    wanted = deviation * n_events / math.sqrt(max(each, 1.0)) / _STEPS
    most = base * (MOST_LEVELS - 3) / (high - low)
    # Where only yes is recorded answers do not differ, and say nothing of the step.
    parts = max(1, min(math.ceil(base / wanted), math.floor(most))) if wanted > 0.0 else 1
    inside = round(parts / base)
    return np.arange(math.floor(low * inside), math.ceil(high * inside) + 1) / inside
