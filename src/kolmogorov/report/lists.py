"""What the page of a model of lists is filled with."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.base import clone

from kolmogorov._support.display import notice
from kolmogorov._support.typing import Rows
from kolmogorov._support.validation import check_parameters, integer
from kolmogorov.data import Observations
from kolmogorov.data.observations import reaching
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import entry_rows
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.models.lists import FittedLists
from kolmogorov.models.metrics import POPULARITY, held_out, popularity_scores
from kolmogorov.models.ranking import least_count
from kolmogorov.report.content import Options, heading
from kolmogorov.report.events import events, shown_model
from kolmogorov.report.page import as_text
from kolmogorov.report.quality import FEW, LENGTH, MODEL, verdict_of
from kolmogorov.report.table import data_name, plurals, shown_names, table_of


def list_example(model: Any, fresh: Observations, length: int) -> dict[str, Any] | None:
    """Take the first item of a list apart, for the user of whom most was held out.

    Returns
    -------
    dict or None
        The user's name, the list, steps from what everybody would get to the score, which add up to it, and whether the
        item was among those held out. None where nothing was.
    """
    fitted = model.fitted_
    users, items = entry_rows(fitted.training, fresh)
    liked = (users >= 0) & (items >= 0) & reaching(fresh.values, fitted.likes)
    if not liked.any():
        return None
    user = int(np.argmax(np.bincount(users[liked], minlength=len(fitted.users))))
    kept = set(items[liked & (users == user)].tolist())
    asked = fitted.users.ids.tolist()[user]
    listed = model._asked(asked, length)["item"]
    rows = fitted.items.encode(listed).tolist()
    if not rows:
        return None
    why = model.explain(asked, listed.tolist()[0])
    return {
        "user": fitted.users.name(user),
        "n_has": int(fitted.user_counts[user]),
        "list": [[fitted.items.name(row), row in kept] for row in rows],
        "n_held_out": len(kept),
        "score": why.score,
        "steps": [[name, amount] for name, amount in why.steps],
    }


#: Items that the page holds, with a weight for each pair of them: some 3 MB. Items of an event that are named, and
#: items whose weights are made at once. By judgement.
_SHOWN, _NAMED, _ROWS = 800, 12, 64


def gather_lists(
    model: Any,
    observations: Observations | None,
    options: Options,
    progress: Callable[[str], Any] | None = None,
) -> dict[str, Any]:
    """Collect everything that the page of a `ListModel` shows; the parameters are those of `report.gather`."""
    tell = progress or (lambda words: notice(f"Report: {words}"))
    _check(options, observations)
    fitted = model.fitted_
    whole = (fitted.training if observations is None else observations).rescaled(fitted.scale)
    fresh = held_out(fitted, whole)
    tell("testing the lists")
    quality = _quality(model, fresh)
    tell("describing items and events")
    counts = fitted.item_counts
    shown = np.lexsort((np.arange(counts.size), -counts))[: min(_SHOWN, int((counts > 0).sum()))]
    titles = shown_names(fitted.items)
    placing = shown_model(fitted.events, np.empty(0, dtype=np.int64), fitted.settings.unobserved)
    name = data_name(fitted, observations)
    return heading(options, name) | {
        "table": table_of(fitted, whole, fresh, name),
        "example": list_example(model, fresh, LENGTH),
        "nouns": plurals(options.nouns),
        "summary": {
            "model": type(model).__name__,
            "settings": f"ridge {fitted.settings.ridge:.3g}, unobserved {fitted.settings.unobserved:.3g}",
            "n_users": int(fitted.user_seen.sum()),
            "n_items": int(fitted.item_seen.sum()),
            "n_trained": len(fitted.training),
            "scale": [fitted.scale.minimum, fitted.scale.maximum],
            "binary": True,
            "likes_share": 1.0,
            "least": least_count(counts, LENGTH),
            "balance": fitted.settings.balance,
            "draws": None,
        },
        "quality": quality,
        "items": {"names": [titles[row] for row in shown], "counts": counts[shown].tolist()},
        "events": [
            {"name": event["name"], "share": event["share"], "items": [titles[row] for row in event["items"][:_NAMED]]}
            for event in events(fitted.events)
        ],
        "model": placing | {"psi": as_text(fitted.events.psi[shown])},
        "links": as_text(_links_among(fitted, shown)),
        "users": {"names": [], "counts": [], "values": [0, 1]},
        "alerts": [],
        "indistinct": [],
        "image": None,
        "pixels": None,
    }


def _check(options: Options, observations: Any) -> None:
    check_parameters("report", {"max_users": options.max_users}, {"max_users": integer(1)})
    if options.image is not None:
        raise ParameterError("'image' is for models whose items or users are pixels, and lists have none.")
    if observations is not None and not isinstance(observations, Observations):
        raise DataError(f"A report takes Observations, got {type(observations).__name__}.")


def _links_among(fitted: FittedLists, shown: Rows) -> Any:
    """Return the weights between the items shown, in their order; float32[n, n]."""
    out = np.empty((shown.size, shown.size), dtype=np.float32)
    for first in range(0, shown.size, _ROWS):
        some = shown[first : first + _ROWS].astype(np.int32)
        each = View(np.arange(some.size + 1), some, np.ones(some.size), np.empty(0))
        out[first : first + _ROWS] = fitted.links.scores(each, np.arange(some.size))[:, shown]
    return out


def _quality(model: Any, fresh: Observations) -> dict[str, Any]:
    """Judge lists by what the model was not trained on; where that is too little, by a fifth of the training data."""
    nothing: dict[str, Any] = {"scores": [], "verdict": None, "lists": LENGTH, "coverage": None, "calibration": []}
    protocol = f"Judged by {len(fresh):,} entries that the model was not trained on."
    if len(fresh) < FEW:
        try:
            train, fresh = model.fitted_.training.split(test_size=0.2, random_state=0, by="user")
        except DataError:
            return {"protocol": "There are too few entries to judge lists by."} | nothing
        # What was chosen is kept: it is the lists that are judged.
        again = clone(model).set_params(random_state=0, callback=None, **asdict(model.settings_))
        model = again.fit(train)
        protocol = (
            "All given data was used for training. So the same settings were fitted to four fifths of it, and judged "
            f"by the remaining {len(fresh):,} entries."
        )
    if not reaching(fresh.values, model.fitted_.likes).any():
        return {"protocol": "Nothing in the data is a yes, so lists cannot be judged."} | nothing
    found = model.evaluate(fresh, ranking=True, k=LENGTH, unknown="ignore")
    scores = {MODEL: found, POPULARITY: popularity_scores(model.fitted_.training, fresh, LENGTH)}
    listed = [{"name": name, **each} for name, each in scores.items()]
    return nothing | {"protocol": protocol, "scores": listed, "verdict": verdict_of(scores)}
