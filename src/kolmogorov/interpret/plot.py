"""Numbers to matplotlib Axes in the colours of the report: waterfalls, rules, and what all pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from kolmogorov._support.optional import require
from kolmogorov._support.typing import Floats, Rows

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


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many letters, cut once, between words; what ends a title in brackets stays whole.

    Examples
    --------
    >>> shortened("Situation of human rights in the Islamic Republic of Iran (2019)", 40)
    'Situation of human rights in the… (2019)'
    >>> shortened("International trade and development, as… (2018)", 30)
    'International trade… (2018)'
    """
    if len(text) <= most:
        return text
    title, _, last = text.rpartition(" (")
    end = f" ({last}" if title and last.endswith(")") and len(last) <= most // 3 else ""
    title = text.removesuffix(end)
    room = most - len(end) - 1
    if len(title) > room:
        cut = title[: room + 1].rfind(" ")
        title = title[: cut if 2 * cut >= room else room]
        opened = title.rfind("(")
        if opened > title.rfind(")") and 3 * opened >= room:
            title = title[:opened]
    return f"{title.rstrip(' ,:;…')}…{end}"


def short(text: str, longest: int = 32) -> str:
    """Cut a long name; a dollar sign would begin a formula."""
    return shortened(text, longest).replace("$", r"\$")


def bare(ax: Any) -> Any:
    """Take away the frame where it says nothing, and return the Axes."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def waterfall(title: str, parts: Sequence[tuple[str, float]], events: Sequence[int], ax: Any = None) -> Any:
    """Draw one bar for each part of a prediction, beginning where the one before it ended.

    `events` are the numbers of the events behind the parts after the first, for their colours; further ones are grey.
    """
    ax = axes_of(ax, size=(7.5, 1.4 + 0.36 * len(parts)))
    colours = [GREY, *(colour(event) for event in events)]
    colours += [GREY] * (len(parts) - len(colours))
    reached = 0.0
    for place, ((_, amount), tint) in enumerate(zip(parts, colours, strict=True)):
        ax.barh([place], [amount], left=reached, color=tint, height=0.6)
        words = f"{amount:.2f}" if place == 0 else f"{amount:+.2f}"
        ax.annotate(words, (max(reached, reached + amount), place), (4, 0), textcoords="offset points", va="center")
        reached += amount
        if place + 1 < len(parts):
            ax.plot([reached, reached], [place - 0.3, place + 1.3], color=GREY, linewidth=0.8)
    ax.axvline(reached, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(yticks=range(len(parts)), title=fill(short(title, 120), 44), xlabel=f"prediction {reached:.2f}")
    ax.set_yticklabels([short(name, 48) for name, _ in parts])
    ax.invert_yaxis()
    # Bars would hold the axes to their ends, and leave no room for the numbers beside them.
    ax.use_sticky_edges = False
    ax.margins(x=0.15)
    return bare(ax)


def calibration_bins(predicted: Floats, values: Floats, bins: int = 12) -> tuple[Floats, Floats, Rows]:
    """Return mean prediction, mean value and number of cases in the bins of equal width that hold any."""
    place = np.minimum((predicted * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = count > 0
    x, y = (np.bincount(place, weights=column, minlength=bins)[some] / count[some] for column in (predicted, values))
    return x, y, count[some]


_KINDS = {
    "implication": (BLUE, "s"),
    "equivalence": ("#1f9e89", "o"),
    "exclusion": ("#d6453d", "^"),
    "coverage": ("#e68a00", "D"),
    "contrapositive": ("#8f5bd6", "v"),
}


def rule_scatter(
    kinds: Sequence[str], cases: Rows, gains: Floats, labels: Sequence[str], n_labels: int, ax: Any = None
) -> Any:
    """Draw rules that were met: cases, and how much oftener than the base rate they held; the first are labelled."""
    ax = axes_of(ax, size=(7.0, 4.2))
    met = (cases > 0) & np.isfinite(gains)
    for kind, (tint, marker) in _KINDS.items():
        mine = met & (np.asarray(kinds) == kind)
        if mine.any():
            ax.scatter(cases[mine], gains[mine], s=26, color=tint, marker=marker, alpha=0.6, linewidth=0, label=kind)
    ax.axhline(0.0, color="gray", linestyle="--", linewidth=1)
    for k in np.flatnonzero(met)[:n_labels].tolist():
        ax.annotate(short(labels[k], 40), (cases[k], gains[k]), xytext=(5, 3), textcoords="offset points", fontsize=8)
    if met.any():
        ax.set_xscale("log")
        for show in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
            show(lambda cases, _: f"{cases:,.0f}" if f"{cases:.0e}"[0] in "125" else "")
        ax.legend(frameon=False, fontsize=8)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set(xlabel="cases", ylabel="held − base rate")
    return bare(ax)
