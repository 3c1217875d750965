"""How a fit went, and how far predictions can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.plot.canvas import axes_of, bare

_BLUE = "#4269d0"


def draw_history(sweeps: Sequence[int], errors: Sequence[float], ax: Any = None) -> Any:
    """Draw the training error after each sweep."""
    ax = axes_of(ax, size=(5.5, 3.4))
    ax.plot(sweeps, errors, color=_BLUE, marker="o", markersize=3)
    ax.set_xlabel("sweep")
    ax.set_ylabel("training RMSE")
    bare(ax)
    return ax


def draw_calibration(predicted: Floats, values: Floats, bins: int = 12, ax: Any = None) -> Any:
    """Draw mean prediction against mean outcome in bins; a dot's area is its number of cases."""
    ax = axes_of(ax, size=(4.6, 4.4))
    place = np.minimum((predicted * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = count > 0
    x, y = (np.bincount(place, weights=column, minlength=bins)[some] / count[some] for column in (predicted, values))
    ax.plot([0, 1], [0, 1], color="gray", linestyle="--", linewidth=1)
    ax.plot(x, y, color=_BLUE)
    ax.scatter(x, y, s=12 + 150 * count[some] / count.max(), color=_BLUE)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="mean prediction", ylabel="mean observed")
    bare(ax)
    return ax
