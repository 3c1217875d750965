"""What the report says, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.progress import notice
from kolmogorov._support.typing import Rows
from kolmogorov._support.validation import check_parameters, integer
from kolmogorov.data import Observations
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.interpret import Relations
from kolmogorov.interpret.counting import Counting, check_likes
from kolmogorov.models.metrics import held_out
from kolmogorov.report.events import events, indistinct, reading, rounded, rules_of, shown_model, threshold_of
from kolmogorov.report.quality import FEW, LITTLE, Subject, alerts, quality, tested, weaknesses
from kolmogorov.report.table import (
    addresses,
    data_name,
    example,
    plurals,
    shown_names,
    shown_users,
    table_of,
    today,
    users,
)

Progress = Callable[[str], Any]


@dataclass(frozen=True)
class Options:
    """How a report is made; `model.report` says what each option means."""

    title: str | None = None
    subtitle: str | None = None
    likes: float | None = None
    image: tuple[int, int] | None = None
    max_users: int = 10_000
    nouns: tuple[str, str] = ("user", "item")


def gather(
    model: Subject, observations: Observations | None, options: Options, progress: Progress | None = None
) -> dict[str, Any]:
    """Collect everything that the page shows.

    Parameters
    ----------
    model : KolmogorovModel or BayesianKolmogorovModel
        Fitted. Draws are tested together; the page is that of the one model that stands for them.
    observations : Observations or None
        Those that the model was not trained on are used to test it and to count its rules.
    options : Options
    progress : callable, optional
        Called with a few words before each part of the work; by default people at a terminal see them.
    """
    tell = progress or (lambda words: notice(f"Report: {words}"))
    one = model._one_model
    likes = one.likes if options.likes is None else options.likes
    _check(options, likes, observations)
    pixels = _pixels(options, len(one.users), len(one.items))
    nouns = plurals(options.nouns)
    threshold = threshold_of(one, likes)
    fitted = reading(one, threshold)
    whole = (fitted.training if observations is None else observations).rescaled(fitted.scale)
    fresh = held_out(fitted, whole)
    tell("testing the model")
    test = tested(model, fresh)
    judges = Counting.for_model(fitted, fresh if len(fresh) >= FEW else None, likes)
    relations = Relations(fitted)
    tell("counting rules")
    drawn = Relations(fitted, model.fitted_, level=threshold) if model._has_draws else None
    rules = rules_of(relations, judges, drawn)
    tell("arranging the order")
    order = _order(relations)
    tell("describing items, events and users")
    shown = shown_users(fitted, options.max_users)
    titles = shown_names(fitted.items)
    named, name = events(one, pixels != "items", fitted), data_name(fitted, observations)
    return heading(options, name) | {
        "nouns": nouns,
        "table": table_of(fitted, whole, fresh, name),
        "summary": _summary(model, whole, fresh, likes),
        "alerts": alerts(model, one, relations, test, whole, nouns),
        "quality": quality(test),
        "wrong": weaknesses(test),
        "example": example(one, shown, fresh),
        "curve": [[sweep.sweep, round(sweep.rmse, 5)] for sweep in fitted.history],
        "events": named,
        "indistinct": indistinct(one, [event["name"] for event in named], nouns),
        "image": options.image,
        "pixels": pixels,
        "items": _items(fitted, titles, relations, judges),
        "psi": ["".join("1" if bit else "0" for bit in row) for row in fitted.psi.tolist()],
        "model": shown_model(one, shown, _unobserved(model)),
        "rules": rules,
        "order": order,
        "users": users(fitted, shown, fresh),
    }


def heading(options: Options, name: str) -> dict[str, str]:
    """Return title and subtitle: as given, or the name of the data and the date."""
    title = name or "Kolmogorov model" if options.title is None else options.title
    return {"title": title, "subtitle": today() if options.subtitle is None else options.subtitle}


def _check(options: Options, likes: float, observations: Any) -> None:
    check_parameters("report", {"max_users": options.max_users}, {"max_users": integer(1)})
    check_likes("report", likes)
    if observations is not None and not isinstance(observations, Observations):
        raise DataError(f"A report takes Observations, got {type(observations).__name__}.")


def _pixels(options: Options, n_users: int, n_items: int) -> str | None:
    """Tell which side of the table is pixels: items if both could be; None where there are no pictures."""
    if options.image is None:
        return None
    sides = options.image if isinstance(options.image, tuple) else ()
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
        raise ParameterError(f"'image' must be a pair (height, width) of positive integers, got {options.image!r}.")
    size = sides[0] * sides[1]
    if size not in (n_items, n_users):
        raise ParameterError(
            f"A picture of {sides[0]} × {sides[1]} has {size} pixels, but the model has {n_items} items (and {n_users} "
            "users)."
        )
    if size != n_items and options.max_users < n_users:
        raise ParameterError(f"The users are pixels and all must be shown: give max_users of at least {n_users}.")
    return "items" if size == n_items else "users"


def _summary(model: Subject, whole: Observations, fresh: Observations, likes: float) -> dict[str, Any]:
    fitted = model._one_model
    return {
        "model": type(model).__name__,
        "n_users": int(fitted.user_seen.sum()),
        "n_items": int(fitted.item_seen.sum()),
        "n_events": fitted.n_events,
        "n_trained": len(fitted.training),
        "n_fresh": len(fresh),
        "settings": _settings(model),
        "scale": [fitted.scale.minimum, fitted.scale.maximum],
        "likes": round(float(fitted.scale.rating(likes)), 6),
        # From which share on something counts as a yes, answered or expected.
        "likes_share": threshold_of(fitted, likes),
        "binary": bool(whole.is_binary),
        "judged_on": "held-out" if len(fresh) >= FEW else "training",
        "draws": _draws(model.fitted_, fitted) if model._has_draws else None,
        "learned_from": fitted.learned_from,
        "threshold": None if fitted.psi.dtype == bool else threshold_of(fitted, likes),
        "little": LITTLE,
    }


def _settings(model: Any) -> str:
    """Say how the model was found."""
    if isinstance(model.fitted_, Posterior):
        return f"{model.fitted_.n_draws} draws, read as one model"
    fitted = model.fitted_
    levels = "two levels" if fitted.psi.dtype == bool else "chances"
    if fitted.learned_from == "draws":
        return f"{levels}, learned from draws"
    return f"{levels}, learned from the ratings, user_reg {model.user_reg}, item_reg {model.item_reg}"


def _draws(posterior: Posterior, read: Fitted) -> dict[str, Any]:
    """Say of which draws the model consists, and how far the one that is shown is from their average."""
    return {
        "n_draws": posterior.n_draws,
        "n_chains": posterior.n_chains,
        "n_events": posterior.n_events,
        "distance": round(read.history[-1].rmse, 6),
        "agreement": f"{convergence_of(posterior)}.",
    }


def _unobserved(model: Any) -> float:
    """Return what an entry that was not observed weighs, as a no, when someone new is placed."""
    return float(model.fitted_.unobserved if isinstance(model.fitted_, Posterior) else model.unobserved_)


def _items(fitted: Fitted, titles: list[str], relations: Relations, judges: Counting) -> dict[str, Any]:
    """Describe every item: how often it was seen and liked, and its place in the order."""
    class_of: Rows = np.full(len(fitted.items), -1)
    class_of[relations.supports.members] = relations.supports.class_of
    return {
        "names": titles,
        "ids": addresses(fitted.items),
        "counts": fitted.item_counts.tolist(),
        "rates": rounded(judges.rates, 3),
        "judged": judges.raters.tolist(),
        "influence": rounded(relations.influence, 3),
        "class_of": class_of.tolist(),
    }


def _order(relations: Relations) -> dict[str, Any]:
    order = relations.order
    return {
        "members": [rows.tolist() for rows in order.classes],
        "levels": order.levels.tolist(),
        "ranks": order.ranks.tolist(),
        "covers": order.covers.tolist(),
    }
