"""What the report says, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.progress import notice
from kolmogorov._support.typing import Rows
from kolmogorov._support.validation import Integer, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret import Relations
from kolmogorov.interpret.answers import Answers, check_likes
from kolmogorov.interpret.arrangement import ranks
from kolmogorov.report.alerts import LITTLE, alerts
from kolmogorov.report.events import events
from kolmogorov.report.example import example
from kolmogorov.report.members import members, reading
from kolmogorov.report.names import addresses, plurals, shown_names
from kolmogorov.report.quality import FEW, quality, tested
from kolmogorov.report.records import shown_users, users
from kolmogorov.report.rules import rounded, rules_of
from kolmogorov.report.weaknesses import weaknesses
from kolmogorov.surface.event_model import EventModel
from kolmogorov.surface.held_out import held_out

Progress = Callable[[str], Any]
_SOFT = (
    "soft values, which shrink as the data ask for, predict and place new users; events, order and rules are read off "
    "the hard ones"
)


@dataclass(frozen=True)
class Options:
    """How a report is made.

    Attributes
    ----------
    title : str
    likes : float
        Values of at least this, on the probability scale, mean yes.
    image : (int, int), optional
        Height and width, where the items are the pixels of pictures, row by row, and the users the pictures; or the
        other way round.
    max_users : int
        Show so many users, those with most observations.
    nouns : (str, str)
        What a user and an item are, such as ("animal", "trait").
    """

    title: str = "Kolmogorov model"
    likes: float = 0.6
    image: tuple[int, int] | None = None
    max_users: int = 10_000
    nouns: tuple[str, str] = ("user", "item")


def gather(
    model: EventModel, observations: Observations | None, options: Options, progress: Progress | None = None
) -> dict[str, Any]:
    """Collect everything that the page shows.

    Parameters
    ----------
    model : KolmogorovModel or BayesianKolmogorovModel
        Fitted. Draws predict together; events, order and rules are those of their consensus.
    observations : Observations or None
        Those that the model was not trained on are used to test it and to count its rules.
    options : Options
    progress : callable, optional
        Called with a few words before each part of the work; by default people at a terminal see them.
    """
    tell = progress or (lambda words: notice(f"Report: {words}"))
    whole_model = model.fitted_.consensus
    _check(options, observations)
    pixels = _pixels(options, len(whole_model.users), len(whole_model.items))
    nouns = plurals(options.nouns)
    fitted = reading(whole_model, options.likes)
    whole = (fitted.training if observations is None else observations).rescaled(fitted.scale)
    fresh = held_out(fitted, whole)
    tell("testing the model")
    test = tested(model, fresh)
    judges = Answers.for_model(fitted, fresh if len(fresh) >= FEW else None, options.likes)
    relations = Relations(fitted)
    tell("counting rules")
    rules = rules_of(relations, judges, model.fitted_ if model.has_draws else None, options.likes)
    tell("arranging the order")
    order = _order(relations)
    tell("describing items, events and users")
    shown = shown_users(fitted, options.max_users)
    titles = shown_names(fitted.items)
    return {
        "title": options.title,
        "nouns": nouns,
        "summary": _summary(model, whole, fresh, options),
        "alerts": alerts(model, fitted, relations, test, whole, nouns),
        "quality": quality(test),
        "wrong": weaknesses(test),
        "example": example(model.fitted_, rules, shown, fresh, options.likes),
        "curve": [[sweep.sweep, round(sweep.rmse, 5)] for sweep in fitted.history],
        "events": events(fitted, titles, named=pixels != "items"),
        "image": options.image,
        "pixels": pixels,
        "items": _items(fitted, titles, relations, judges),
        "psi": ["".join("1" if bit else "0" for bit in row) for row in fitted.psi.tolist()],
        "members": members(model, shown),
        "rules": rules,
        "order": order,
        "users": users(fitted, shown, fresh),
    }


def _check(options: Options, observations: Any) -> None:
    check_parameters("report", {"max_users": options.max_users}, {"max_users": Integer(1)})
    check_likes("report", options.likes)
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


def _summary(model: EventModel, whole: Observations, fresh: Observations, options: Options) -> dict[str, Any]:
    fitted = model.fitted_.consensus
    drawn = model.has_draws
    return {
        "model": type(model).__name__,
        "n_users": int(fitted.user_seen.sum()),
        "n_items": int(fitted.item_seen.sum()),
        "n_events": fitted.n_events,
        "n_trained": len(fitted.training),
        "n_fresh": len(fresh),
        "settings": _settings(model),
        "scale": [fitted.scale.minimum, fitted.scale.maximum],
        "likes": round(float(fitted.scale.rating(options.likes)), 6),
        "likes_share": options.likes,
        "binary": bool(whole.is_binary),
        "judged_on": "held-out" if len(fresh) >= FEW else "training",
        "draws": [model.fitted_.n_draws, model.fitted_.n_chains, model.fitted_.n_events] if drawn else None,
        "graded": fitted.psi.dtype != bool,
        "little": LITTLE,
    }


def _settings(model: EventModel) -> str:
    """Say how the model was found."""
    if not model.has_draws and model.fitted_.levels is not None:
        return (
            f"{len(model.fitted_.levels)} levels, user_reg {model.get_params()['user_reg']}; predictions are tested "
            "with all of them, events, order, rules and users are shown for ratings that mean yes"
        )
    if not model.has_draws:
        given = f"user_reg {model.get_params()['user_reg']}, item_reg {model.get_params()['item_reg']}"
        return given if model.fitted_.soft is None else f"{given}; {_SOFT}"
    posterior = model.fitted_
    return f"{posterior.n_draws} draws of {posterior.n_events} events from {posterior.n_chains} chains"


def _items(fitted: Fitted, titles: list[str], relations: Relations, judges: Answers) -> dict[str, Any]:
    """Describe every item: how often it was seen and liked, and its place in the order."""
    class_of: Rows = np.full(len(fitted.items), -1)
    class_of[relations.supports.members] = relations.supports.class_of
    return {
        "names": titles,
        "ids": addresses(fitted.items),
        "counts": fitted.item_counts.tolist(),
        "rates": rounded(judges.rate, 3),
        "judged": judges.raters.tolist(),
        "influence": rounded(relations.influence, 3),
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
