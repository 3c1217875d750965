"""A probability, taken apart: what each event adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kolmogorov.plot.canvas import axes_of, bare, short
from kolmogorov.plot.palette import colour


def draw_explanation(
    title: str, events: Sequence[int], amounts: Sequence[float], names: Sequence[str], ax: Any = None
) -> Any:
    """Draw one stacked bar with a legend of the events that add something."""
    ax = axes_of(ax, size=(7.0, 1.2 + 0.24 * sum(amount > 0.005 for amount in amounts)))
    left = 0.0
    for event, amount, name in zip(events, amounts, names, strict=True):
        label = f"{short(name, 48)}  {amount:.0%}" if amount > 0.005 else None
        ax.barh([0], [amount], left=left, color=colour(event), label=label, height=0.6)
        left += amount
    ax.barh([0], [max(0.0, 1.0 - left)], left=left, color="gray", alpha=0.25, height=0.6)
    ax.set(xlim=(0, 1), yticks=[], title=short(title, 90))
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    if any(amount > 0.005 for amount in amounts):
        ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.35))
    bare(ax)
    return ax
