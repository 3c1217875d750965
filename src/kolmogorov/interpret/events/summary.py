"""What a model has learned, as a notebook shows it."""

from __future__ import annotations

from kolmogorov._support.markup import bars, card, note
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems
from kolmogorov.plot import colour

#: Events that are named: what fits on a screen. By judgement.
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
    events = sorted(EventItems(fitted).events(0), key=lambda event: -event.share)
    shown, rest = events[:_NAMED], len(events) - _NAMED
    users, items = int(fitted.user_seen.sum()), int(fitted.item_seen.sum())
    data = f"learned from {len(fitted.training):,} observations of {users:,} users and {items:,} items"
    return card(
        f"{name}: {len(events)} events",
        note(f"{data}; {settings}"),
        bars(
            [event.name for event in shown],
            [event.share for event in shown],
            [f"{event.share:.0%}" for event in shown],
            [colour(event.number) for event in shown],
        ),
        note(f"and {rest} more") if rest > 0 else "",
        note(f"last training error (RMSE): {fitted.history[-1].rmse:.4f}") if fitted.history else "",
    )
