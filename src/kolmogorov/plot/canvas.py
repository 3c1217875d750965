"""Where to draw, and in which colours."""

from __future__ import annotations

from typing import Any

from kolmogorov._support.optional import require

#: A colour for each event, the same as in the report.
_COLOURS = (
    "#4269d0", "#e68a00", "#d6453d", "#1f9e89", "#3ca951", "#e377b0", "#8f5bd6", "#5aa5d6", "#9c6b4e", "#7a7f87",
    "#b8a000", "#c2185b",
)  # fmt: skip
#: What is no event, and what is alone in a picture.
GREY, BLUE = "#9aa0a6", "#4269d0"


def colour(event: int) -> str:
    """Return the colour of an event; after the first twelve, lighter and darker ones.

    Examples
    --------
    >>> colour(0), colour(12) != colour(0)
    ('#4269d0', True)
    """
    if event < len(_COLOURS):
        return _COLOURS[event]
    base, turn = _COLOURS[(5 * event) % len(_COLOURS)], (event // len(_COLOURS)) % 4
    share, other = (0.58 if turn < 3 else 0.75), (255 if turn % 2 else 0)
    parts = (int(base[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(share * part + (1 - share) * other):02x}" for part in parts)


def axes_of(ax: Any = None, *, size: tuple[float, float] | None = None) -> Any:
    """Return the given Axes, or those of a new figure of some size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot", purpose="A plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def short(text: str, longest: int = 32) -> str:
    """Cut a long name; a dollar sign would begin a formula."""
    return (text if len(text) <= longest else f"{text[: longest - 1]}…").replace("$", r"\$")


def bare(ax: Any) -> Any:
    """Take away the frame where it says nothing, and return the Axes."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
