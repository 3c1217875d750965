"""Panels to PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from kolmogorov._support.optional import require
from kolmogorov.paper.result import PAPER, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to so many places on the axis each has its own tick.
_FEW = 8


def draw(panels: list[Panel], title: str, stem: Path) -> None:
    """Draw the panels side by side to stem.png and stem.svg."""
    require("matplotlib", extra="paper", purpose="Drawing the paper's figures")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    # Without these an SVG would hold random ids and the time of day, and differ from run to run.
    with plt.rc_context({"svg.hashsalt": "kolmogorov", "font.size": 9}):
        figure, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 4.8), squeeze=False)
        # A label has one colour in all panels.
        colours: dict[str, str] = {}
        for panel, ax in zip(panels, axes[0], strict=True):
            _panel(panel, ax, colours)
        figure.suptitle("\n".join(wrap(title, 70 * len(panels))), fontsize=10)
        figure.tight_layout()
        figure.savefig(stem.with_suffix(".png"), dpi=110, metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
        plt.close(figure)


def _panel(panel: Panel, ax: Axes, colours: dict[str, str]) -> None:
    if panel.bars:
        _bars(panel, ax, colours)
    else:
        _lines(panel, ax, colours)
        _ticks(panel, ax)
    for k, (label, height) in enumerate(panel.levels.items()):
        ax.axhline(height, linestyle=":", linewidth=1, color=f"C{k + 6}", label=label)
    for k, (label, place) in enumerate(panel.stops.items()):
        ax.axvline(place, linestyle="-.", linewidth=1, color=f"C{k + 6}", label=label)
    ax.set_title(panel.title)
    ax.set_ylabel(panel.y_label)
    if panel.log_y:
        ax.set_yscale("log")
    if panel.from_zero:
        ax.set_ylim(0, 1.1 * max(max(y) for _, y in panel.lines.values()))
    if len(panel.lines) > 1:
        ax.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2)


def _ticks(panel: Panel, ax: Axes) -> None:
    """Mark the places that there are if they are few, and else only whole numbers."""
    ax.set_xlabel(panel.x_label)
    places = sorted({place for x, _ in panel.lines.values() for place in x})
    if panel.log_x:
        ax.set_xscale("log")
    if panel.log_x or len(places) <= _FEW:
        ax.set_xticks(places, [f"{place:g}" for place in places], minor=False)
        ax.minorticks_off()
    else:
        ax.locator_params(axis="x", integer=True)


def _colour(label: str, panel: Panel, colours: dict[str, str]) -> str:
    """Return the colour of a label; what the paper prints has that of the line that it belongs to."""
    own = panel.kin.get(label, label.removeprefix(PAPER))
    return colours.setdefault(own, f"C{len(colours) % 10}")


def _bars(panel: Panel, ax: Axes, colours: dict[str, str]) -> None:
    """Draw groups of bars; those of the paper are hatched, in the colour of what they belong to."""
    width = 0.8 / len(panel.lines)
    for k, (label, (x, y)) in enumerate(panel.lines.items()):
        hatch = "///" if label.startswith("paper") else None
        colour = _colour(label, panel, colours)
        places = [p + k * width for p in range(len(x))]
        ax.bar(places, y, width, label=label, color=colour, alpha=0.5 if hatch else 1.0, hatch=hatch)
        names = [str(v).replace(", ", ",\n") for v in x]
        ax.set_xticks([p + 0.4 - width / 2 for p in range(len(x))], names, fontsize=8)


def _lines(panel: Panel, ax: Axes, colours: dict[str, str]) -> None:
    """Draw lines with their bands; what the paper prints is dashed, in the colour of the line that it belongs to."""
    for label, (x, y) in panel.lines.items():
        printed = label.startswith(PAPER)
        wide, points = label in panel.pale, label in panel.points
        style = "--x" if printed else "." if points else "-"
        (drawn,) = ax.plot(x, y, style, label=label, color=_colour(label, panel, colours))
        drawn.set_markersize(6 if printed else 2 if points else 3)
        drawn.set_linewidth(5 if wide else 1)
        drawn.set_alpha(0.35 if wide else 1.0)
        if not (points or printed or wide or len(x) > 30):
            drawn.set_marker("o")
        if label in panel.bands:
            low, high = panel.bands[label]
            ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)
