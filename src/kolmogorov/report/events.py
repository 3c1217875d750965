"""What a page says of the model: its factors, its events and its rules."""

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Rows
from kolmogorov.descent.fitted import Fitted
from kolmogorov.interpret import Rules
from kolmogorov.interpret.attributes import telling_attributes
from kolmogorov.interpret.events import EventItems
from kolmogorov.interpret.rules import Counting
from kolmogorov.report.page import as_text, bits, shares

#: Items listed for an event, and rules, of which a page shows twenty, and all of an item that is chosen. By judgement.
_LISTED, _RULES = 8, 1_000
#: Two events whose items differ by less (root mean square, weighted by observations) say the same; people whose shares
#: differ from the average's by less, half of them, are all alike. By judgement.
_SAME, _ALIKE = 0.1, 0.15


def shown_model(fitted: Fitted, rows: Rows, unobserved: float) -> dict[str, Any]:
    """Describe a model by what the page needs to predict, and to place someone new.

    Parameters
    ----------
    fitted : Fitted
    rows : int64[n]
        The users that the page shows.
    unobserved : float
        What an entry that was not observed weighs, as a no.

    Returns
    -------
    dict
        The psis of all items, the thetas of the users shown and of the population. Someone new is at the smallest
        x.Qx - 2 w.x: `gram` and `moment` are what Q and w begin with, the pull and all items as a no; what is known of
        an item adds to Q with `weight`.
    """
    psi, pull = fitted.psi.astype(np.float64), fitted.user_pull
    return _items(fitted) | {
        "theta": shares(fitted.theta[rows]),
        "population": fitted.population.tolist(),
        "centre": pull.centre.tolist(),
        "gram": (pull.strength + unobserved * (psi.T @ psi)).tolist(),
        "moment": (pull.strength @ pull.centre).tolist(),
        "weight": 1.0 - unobserved,
    }


def _items(fitted: Fitted) -> dict[str, Any]:
    """Return psi as text, and how it is to be read: as bits, or as numbers.

    Nothing is rounded: what the page expects of someone new is what `recommend` says.
    """
    if fitted.psi.dtype == bool:
        return {"kind": "bits", "psi": bits(fitted.psi)}
    return {"kind": "chances", "psi": as_text(fitted.psi.astype(np.float64))}


def events(fitted: Fitted, named: bool = True) -> list[dict[str, Any]]:
    """Describe every event; where items are pixels, names of items say nothing and events keep their numbers.

    `items` tell most of the event; `attributes` say what these mean for it, where the model knows any and its draws
    agree.
    """
    told = telling_attributes(fitted)
    return [
        {
            "name": event.name if named else f"event {event.number}",
            "share": round(event.share, 5),
            "stability": event.stability if isfinite(event.stability) else None,
            "items": list(event.rows),
            "attributes": [{"words": one.words} for one in told[event.number]],
        }
        for event in EventItems(fitted).events(_LISTED)
    ]


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


def rules_of(rules: Rules, judges: Counting) -> dict[str, Any]:
    """Return the strongest rules, counted on the training data, as columns, and how they fare with `judges`."""
    looked, rules = rules.n_judged, rules[:_RULES]
    counted = rules.recounted(judges)
    return {
        "looked": looked,
        "kind": rules.kind.tolist(),
        "from": rules.antecedent.tolist(),
        "to": rules.consequent.tolist(),
        "seen": counted.support.tolist(),
        "held": counted.held.tolist(),
        "base": rounded(rules.base_rate, 3),
        "trained": rules.support.tolist(),
        "trained_held": rules.held.tolist(),
    }


def rounded(values: NDArray[np.float64], digits: int = 4) -> list[float | None]:
    """Return numbers to some digits, and None for what is no number."""
    return [round(x, digits) if isfinite(x) else None for x in values.tolist()]
