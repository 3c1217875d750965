"""What a page says of the model: its factors, its events and its rules."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.descent.fitted import Fitted
from kolmogorov.interpret import Relations, Rules
from kolmogorov.interpret.attributes import EventAttribute, telling_attributes
from kolmogorov.interpret.counting import KINDS, Counting
from kolmogorov.interpret.events import Event, EventItems
from kolmogorov.interpret.mining import Limits
from kolmogorov.interpret.rules import joined
from kolmogorov.report.page import as_text, bits, shares


def threshold_of(fitted: Fitted, likes: float) -> float:
    """Return what an item must be in an event, so that it is shown as happening there."""
    return 0.5 if fitted.training.is_binary else likes


def reading(fitted: Fitted, threshold: float) -> Fitted:
    """Return the model of "happens or not" that a fitted one holds."""
    return fitted if fitted.psi.dtype == bool else fitted.reaching(threshold)


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


#: Rules of each kind that are listed, and supported ones kept besides for the lists of single items: from and to each.
#: By judgement.
_RULES, _PER_ITEM = 1000, {"implication": 5, "equivalence": 1}
#: Rules to the same item that follow each other in a list. By judgement.
_LINES = 3
#: Rules to choose from: some hundred megabytes. By judgement.
_MOST = 2_000_000
#: What `supported` says of a rule: that it is shown where nothing else is asked for, or only with its kind.
_SHOWN, _ASKED = 1, 2


def rules_of(relations: Relations, judges: Counting, drawn: Relations | None) -> dict[str, Any]:
    """Return rules as columns: the strongest of each kind, and supported ones that each item's lists need besides.

    Those that the training data support come first, by the limits of `Relations.rules`, and then what else the supports
    say. The base rate of a rule is that of its consequent, which the items hold. Of draws, a rule's probability is the
    share of them in which it holds; rarely is it equal supports, so that there are no equivalences.
    """
    parts, listed, likes = [], [], judges.terms.likes
    kinds = KINDS if drawn is None else tuple(kind for kind in KINDS if kind != "equivalence")
    supported = replace(relations.rules(None, likes, kinds=kinds, max_rules=_MOST), stated=None)
    if drawn is not None:
        probable = replace(supported, probability=_probabilities(drawn, supported))
        supported = supported[Limits().good(probable)]
    known = set(_keys(supported))
    for kind in KINDS:
        own = supported[supported.kind == kind]
        kept = np.union1d(np.arange(min(_RULES, len(own))), _for_items(own, _PER_ITEM.get(kind, 0)))
        parts.append(own[kept])
        listed.append(kept < _RULES)
    n_supported = sum(len(part) for part in parts)
    for kind in KINDS:
        ranked = relations.rules(None, likes, kinds=(kind,), supported=False, max_rules=_MOST)
        ranked = ranked[np.array([key not in known for key in _keys(ranked)], dtype=bool)][:_RULES]
        parts.append(ranked)
        listed.append(np.ones(len(ranked), dtype=bool))
    rules = joined(parts)
    # Rules that the page lists come first, the supported ones before all others.
    others = np.arange(len(rules)) >= n_supported
    order = _in_turn(rules, 2 * ~np.concatenate(listed) + others)
    rules = rules[order]
    counted = rules.recounted(judges)
    first = int(np.concatenate(listed).sum())
    shown = np.where(np.isin(rules.kind, list(_PER_ITEM)), _SHOWN, _ASKED)
    by_kind = [int((supported.kind == kind).sum()) for kind in KINDS]
    return {
        "supported": np.where(others[order], 0, shown).tolist(),
        "looked": supported.n_judged,
        "n_supported": sum(number for kind, number in zip(KINDS, by_kind, strict=True) if kind in _PER_ITEM),
        "n_by_kind": by_kind,
        "expected": rounded(counted.expected, 3),
        "kinds": list(KINDS),
        "listed": first,
        "kind": rules.code.tolist(),
        "from": rules.antecedent.tolist(),
        "to": rules.consequent.tolist(),
        "seen": counted.support.tolist(),
        "held": counted.held.tolist(),
        "p": rounded(np.log10(np.maximum(rules.p_adjusted[:first], 1e-300)), 3),
        "trained": rules.support.tolist(),
        "trained_held": rules.held.tolist(),
        "probability": None if drawn is None else rounded(_probabilities(drawn, rules), 2),
        "counts": relations.counts,
    }


def _in_turn(rules: Rules, group: Rows) -> Rows:
    """Return rules by groups, in each a few to every item, the strongest first, then the next few."""
    strongest = np.lexsort((-np.nan_to_num(rules.strength), rules.consequent, group))
    of = np.stack([group, rules.consequent])[:, strongest]
    begins = np.append(True, (of[:, 1:] != of[:, :-1]).any(axis=0)) if len(rules) else np.empty(0, dtype=bool)
    turn = np.empty(len(rules), dtype=np.int64)
    place = np.arange(len(rules))
    turn[strongest] = (place - np.maximum.accumulate(np.where(begins, place, 0))) // _LINES
    order: Rows = np.lexsort((-np.nan_to_num(rules.strength), turn, group))
    return order


def _keys(rules: Rules) -> list[tuple[int, int, int]]:
    return list(zip(rules.code.tolist(), rules.antecedent.tolist(), rules.consequent.tolist(), strict=True))


def rounded(values: NDArray[np.float64], digits: int = 4) -> list[float | None]:
    """Return numbers to some digits, and None for what is no number."""
    return [round(x, digits) if isfinite(x) else None for x in values.tolist()]


def _for_items(rules: Rules, count: int) -> Rows:
    """Return the places of the strongest rules from and to each item, so many."""
    places = [np.empty(0, dtype=np.int64)]
    for side in (rules.antecedent, rules.consequent):
        # The rules come strongest first; a stable sort by item keeps that order within each.
        order = np.argsort(side, kind="stable")
        starts = np.searchsorted(side[order], side[order], side="left")
        places.append(order[np.arange(len(order)) - starts < count])
    return np.unique(np.concatenate(places))


def _probabilities(drawn: Relations, rules: Rules) -> Floats:
    found = np.empty(len(rules))
    for kind in KINDS:
        mine = rules.kind == kind
        found[mine] = drawn.probabilities(rules.antecedent[mine], rules.consequent[mine], kind)
    return found
