"""Pictures of what a model has learned, of explanations and of rules, in the colours of the report (extra `plot`)."""

from collections.abc import Sequence
from functools import cached_property
from textwrap import fill
from typing import Any

import numpy as np

from kolmogorov._support.outside import require
from kolmogorov.descent.fitted import Fitted
from kolmogorov.interpret.events import GREY, Event, EventItems, colour, shortened
from kolmogorov.interpret.relations import Supports
from kolmogorov.models.ids import id_of, rows_of


def axes_of(ax: Any = None, *, size: tuple[float, float] | None = None) -> Any:
    """Return the given Axes, or those of a new figure of some size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot", purpose="A plot")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def short(text: str, longest: int = 32) -> str:
    """Cut a long name; a dollar sign would begin a formula."""
    return shortened(text, longest).replace("$", r"\$")


def bare(ax: Any) -> Any:
    """Take away the frame where it says nothing, and return the Axes."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def waterfall(title: str, parts: Sequence[tuple[str, float]], colours: Sequence[str], ax: Any = None) -> Any:
    """Draw one bar for each part of a prediction, beginning where the one before it ended."""
    ax = axes_of(ax, size=(7.5, 1.4 + 0.36 * len(parts)))
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


def _percent(share: float, _: Any) -> str:
    return f"{share:.0%}"


class Pictures:
    """Pictures of a fitted model; every method takes matplotlib Axes, or makes some, and returns them.

    Examples
    --------
    >>> import kolmogorov as km
    >>> zoo = km.datasets.load("zoo")
    >>> model = km.KolmogorovModel(5, random_state=0).fit(zoo)
    >>> model.plot.events().get_xlabel()
    'share of the population'
    """

    def __init__(self, read: Fitted) -> None:
        # What is drawn; of draws the one model that stands for them.
        self._fitted = read

    @cached_property
    def _events(self) -> list[Event]:
        return EventItems(self._fitted).events(0)

    def events(self, ax: Any = None) -> Any:
        """Draw the share of each event, named by the items that set it apart."""
        ax = axes_of(ax, size=(7.0, 0.6 + 0.32 * len(self._events)))
        events = sorted(self._events, key=lambda event: event.share)
        names, tints = [short(event.name, 48) for event in events], [colour(event.number) for event in events]
        ax.barh(names, [event.share for event in events], color=tints)
        ax.set_xlabel("share of the population")
        ax.xaxis.set_major_formatter(_percent)
        return bare(ax)

    def users(self, users: Any = None, max_rows: int = 20, ax: Any = None) -> Any:
        """Draw what some users are made of: a bar for each, with the probability of every event.

        Parameters
        ----------
        users : list of ids or titles, optional
            By default those with most observations. They are ordered by the event that they are most in.
        max_rows : int
            How many there are by default.
        ax : Axes, optional
        """
        fitted = self._fitted
        if users is None:
            rows = np.argsort(-fitted.training.rows.counts, kind="stable")[:max_rows]
        else:
            ids = [id_of(fitted.users, user, "user") for user in users]
            rows = rows_of(fitted.users, fitted.user_known, ids, "user", "error")
        theta = fitted.theta[rows]
        order = np.lexsort((-theta.max(axis=1), theta.argmax(axis=1)))
        theta, names = theta[order], [fitted.users.name(row) for row in rows[order].tolist()]
        ax = axes_of(ax, size=(8.0, 0.9 + 0.3 * len(names) + 0.22 * len(self._events)))
        start, places = np.zeros(len(names)), np.arange(len(names))
        for event in self._events:
            called = ", ".join(event.users) if fitted.users.are_names else event.name
            share = theta[:, event.number]
            ax.barh(places, share, left=start, color=colour(event.number), height=0.72, label=short(called, 80))
            start = start + share
        ax.set(yticks=places, xlim=(0, 1), ylim=(-0.6, len(names) - 0.4), xlabel="probability of each event")
        ax.set_yticklabels([short(name) for name in names])
        ax.xaxis.set_major_formatter(_percent)
        ax.invert_yaxis()
        ax.figure.legend(loc="outside lower center", frameon=False, ncols=1)
        return bare(ax)

    def matrix(self, max_rows: int = 30, ax: Any = None) -> Any:
        """Draw the supports that most observations are about, one line for each; equal ones share it.

        A dot is as opaque as its psi.
        """
        counts, size = self._fitted.item_counts, self._fitted.n_events
        classes = Supports(self._fitted.psi >= 0.5, np.flatnonzero(self._fitted.item_seen)).classes
        classes = sorted(classes, key=lambda rows: -int(counts[rows].sum()))[:max_rows]
        ax, tints = axes_of(ax, size=(3.2 + 0.34 * size, 1.6 + 0.26 * len(classes))), [*map(colour, range(size))]
        for row, members in enumerate(classes):
            psi = np.clip(self._fitted.psi[members].mean(axis=0, dtype=np.float64), 0.0, 1.0)
            inside = np.flatnonzero(psi > 0.5)
            if len(inside) > 1:
                ax.plot([inside[0], inside[-1]], [row, row], color="gray", linewidth=1, zorder=1)
            ax.scatter(range(size), [row] * size, s=14, color="gray", alpha=0.25, linewidth=0, zorder=2)
            ax.scatter(range(size), [row] * size, s=55, color=tints, alpha=psi, linewidth=0, zorder=3)
        best = [shortened(self._fitted.items.name(int(rows[counts[rows].argmax()])), 28) for rows in classes]
        more = [f" +{len(rows) - 1}" if len(rows) > 1 else "" for rows in classes]
        ax.set_yticks(range(len(classes)), [short(one + rest) for one, rest in zip(best, more, strict=True)])
        names = [short(event.name, 24) for event in self._events]
        ax.set_xticks(range(size), names, rotation=50, ha="left", rotation_mode="anchor")
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.set_ylim(len(classes) - 0.4, -0.6)
        ax.spines[:].set_visible(False)
        return ax
