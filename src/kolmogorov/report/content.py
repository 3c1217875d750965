"""What the report says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.validation import Integer, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret import Relations
from kolmogorov.interpret.answers import Answers, check_likes
from kolmogorov.interpret.events import describe
from kolmogorov.report.layout import ranks
from kolmogorov.report.quality import FEW, quality
from kolmogorov.report.rules import rounded, rules_of
from kolmogorov.report.users import shown_names, users
from kolmogorov.surface.event_model import EventModel
from kolmogorov.surface.held_out import held_out

_EVENT_ITEMS = 60


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


def gather(model: EventModel, observations: Observations | None, options: Options) -> dict[str, Any]:
    """Collect everything that the page shows.

    Parameters
    ----------
    model : KolmogorovModel or BayesianKolmogorovModel
        Fitted. Draws predict together; events, order and rules are those of their consensus.
    observations : Observations or None
        Those that the model was not trained on are used to test it and to count its rules.
    options : Options
    """
    fitted = model.fitted_.consensus
    _check(options, observations, len(fitted.items))
    if fitted.levels is not None:
        # Everything but the test speaks of ratings that mean yes, for which a threshold makes a model of two levels.
        fitted = fitted.reaching(options.likes)
    whole = (fitted.training if observations is None else observations).rescaled(fitted.scale)
    fresh = held_out(fitted, whole)
    fresh_enough = len(fresh) >= FEW
    judges = Answers.for_model(fitted, fresh if fresh_enough else None, options.likes)
    relations = Relations(fitted)
    strongest, lists = rules_of(relations, judges)
    return {
        "title": options.title,
        "summary": _summary(model, whole, fresh, options, "held-out" if fresh_enough else "training"),
        "quality": quality(model, fresh),
        "curve": [[sweep.sweep, round(sweep.rmse, 5)] for sweep in fitted.history],
        "events": _events(fitted),
        "image": options.image,
        "items": _items(fitted, relations, judges) | lists,
        "rules": strongest,
        "order": _order(relations),
        "users": users(fitted, options.likes, options.max_users),
    }


def _check(options: Options, observations: Any, n_items: int) -> None:
    check_parameters("report", {"max_users": options.max_users}, {"max_users": Integer(1)})
    check_likes("report", options.likes)
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
    model: EventModel, whole: Observations, fresh: Observations, options: Options, place: str
) -> dict[str, Any]:
    fitted = model.fitted_.consensus
    return {
        "n_users": int(fitted.user_seen.sum()),
        "n_items": int(fitted.item_seen.sum()),
        "n_events": fitted.n_events,
        "n_trained": len(fitted.training),
        "n_fresh": len(fresh),
        "settings": _settings(model),
        "scale": [fitted.scale.minimum, fitted.scale.maximum],
        "likes": round(float(fitted.scale.rating(options.likes)), 6),
        "binary": bool(whole.is_binary),
        "judged_on": place,
    }


def _settings(model: EventModel) -> str:
    """Say how the model was found."""
    if not model.has_draws and model.fitted_.levels is not None:
        return (
            f"{len(model.fitted_.levels)} levels, user_reg {model.get_params()['user_reg']:g}; predictions are tested "
            "with all of them, events, order, rules and users are shown for ratings that mean yes"
        )
    if not model.has_draws:
        return f"user_reg {model.get_params()['user_reg']:g}, item_reg {model.get_params()['item_reg']:g}"
    posterior = model.fitted_
    return (
        f"{posterior.n_draws} draws of {posterior.n_events} events from {posterior.n_chains} chains; predictions are "
        "tested with all of them, events, order, rules and users are shown by their consensus"
    )


def _events(fitted: Fitted) -> list[dict[str, Any]]:
    return [
        {"share": round(event.share, 5), "n_items": event.n_items, "items": list(event.rows)}
        for event in describe(fitted, _EVENT_ITEMS)
    ]


def _items(fitted: Fitted, relations: Relations, judges: Answers) -> dict[str, Any]:
    """Describe every item: its support, and how often it was seen and liked."""
    class_of = np.full(len(fitted.items), -1)
    class_of[relations.supports.members] = relations.supports.class_of
    return {
        "names": shown_names(fitted.items),
        "counts": fitted.item_counts.tolist(),
        "rates": rounded(judges.rate),
        "judged": judges.raters.tolist(),
        "bits": ["".join("1" if bit else "0" for bit in row) for row in fitted.psi.tolist()],
        "influence": rounded(relations.influence),
        "class_of": class_of.tolist(),
    }


def _order(relations: Relations) -> dict[str, Any]:
    order = relations.order
    return {
        "members": [rows.tolist() for rows in order.classes],
        "levels": order.levels.tolist(),
        "ranks": ranks(order),
        "covers": order.covers.tolist(),
    }
