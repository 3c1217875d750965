"""Panels to PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kolmogorov._support.optional import require
from kolmogorov.paper.result import Panel

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
        figure.suptitle(title)
        figure.tight_layout()
        figure.savefig(stem.with_suffix(".png"), dpi=110, metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
        plt.close(figure)


def _panel(panel: Panel, ax: Axes) -> None:
    if panel.bars:
        _bars(panel, ax)
    else:
        _lines(panel, ax)
    ax.set_title(panel.title)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    if panel.log_y:
        ax.set_yscale("log")
    ax.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2)


def _bars(panel: Panel, ax: Axes) -> None:
    width = 0.8 / len(panel.lines)
    for k, (label, (x, y)) in enumerate(panel.lines.items()):
        ax.bar([p + k * width for p in range(len(x))], y, width, label=label)
        ax.set_xticks([p + 0.4 - width / 2 for p in range(len(x))], [str(v) for v in x], rotation=20)


def _lines(panel: Panel, ax: Axes) -> None:
    """Draw lines with their bands; what the paper prints is dashed, in the colour of the line that it belongs to."""
    many = max((len(x) for x, _ in panel.lines.values()), default=0) > 200
    colours: dict[str, Any] = {}
    for label, (x, y) in panel.lines.items():
        style = "--x" if label in panel.dashed else "." if many else "-"
        known = colours.get(label.removeprefix("paper: "))
        marker = None if many or len(x) > 30 or label in panel.dashed else "o"
        (drawn,) = ax.plot(x, y, style, markersize=2 if many else 3, linewidth=1, label=label, color=known)
        if marker is not None:
            drawn.set_marker(marker)
        colours[label] = drawn.get_color()
        if label in panel.bands:
            low, high = panel.bands[label]
            ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)
