"""Bars and curves: shares of events, a prediction taken apart, how a fit went, how far predictions can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.plot.canvas import BLUE, GREY, axes_of, bare, colour, short


def event_bars(names: Sequence[str], shares: Sequence[float], ax: Any = None) -> Any:
    """Draw a bar for each event, as long as its share of the population, the largest on top."""
    ax = axes_of(ax, size=(7.0, 0.6 + 0.32 * len(names)))
    order = sorted(range(len(names)), key=lambda event: shares[event])
    ax.barh(
        [short(names[event], 48) for event in order], [shares[event] for event in order], color=[*map(colour, order)]
    )
    ax.set_xlabel("share of the population")
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    return bare(ax)


def user_bars(names: Sequence[str], theta: Floats, events: Sequence[str], ax: Any = None) -> Any:
    """Draw a bar for each user, made of the events as theta says.

    Parameters
    ----------
    names : sequence of str
        The users, the first on top.
    theta : float64[n_users, D]
    events : sequence of str
        What the legend calls them.
    ax : Axes, optional
    """
    ax = axes_of(ax, size=(8.0, 0.9 + 0.3 * len(names) + 0.22 * len(events)))
    start, places = np.zeros(len(names)), np.arange(len(names))
    for event, name in enumerate(events):
        ax.barh(places, theta[:, event], left=start, color=colour(event), height=0.72, label=short(name, 80))
        start = start + theta[:, event]
    ax.set(yticks=places, xlim=(0, 1), ylim=(-0.6, len(names) - 0.4), xlabel="probability of each event")
    ax.set_yticklabels([short(name) for name in names])
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.invert_yaxis()
    ax.figure.legend(loc="outside lower center", frameon=False, ncols=1)
    return bare(ax)


def waterfall(title: str, parts: Sequence[tuple[str, float]], events: Sequence[int], ax: Any = None) -> Any:
    """Draw one bar for each part of a prediction, beginning where the one before it ended.

    Parameters
    ----------
    title : str
    parts : sequence of (str, float)
        The first is where the way begins, the others say by how much it goes up or down.
    events : sequence of int
        The numbers of the events behind the parts after the first, for their colours; further parts are grey.
    ax : Axes, optional
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


def history_curve(sweeps: Sequence[int], errors: Sequence[float], ax: Any = None) -> Any:
    """Draw the training error after each sweep."""
    ax = axes_of(ax, size=(5.5, 3.4))
    ax.plot(sweeps, errors, color=BLUE, marker="o", markersize=3)
    ax.set(xlabel="sweep", ylabel="training RMSE")
    return bare(ax)


def calibration_bins(predicted: Floats, values: Floats, bins: int = 12) -> tuple[Floats, Floats, Rows]:
    """Return mean prediction, mean value and number of cases in the bins of equal width that hold any."""
    place = np.minimum((predicted * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = count > 0
    x, y = (np.bincount(place, weights=column, minlength=bins)[some] / count[some] for column in (predicted, values))
    return x, y, count[some]


def calibration_curve(predicted: Floats, values: Floats, ax: Any = None) -> Any:
    """Draw mean prediction against mean outcome in bins; a dot's area is its number of cases."""
    ax = axes_of(ax, size=(4.6, 4.4))
    x, y, count = calibration_bins(predicted, values)
    ax.plot([0, 1], [0, 1], color="gray", linestyle="--", linewidth=1)
    ax.plot(x, y, color=BLUE)
    ax.scatter(x, y, s=12 + 150 * count / count.max(), color=BLUE)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="mean prediction", ylabel="mean observed")
    return bare(ax)
