"""Panels to PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from kolmogorov._support.optional import require
from kolmogorov.paper.result import PAPER, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(panels: list[Panel], title: str, stem: Path) -> None:
    """Draw the panels side by side to stem.png and stem.svg."""
    require("matplotlib", extra="paper", purpose="Drawing the paper's figures")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    # Without these an SVG would hold random ids and the time of day, and differ from run to run.
    with plt.rc_context({"svg.hashsalt": "kolmogorov", "font.size": 9}):
        figure, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 4.8), squeeze=False)
        for panel, ax in zip(panels, axes[0], strict=True):
            _panel(panel, ax)
        figure.suptitle("\n".join(wrap(title, 60 * len(panels))))
        figure.tight_layout()
        figure.savefig(stem.with_suffix(".png"), dpi=110, metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
        plt.close(figure)


def _panel(panel: Panel, ax: Axes) -> None:
    if panel.bars:
        _bars(panel, ax)
    else:
        _lines(panel, ax)
    for k, (label, height) in enumerate(panel.levels.items()):
        ax.axhline(height, linestyle=":", linewidth=1, color=f"C{k + 6}", label=label)
    for k, (label, place) in enumerate(panel.stops.items()):
        ax.axvline(place, linestyle="-.", linewidth=1, color=f"C{k + 6}", label=label)
    ax.set_title(panel.title)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    if panel.log_y:
        ax.set_yscale("log")
    if panel.from_zero:
        ax.set_ylim(bottom=0)
    if panel.log_x:
        ax.set_xscale("log")
        places = sorted({place for x, _ in panel.lines.values() for place in x})
        ax.set_xticks(places, [f"{place:g}" for place in places], minor=False)
        ax.minorticks_off()
    ax.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2)


def _bars(panel: Panel, ax: Axes) -> None:
    """Draw groups of bars; those of the paper are hatched, in the colour of what they belong to."""
    width = 0.8 / len(panel.lines)
    colours: dict[str, Any] = {}
    for k, (label, (x, y)) in enumerate(panel.lines.items()):
        own = label.removeprefix(PAPER)
        colour = colours.setdefault(own, f"C{len(colours)}")
        hatch = "///" if label != own or label == "paper" else None
        places = [p + k * width for p in range(len(x))]
        ax.bar(places, y, width, label=label, color=colour, alpha=0.5 if hatch else 1.0, hatch=hatch)
        ax.set_xticks([p + 0.4 - width / 2 for p in range(len(x))], [str(v) for v in x], rotation=20)


def _lines(panel: Panel, ax: Axes) -> None:
    """Draw lines with their bands; what the paper prints is dashed, in the colour of the line that it belongs to."""
    many = max((len(x) for x, _ in panel.lines.values()), default=0) > 500
    colours: dict[str, Any] = {}
    for label, (x, y) in panel.lines.items():
        own = label.removeprefix(PAPER)
        printed = own != label
        wide = label in panel.pale
        style = "--x" if printed else "." if many else "-"
        (drawn,) = ax.plot(x, y, style, label=label, color=colours.setdefault(own, f"C{len(colours) % 10}"))
        drawn.set_markersize(6 if printed else 2 if many else 3)
        drawn.set_linewidth(5 if wide else 1)
        drawn.set_alpha(0.35 if wide else 1.0)
        if not (many or printed or wide or len(x) > 30):
            drawn.set_marker("o")
        if label in panel.bands:
            low, high = panel.bands[label]
            ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)
