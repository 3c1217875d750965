"""What the report says, as plain data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kolmogorov._support.display import notice
from kolmogorov._support.validation import check_parameters, integer
from kolmogorov.data import Observations
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.interpret.rules import Counting, check_likes
from kolmogorov.models.metrics import held_out
from kolmogorov.report.events import events, indistinct, rounded, rules_of, shown_model
from kolmogorov.report.quality import FEW, Subject, alerts, quality, tested
from kolmogorov.report.table import (
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
    whole = (one.training if observations is None else observations).rescaled(one.scale)
    fresh = held_out(one, whole)
    tell("testing the model")
    test = tested(model, fresh)
    judges = Counting.for_model(one, fresh if len(fresh) >= FEW else None, likes)
    tell("counting rules")
    rules = rules_of(model.rules(likes=likes), judges)
    tell("describing items, events and users")
    shown = shown_users(one, options.max_users)
    named, name = events(one, pixels != "items"), data_name(one, observations)
    return heading(options, name) | {
        "nouns": nouns,
        "table": table_of(one, whole, fresh, name),
        "summary": _summary(model, whole, fresh, likes),
        "alerts": alerts(model, one, test, whole, nouns),
        "quality": quality(test),
        "example": example(one, shown, fresh),
        "events": named,
        "indistinct": indistinct(one, [event["name"] for event in named], nouns),
        "image": options.image,
        "pixels": pixels,
        "items": {
            "names": shown_names(one.items),
            "counts": one.item_counts.tolist(),
            "rates": rounded(judges.rates, 3),
        },
        "model": shown_model(one, shown, _unobserved(model)),
        "rules": rules,
        "users": users(one, shown, fresh),
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
        "n_trained": len(fitted.training),
        "settings": _settings(model),
        "scale": [fitted.scale.minimum, fitted.scale.maximum],
        "likes": round(float(fitted.scale.rating(likes)), 6),
        # From which share on something counts as a yes.
        "likes_share": 0.5 if fitted.training.is_binary else likes,
        "binary": bool(whole.is_binary),
        "judged_on": "held-out" if len(fresh) >= FEW else "training",
        "draws": _draws(model) if model._has_draws else None,
    }


def _settings(model: Any) -> str:
    """Say how the model was found."""
    if model._has_draws:
        return f"{model.fitted_.n_draws} draws, read as one model"
    levels = "two levels" if model.fitted_.psi.dtype == bool else "chances"
    if model.fitted_.learned_from == "draws":
        return f"{levels}, learned from draws"
    return f"{levels}, learned from the ratings, user_reg {model.user_reg}, item_reg {model.item_reg}"


def _draws(model: Any) -> str:
    """Say of which draws the model consists, and how far the one that is shown is from their average."""
    drawn, read = model.fitted_, model._one_model
    distance = read.history[-1].rmse * read.scale.span
    return (
        f"Predictions are averages of {convergence_of(drawn)}. What is read here is one "
        f"model of {read.n_events} events that stands for them, {distance:.3g} away from them (root mean square)."
    )


def _unobserved(model: Any) -> float:
    """Return what an entry that was not observed weighs, as a no, when someone new is placed."""
    return float(model.fitted_.unobserved if isinstance(model.fitted_, Posterior) else model.unobserved_)
