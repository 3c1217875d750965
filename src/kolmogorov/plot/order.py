"""The order by implication: boxes, and lines up to what they imply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.plot.canvas import axes_of, short


def draw_order(labels: Sequence[str], levels: Rows, ranks: Sequence[int], covers: Rows, ax: Any = None) -> Any:
    """Draw a Hasse diagram.

    Parameters
    ----------
    labels : sequence of str
        One for each class.
    levels : int64[n]
        How high each stands.
    ranks : sequence of int
        From left to right.
    covers : int64[m, 2]
        Pairs (lower, upper).
    """
    widest = int(np.bincount(levels).max()) if len(levels) else 1
    ax = axes_of(ax, size=(max(4.0, 1.7 * widest), 1.0 + 1.0 * (int(levels.max()) + 1 if len(levels) else 1)))
    x = np.zeros(len(levels))
    for level in np.unique(levels):
        row = np.flatnonzero(levels == level)
        row = row[np.argsort(np.asarray(ranks)[row], kind="stable")]
        x[row] = np.arange(len(row)) - (len(row) - 1) / 2
    for lower, upper in covers.tolist():
        between = range(int(levels[lower]) + 1, int(levels[upper]))
        along = [x[lower], *(_gap(x[levels == level], x[[lower, upper]].mean()) for level in between), x[upper]]
        ax.plot(along, [levels[lower], *between, levels[upper]], color="gray", linewidth=1, alpha=0.7, zorder=1)
    box = {"boxstyle": "round,pad=.35", "facecolor": "white", "edgecolor": "#4269d0"}
    for k, label in enumerate(labels):
        ax.text(
            x[k], levels[k], short(label, 22), ha="center", va="center", fontsize=8, color="black", bbox=box, zorder=2
        )
    ax.set_xlim(x.min(initial=0) - 0.7, x.max(initial=0) + 0.7)
    ax.set_ylim(-0.5, (int(levels.max()) if len(levels) else 0) + 0.5)
    ax.axis("off")
    return ax


def _gap(boxes: Floats, wanted: float) -> float:
    """Return the place between boxes of a row that is nearest to a wanted one: a line must not seem to end in them."""
    row = np.sort(boxes)
    gaps = np.concatenate([[row[0] - 0.5], (row[1:] + row[:-1]) / 2, [row[-1] + 0.5]])
    return float(gaps[np.argmin(np.abs(gaps - wanted))])
