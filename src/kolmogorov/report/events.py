"""Events of the report: their share, the items that set them apart, and whether they are told apart at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.attributes import EventAttribute, telling_attributes
from kolmogorov.interpret.events.naming import Event, EventItems

#: Items listed for an event. By judgement: as many as anybody reads.
_LISTED = 40
#: Two events whose items differ by less (root mean square, weighted by observations) say the same; people whose shares
#: differ from the average's by less, half of them, are all alike. By judgement.
_SAME, _ALIKE = 0.1, 0.15


def events(fitted: Fitted, named: bool = True, shown: Fitted | None = None) -> list[dict[str, Any]]:
    """Describe every event; where items are pixels, names of items say nothing and events keep their numbers.

    What happens in an event is counted as the page shows it: `shown` is the model of "happens or not", by default the
    same. `told` are the items that an event is named by, `items` tell most of the event, `common` are liked most in it.
    For `items` and `common`, one after the other, there are the likes found among the event's people, and those
    expected if all events liked the same things. `attributes` say what these mean for the event, where the model knows
    any and its draws agree, and between which ends by how much.
    """
    found, told = EventItems(fitted), telling_attributes(fitted)
    inside = None if shown is None else shown.psi[shown.item_seen].sum(axis=0)
    return [
        {
            "name": event.name if named else f"event {event.number}",
            "share": round(event.share, 5),
            "n_items": event.n_items if inside is None else int(inside[event.number]),
            "told": [] if found.by_people else found.named_rows[event.number],
            "items": list(event.rows),
            "common": _common(found, event.number),
            "attributes": [_attribute(one) for one in told[event.number]],
        }
        | _counted(found, event)
        for event in found.events(_LISTED)
    ]


def _attribute(one: EventAttribute) -> dict[str, Any]:
    return {"words": one.words, "low": round(one.low, 4), "high": round(one.high, 4)}


def _common(found: EventItems, event: int) -> list[int]:
    """Return the items that the event's people like most, whatever others like."""
    likes = found.likes[:, event]
    order = np.argsort(-likes, kind="stable")[:_LISTED]
    rows: list[int] = order[likes[order] > 0.0].tolist()
    return rows


def _counted(found: EventItems, event: Event) -> dict[str, list[float]]:
    """Return likes found and expected: of the items that tell most, then of those most liked."""
    rows = [*event.rows, *_common(found, event.number)]
    counts = {"likes": found.likes, "expected": found.expected}
    return {name: np.round(count[rows, event.number], 2).tolist() for name, count in counts.items()}


def indistinct(fitted: Fitted, names: list[str], nouns: dict[str, list[str]]) -> list[str]:
    """Return sentences about events that are hardly told apart; none where all are.

    Examples
    --------
    >>> import kolmogorov as km
    >>> nouns = {"user": ["animal", "animals"], "item": ["trait", "traits"]}
    >>> indistinct(km.KolmogorovModel(4, random_state=0).fit(km.datasets.load("zoo")).fitted_, list("abcd"), nouns)
    []
    """
    found = []
    same = _same_events(fitted)
    if same:
        first, second = same[0]
        others = f" The same is true of {len(same) - 1} more pair{'s' if len(same) > 2 else ''}." if same[1:] else ""
        found.append(
            f'The events "{names[first]}" and "{names[second]}" are nearly the same: hardly any {nouns["item"][0]} '
            f"differs between them.{others} Fewer events would say as much."
        )
    apart = np.abs(fitted.theta[fitted.user_seen] - fitted.population).sum(axis=1) / 2.0
    if fitted.n_events > 1 and apart.size > 1 and float(np.median(apart)) < _ALIKE:
        found.append(
            f"The {nouns['user'][1]} are hardly told apart: half of them differ from the average mixture of events by "
            f"less than {max(float(np.median(apart)), 0.01):.0%}."
        )
    return found


def _same_events(fitted: Fitted) -> list[tuple[int, int]]:
    """Return pairs of events in which nearly the same happens, the nearest first."""
    psi = fitted.psi.astype(np.float64)
    weight = fitted.item_counts / max(float(fitted.item_counts.sum()), 1.0)
    gram = psi.T @ (psi * weight[:, None])
    square = np.diag(gram)
    distance = np.sqrt(np.maximum(square[:, None] + square - 2.0 * gram, 0.0))
    first, second = np.nonzero(np.triu(distance < _SAME, 1))
    order = np.argsort(distance[first, second], kind="stable")
    return list(zip(first[order].tolist(), second[order].tolist(), strict=True))
