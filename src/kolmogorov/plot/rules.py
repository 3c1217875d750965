"""Rules as dots: cases, and how much oftener than the base rate they held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.plot.canvas import axes_of, bare, short

_KINDS = {
    "implication": ("#4269d0", "s"),
    "equivalence": ("#1f9e89", "o"),
    "exclusion": ("#d6453d", "^"),
    "coverage": ("#e68a00", "D"),
    "contrapositive": ("#8f5bd6", "v"),
}


def draw_rules(
    kinds: Sequence[str], cases: Rows, gains: Floats, labels: Sequence[str], n_labels: int = 5, ax: Any = None
) -> Any:
    """Draw rules that were met; the first few are labelled."""
    ax = axes_of(ax, size=(7.0, 4.2))
    met = (cases > 0) & np.isfinite(gains)
    for kind, (colour, marker) in _KINDS.items():
        mine = met & (np.asarray(kinds) == kind)
        if mine.any():
            ax.scatter(cases[mine], gains[mine], s=26, color=colour, marker=marker, alpha=0.6, linewidth=0, label=kind)
    ax.axhline(0.0, color="gray", linestyle="--", linewidth=1)
    for k in np.flatnonzero(met)[:n_labels].tolist():
        ax.annotate(short(labels[k], 40), (cases[k], gains[k]), xytext=(5, 3), textcoords="offset points", fontsize=8)
    if met.any():
        ax.set_xscale("log")
        for axis_marks in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
            axis_marks(lambda cases, _: f"{cases:,.0f}" if f"{cases:.0e}"[0] in "125" else "")
        ax.legend(frameon=False, fontsize=8)
    ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set(xlabel="cases", ylabel="held − base rate")
    bare(ax)
    return ax
