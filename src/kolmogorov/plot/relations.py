"""Supports as dots, the order by implication as boxes and lines, rules as dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.plot.canvas import BLUE, axes_of, bare, colour, short

_KINDS = {
    "implication": (BLUE, "s"),
    "equivalence": ("#1f9e89", "o"),
    "exclusion": ("#d6453d", "^"),
    "coverage": ("#e68a00", "D"),
    "contrapositive": ("#8f5bd6", "v"),
}


def support_matrix(psi: Floats, labels: Sequence[str], events: Sequence[str], ax: Any = None) -> Any:
    """Draw items by events, a line for each class of equal supports; a dot is as opaque as its psi.

    Parameters
    ----------
    psi : float64[n_classes, D]
        Between 0 and 1.
    labels, events : sequence of str
    """
    n, size = psi.shape
    ax = axes_of(ax, size=(3.2 + 0.34 * size, 1.6 + 0.26 * n))
    for row in range(n):
        inside = [event for event in range(size) if psi[row, event] > 0.5]
        if len(inside) > 1:
            ax.plot([inside[0], inside[-1]], [row, row], color="gray", linewidth=1, zorder=1)
        ax.scatter(range(size), [row] * size, s=14, color="gray", alpha=0.25, linewidth=0, zorder=2)
        tints = [colour(event) for event in range(size)]
        ax.scatter(range(size), [row] * size, s=55, color=tints, alpha=psi[row], linewidth=0, zorder=3)
    ax.set_yticks(range(n), [short(label) for label in labels])
    ax.set_xticks(range(size), [short(event, 24) for event in events], rotation=50, ha="left", rotation_mode="anchor")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.set_ylim(n - 0.4, -0.6)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


def order_diagram(labels: Sequence[str], heights: Rows, ranks: Rows, covers: Rows, ax: Any = None) -> Any:
    """Draw a Hasse diagram.

    Parameters
    ----------
    labels : sequence of str
        One for each class.
    heights : int64[n]
        How high each stands.
    ranks : int64[n]
        From left to right.
    covers : int64[m, 2]
        Pairs (lower, upper).
    """
    top = int(heights.max(initial=0))
    widest = int(np.bincount(heights, minlength=1).max(initial=1))
    ax = axes_of(ax, size=(max(4.0, 1.7 * widest), 2.0 + top))
    x = np.zeros(len(heights))
    for height in range(top + 1):
        row = np.flatnonzero(heights == height)
        row = row[np.argsort(ranks[row], kind="stable")]
        x[row] = np.arange(len(row)) - (len(row) - 1) / 2
    for lower, upper in covers.tolist():
        between = range(int(heights[lower]) + 1, int(heights[upper]))
        along = [x[lower], *(_gap(x[heights == height], x[[lower, upper]].mean()) for height in between), x[upper]]
        ax.plot(along, [heights[lower], *between, heights[upper]], color="gray", linewidth=1, alpha=0.7, zorder=1)
    box = {"boxstyle": "round,pad=.35", "facecolor": "white", "edgecolor": BLUE}
    style = {"ha": "center", "va": "center", "fontsize": 8, "color": "black", "bbox": box, "zorder": 2}
    for place, height, label in zip(x, heights, labels, strict=True):
        ax.text(place, height, short(label, 22), **style)
    ax.set_xlim(x.min(initial=0) - 0.7, x.max(initial=0) + 0.7)
    ax.set_ylim(-0.5, top + 0.5)
    ax.axis("off")
    return ax


def _gap(boxes: Floats, wanted: float) -> float:
    """Return the place between boxes of a row that is nearest to a wanted one: a line must not seem to end in them."""
    row = np.sort(boxes)
    gaps = np.concatenate([[row[0] - 0.5], (row[1:] + row[:-1]) / 2, [row[-1] + 0.5]])
    return float(gaps[np.argmin(np.abs(gaps - wanted))])


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
