"""The values that an item may take in an event: two in the paper's model, a grid of several in a many-valued one."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.table.observations import Observations

Levels = int | Sequence[float] | Literal["auto", "chances"]
#: Any number from 0 to 1.
CHANCES: Literal["chances"] = "chances"
#: An item's value in an event is kept as one byte; a reach of ten scales either way is beyond all use. By judgement.
MOST_LEVELS, FURTHEST_LEVEL = 64, 10.0
#: The step of a grid where the ratings' own is finer or coarser, with the two between which that serves. By judgement.
_USUAL_STEP, _FINEST_STEP, _COARSEST_STEP = 0.2, 0.15, 0.25
#: Steps by which a grid reaches beyond either end of the scale (benchmarks/accuracy.py).
_REACH = 2
#: Ratings looked at to find their step. By judgement.
_LOOK = 1 << 20


@dataclass(frozen=True)
class LevelsRequirement:
    """2, "auto", or increasing values on the probability scale; where `chances` are allowed, these too."""

    chances: bool = False

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        if isinstance(value, str):
            return value == "auto" or (self.chances and value == CHANCES)
        if isinstance(value, numbers.Integral):
            return not isinstance(value, bool) and int(value) == 2
        try:
            grid = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            return False
        shaped = grid.ndim == 1 and 2 <= grid.size <= MOST_LEVELS
        return bool(shaped and (np.abs(grid) <= FURTHEST_LEVEL).all() and (np.diff(grid) > 0.0).all())

    def __str__(self) -> str:
        words = "2, 'auto', 'chances'" if self.chances else "2, 'auto'"
        return (
            f"{words}, or a list of 2 to {MOST_LEVELS} increasing numbers on the probability scale, each between "
            f"-{FURTHEST_LEVEL:g} and {FURTHEST_LEVEL:g}"
        )


def grid_of(levels: Levels, table: Observations) -> Floats | None:
    """Return the values of a many-valued model for a table; None for the paper's two, and for chances.

    Parameters
    ----------
    levels : 2, "auto", "chances" or sequence of float
    table : Observations

    Examples
    --------
    >>> import kolmogorov as km
    >>> table = km.Observations.from_arrays(["ann", "bob", "cas"], ["tea"] * 3, [1, 3, 5], minimum=0)
    >>> grid_of("auto", table).round(1).tolist()
    [-0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4]
    """
    if isinstance(levels, numbers.Integral):
        return None
    if isinstance(levels, str):
        return None if levels == CHANCES else _reaching(step_of(table))
    grid = np.asarray(levels, dtype=np.float64)
    return None if np.array_equal(grid, (0.0, 1.0)) else grid


def step_of(table: Observations) -> float:
    """Return the distance of neighbouring ratings where it makes a grid of sensible size, or else the usual one."""
    found = np.unique(table.values[:_LOOK].round(9))
    step = float(np.diff(found).min()) if 2 <= found.size <= MOST_LEVELS else 0.0
    return step if _FINEST_STEP <= step <= _COARSEST_STEP else _USUAL_STEP


def _reaching(step: float) -> Floats:
    """Return multiples of a step from below 0 to above 1."""
    inside = round(1.0 / step)
    return np.arange(-_REACH, inside + _REACH + 1) / inside


def has_two(levels: Levels) -> bool:
    """Tell whether levels are the paper's two, whatever the table."""
    return not isinstance(levels, str) and (isinstance(levels, numbers.Integral) or np.array_equal(levels, (0.0, 1.0)))
