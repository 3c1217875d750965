"""Events as bars: how much of the population each has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kolmogorov.plot.canvas import axes_of, bare, short
from kolmogorov.plot.palette import colour


def draw_events(names: Sequence[str], shares: Sequence[float], ax: Any = None) -> Any:
    """Draw a bar for each event, the largest on top."""
    ax = axes_of(ax, size=(7.0, 0.6 + 0.32 * len(names)))
    order = sorted(range(len(names)), key=lambda event: shares[event])
    ax.barh(
        [short(names[event], 48) for event in order], [shares[event] for event in order], color=[*map(colour, order)]
    )
    ax.set_xlabel("share of the population")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    bare(ax)
    return ax
