"""What the report says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret import Evidence, Relations
from kolmogorov.interpret.events import describe
from kolmogorov.interpret.evidence import check_likes, says_yes
from kolmogorov.interpret.relations import KINDS
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.report.layout import ranks
from kolmogorov.report.people import people, shown_names
from kolmogorov.report.quality import FEW, quality
from kolmogorov.surface.held_out import held_out

_EVENT_ITEMS = 60
_RULES_SHOWN = 300
#: Rules kept per item and list.
_PER_ITEM = 12
#: Rules to choose from.
_MOST_RULES = 2_000_000


@dataclass(frozen=True)
class Options:
    """How a report is made.

    Attributes
    ----------
    title : str
    likes : float
        Values of at least this, on the probability scale, mean yes.
    image : (int, int), optional
        Height and width, where the items are the pixels of a picture, row by row.
    max_users : int
        Show so many users, those with most observations.
    """

    title: str = "Kolmogorov model"
    likes: float = 0.6
    image: tuple[int, int] | None = None
    max_users: int = 10_000


def gather(model: KolmogorovModel, observations: Observations | None, options: Options) -> dict[str, Any]:
    """Collect everything that the page shows.

    Parameters
    ----------
    model : KolmogorovModel
        Fitted.
    observations : Observations or None
        Those that the model was not trained on are used to test it and to count its rules.
    options : Options
    """
    fitted = model.fitted_
    _check(options, observations, len(fitted.items))
    whole = (fitted.training if observations is None else observations).rescaled(fitted.scale)
    fresh = held_out(fitted, whole)
    judges, place = (fresh, "held-out") if len(fresh) >= FEW else (fitted.training, "training")
    relations = model.relations()
    implied = relations.evaluate(None, options.likes, min_support=0, max_rules=_MOST_RULES)
    return {
        "title": options.title,
        "summary": _summary(model, whole, fresh, options, place),
        "quality": quality(model, fresh),
        "curve": [[sweep.sweep, round(sweep.rmse, 5)] for sweep in fitted.history],
        "events": _events(fitted),
        "image": options.image,
        "items": _items(fitted, relations, implied, judges, options.likes),
        "rules": _rules(relations, implied, judges, options.likes),
        "order": _order(relations),
        "users": people(fitted, implied, options.likes, options.max_users),
    }


def _check(options: Options, observations: Any, n_items: int) -> None:
    check_parameters("report", {"max_users": options.max_users}, {"max_users": Integer(1)})
    check_likes(options.likes)
    if observations is not None and not isinstance(observations, Observations):
        raise DataError(f"A report takes Observations, got {type(observations).__name__}.")
    if options.image is None:
        return
    sides = options.image if isinstance(options.image, tuple) else ()
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        raise ParameterError(f"'image' must be a pair (height, width) of positive integers, got {options.image!r}.")
    height, width = sides
    if height * width != n_items:
        raise ParameterError(
            f"A picture of {height} × {width} has {height * width} pixels, but the model has {n_items} items."
        )


def _summary(
    model: KolmogorovModel, whole: Observations, fresh: Observations, options: Options, place: str
) -> dict[str, Any]:
    fitted = model.fitted_
    return {
        "n_users": int(fitted.user_seen.sum()),
        "n_items": int(fitted.item_seen.sum()),
        "n_events": fitted.n_events,
        "n_trained": len(fitted.training),
        "n_fresh": len(fresh),
        "user_reg": float(model.user_reg),
        "item_reg": float(model.item_reg),
        "scale": [fitted.scale.minimum, fitted.scale.maximum],
        "likes": round(float(fitted.scale.rating(options.likes)), 6),
        "binary": bool(whole.is_binary),
        "judged_on": place,
    }


def _events(fitted: Fitted) -> list[dict[str, Any]]:
    return [
        {"share": round(event.share, 5), "n_items": event.n_items, "items": list(event.rows)}
        for event in describe(fitted, _EVENT_ITEMS)
    ]


def _items(
    fitted: Fitted, relations: Relations, implied: Evidence, judges: Observations, likes: float
) -> dict[str, Any]:
    """Describe every item: its support, how often it was seen and liked, and the rules about it."""
    n = len(fitted.items)
    others = {
        kind: relations.evaluate(None, likes, kinds=(kind,), min_support=0, max_rules=_MOST_RULES)
        for kind in ("equivalence", "exclusion", "coverage")
    }
    rate, counts = _rates(fitted, judges, likes)
    lists = {
        "implies": _chosen(relations, implied, judges, likes, implied.antecedent, implied.consequent, n),
        "implied_by": _chosen(relations, implied, judges, likes, implied.consequent, implied.antecedent, n),
        **{kind: _chosen(relations, rules, judges, likes, rules.antecedent, None, n) for kind, rules in others.items()},
    }
    class_of = np.full(n, -1)
    class_of[relations.supports.members] = relations.supports.class_of
    return {
        "names": shown_names(fitted.items),
        "totals": _totals(relations, n),
        "counts": fitted.item_counts.tolist(),
        "rates": [None if c == 0 else round(float(r), 4) for r, c in zip(rate, counts, strict=True)],
        "judged": counts.tolist(),
        "bits": ["".join("1" if bit else "0" for bit in row) for row in fitted.psi.tolist()],
        "influence": [None if np.isnan(x) else round(float(x), 4) for x in relations.influence],
        "class_of": class_of.tolist(),
        **lists,
    }


def _totals(relations: Relations, n: int) -> dict[str, list[int]]:
    """Count, by item, all relations of each kind, of which the lists show the strongest."""
    totals = {name: np.zeros(n, dtype=np.int64) for name in ("implies", "implied_by", *KINDS[1:])}
    for kind in KINDS:
        for pairs in relations.stream(kind):
            left, right = (np.bincount(side, minlength=n) for side in pairs.T)
            if kind == "implication":
                totals["implies"] += left
                totals["implied_by"] += right
            else:
                totals[kind] += left + right
    return {name: counts.tolist() for name, counts in totals.items()}


def _chosen(
    relations: Relations,
    rules: Evidence,
    judges: Observations,
    likes: float,
    subject: NDArray[np.int64],
    partner: NDArray[np.int64] | None,
    n: int,
) -> list[list[list[int]]]:
    """Keep the strongest rules of each subject and count them on the judges: lists of (partner, counts)."""
    other = rules.consequent if partner is None else partner
    # The rules come strongest first; a stable sort by subject keeps that order within each.
    order = np.argsort(subject, kind="stable")
    starts = np.searchsorted(subject[order], subject[order], side="left")
    kept = order[np.arange(len(order)) - starts < _PER_ITEM]
    counted = relations.evaluate(judges, likes, rules=rules.take(kept))
    lists: list[list[list[int]]] = [[] for _ in range(n)]
    for row, *cells in zip(
        subject[kept].tolist(), other[kept].tolist(), *_counts(counted, rules.take(kept)), strict=True
    ):
        lists[row].append(cells)
    return lists


def _counts(counted: Evidence, trained: Evidence) -> list[list[int]]:
    """Return the four columns: seen and held by the judges, seen and held in training."""
    return [column.tolist() for column in (counted.support, counted.held, trained.support, trained.held)]


def _rates(fitted: Fitted, judges: Observations, likes: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the share of yes to each item of the model among the judges, and how many there are."""
    rows = fitted.items.translate(judges.items)[judges.item_rows()]
    known = rows >= 0
    yes = says_yes(judges.values, likes)[known]
    counts = np.bincount(rows[known], minlength=len(fitted.items))
    return np.bincount(rows[known], weights=yes, minlength=len(fitted.items)) / np.maximum(counts, 1), counts


def _rules(relations: Relations, implied: Evidence, judges: Observations, likes: float) -> list[list[Any]]:
    """Count the strongest implications on the judges: (antecedent, consequent, counts)."""
    chosen = implied.take(slice(0, _RULES_SHOWN))
    counted = relations.evaluate(judges, likes, rules=chosen)
    columns = (chosen.antecedent.tolist(), chosen.consequent.tolist(), *_counts(counted, chosen))
    return [list(row) for row in zip(*columns, strict=True)]


def _order(relations: Relations) -> dict[str, Any]:
    order = relations.order
    return {
        "members": [rows.tolist() for rows in order.classes],
        "levels": order.levels.tolist(),
        "ranks": ranks(order),
        "covers": order.covers.tolist(),
    }
