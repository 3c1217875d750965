"""Items by events as dots: a line for each class of equal supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kolmogorov._support.typing import Floats
from kolmogorov.plot.canvas import axes_of, short
from kolmogorov.plot.palette import colour


def draw_matrix(values: Floats, labels: Sequence[str], events: Sequence[str], ax: Any = None) -> Any:
    """Draw supports; a dot is as opaque as its value.

    Parameters
    ----------
    values : float64[n_classes, D]
        Between 0 and 1.
    labels, events : sequence of str
    """
    n, size = values.shape
    ax = axes_of(ax, size=(3.2 + 0.34 * size, 1.6 + 0.26 * n))
    for row in range(n):
        inside = [event for event in range(size) if values[row, event] > 0.5]
        if len(inside) > 1:
            ax.plot([inside[0], inside[-1]], [row, row], color="gray", linewidth=1, zorder=1)
        ax.scatter(range(size), [row] * size, s=14, color="gray", alpha=0.25, linewidth=0, zorder=2)
        ax.scatter(
            range(size), [row] * size, s=55, color=[colour(event) for event in range(size)], alpha=values[row],
            linewidth=0, zorder=3,
        )  # fmt: skip
    ax.set_yticks(range(n), [short(label) for label in labels])
    ax.set_xticks(range(size), [short(event, 24) for event in events], rotation=50, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_ylim(n - 0.4, -0.6)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax
