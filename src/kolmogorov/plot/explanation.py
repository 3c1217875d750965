"""A prediction, taken apart: the way from what everybody would get to it, as a waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kolmogorov.plot.canvas import axes_of, bare, short
from kolmogorov.plot.palette import GREY, colour


def draw_explanation(title: str, steps: Sequence[tuple[str, float]], events: Sequence[int], ax: Any = None) -> Any:
    """Draw one bar for each step, beginning where the one before it ended.

    Parameters
    ----------
    title : str
    steps : sequence of (str, float)
        The first is where the way begins, the others say by how much it goes up or down.
    events : sequence of int
        The numbers of the events behind the steps after the first, for their colours; further steps are grey.
    ax : Axes, optional
    """
    ax = axes_of(ax, size=(7.5, 1.4 + 0.36 * len(steps)))
    colours = [GREY, *(colour(event) for event in events)]
    colours += [GREY] * (len(steps) - len(colours))
    reached = 0.0
    for place, ((_, amount), tint) in enumerate(zip(steps, colours, strict=True)):
        ax.barh([place], [amount], left=reached, color=tint, height=0.6)
        words = f"{amount:.2f}" if place == 0 else f"{amount:+.2f}"
        ax.annotate(words, (max(reached, reached + amount), place), (4, 0), textcoords="offset points", va="center")
        reached += amount
        if place + 1 < len(steps):
            ax.plot([reached, reached], [place - 0.3, place + 1.3], color=GREY, linewidth=0.8)
    ax.axvline(reached, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(yticks=range(len(steps)), title=short(title, 90), xlabel=f"prediction {reached:.2f}")
    ax.set_yticklabels([short(name, 48) for name, _ in steps])
    ax.invert_yaxis()
    # Bars would hold the axes to their ends, and leave no room for the numbers beside them.
    ax.use_sticky_edges = False
    ax.margins(x=0.15)
    bare(ax)
    return ax
