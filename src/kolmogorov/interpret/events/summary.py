"""What a model has learned, as a notebook shows it."""

from __future__ import annotations

from kolmogorov._support.markup import bars, card, note
from kolmogorov.fitted.base import Trained
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems
from kolmogorov.plot.palette import colour

#: Events that are named.
_NAMED = 12


def summary(name: str, fitted: Fitted, settings: str) -> str:
    """Return the events by name and share, with what they were learned from.

    Parameters
    ----------
    name : str
        Of the model's class.
    fitted : Fitted
        Of draws the one model that stands for them.
    settings : str
        How it was found, in words.
    """
    share = fitted.theta_or_population[-1]
    order = sorted(range(fitted.n_events), key=lambda event: -share[event])[:_NAMED]
    names = EventItems(fitted).names()
    return card(
        f"{name}: {fitted.n_events} events",
        note(f"{_data(fitted)}; {settings}"),
        bars(
            [names[event] for event in order],
            [float(share[event]) for event in order],
            [f"{share[event]:.0%}" for event in order],
            [colour(event) for event in order],
        ),
        note(f"and {fitted.n_events - len(order)} more") if fitted.n_events > len(order) else "",
        note(f"last training error (RMSE): {fitted.history[-1].rmse:.4f}") if fitted.history else "",
    )


def _data(trained: Trained) -> str:
    users, items = int(trained.user_seen.sum()), int(trained.item_seen.sum())
    return f"learned from {len(trained.training):,} observations of {users:,} users and {items:,} items"
