"""Where to draw."""

from __future__ import annotations

from typing import Any

from kolmogorov._support.optional import require


def axes_of(ax: Any = None, *, size: tuple[float, float] | None = None) -> Any:
    """Return the given Axes, or those of a new figure of some size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot", purpose="A plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def short(text: str, longest: int = 32) -> str:
    """Cut a long name; a dollar sign would begin a formula."""
    return (text if len(text) <= longest else f"{text[: longest - 1]}…").replace("$", r"\$")


def bare(ax: Any) -> None:
    """Take away the frame where it says nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
