"""What a model answers to requests, as plain data, and whether anybody waits for it; it knows nothing of the web."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from kolmogorov.data import Vocabulary
from kolmogorov.errors import KolmogorovError, UnknownIdError, UnknownIdWarning
from kolmogorov.interpret.explanation import Explanation, explain
from kolmogorov.interpret.lists import ListExplanation
from kolmogorov.models.event_model import EventModel
from kolmogorov.models.ids import observations_of_several
from kolmogorov.models.lists import ListModel
from kolmogorov.models.ranking import predicted_columns


class UnwantedError(KolmogorovError):
    """Nobody waits for the answer any more."""


class Wanted:
    """Tells the thread that computes an answer whether it is still wanted."""

    def __init__(self) -> None:
        self._ended = False

    def end(self) -> None:
        """Say that nobody waits any more."""
        self._ended = True

    def check(self) -> None:
        """Raise where nobody waits any more."""
        if self._ended:
            raise UnwantedError("Nobody waits for this answer.")


#: Of the request that is being answered; a thread that answers it has it too.
WANTED: ContextVar[Wanted | None] = ContextVar("wanted", default=None)


def check_wanted() -> None:
    """Raise `UnwantedError` between two parts of an answer where nobody waits for it any more."""
    wanted = WANTED.get()
    if wanted is not None:
        wanted.check()


def parts_of(count: int, size: int) -> list[slice]:
    """Return so many things in parts of at most a size.

    Examples
    --------
    >>> parts_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return [slice(first, first + size) for first in range(0, count, size)]


#: Scores of users' lists, and guests, that are computed between two looks whether the answer is still wanted. Of draws
#: scores are counted in each, and guests are fewer, whom every draw places.
_SCORES, _GUESTS, _GUESTS_OF_DRAWS = 1 << 22, 32, 4


def predicted(model: Any, pairs: Sequence[tuple[str, str]], *, strict: bool) -> list[dict[str, Any]]:
    """Return the probability and the rating of each pair, of lists a score; the unknown is average, and marked."""
    users, items = _rows(model, [pair[0] for pair in pairs], "user"), _rows(model, [pair[1] for pair in pairs], "item")
    fitted = model.fitted_
    known = (users >= 0) & (items >= 0)
    if strict and not known.all():
        pair = pairs[int(np.argmin(known))]
        what, given = ("user", pair[0]) if users[int(np.argmin(known))] < 0 else ("item", pair[1])
        raise UnknownIdError(f"The model has no data on {what} {given!r}.")
    users, items = np.where(users < 0, len(fitted.users), users), np.where(items < 0, len(fitted.items), items)
    found = _records(predicted_columns(fitted, fitted.at_rows(users, items)))
    return [
        {"user": pair[0], "item": pair[1], **said, "known": bool(k)}
        for pair, said, k in zip(pairs, found, known, strict=True)
    ]


def recommended(
    model: Any, users: Sequence[str], n: int, *, exclude_seen: bool = True, min_count: int | None = None
) -> list[dict[str, Any]]:
    """Return the list of each user; one who is named several times is asked for once."""
    ids = [_known(model, user, "user") for user in users]
    distinct = list(dict.fromkeys(ids))
    lists: dict[Any, list[dict[str, Any]]] = {user: [] for user in distinct}
    each = len(model.items_) * getattr(model.fitted_, "n_draws", 1)
    for part in parts_of(len(distinct), max(1, _SCORES // each)):
        check_wanted()
        for row in _records(model._asked(distinct[part], n, min_count=min_count, exclude_seen=exclude_seen)):
            lists[row.pop("user")].append(row)
    return [{"user": user, "items": lists[i]} for user, i in zip(users, ids, strict=True)]


def recommended_to_guests(
    model: Any, guests: Sequence[Mapping[str, float]], n: int, *, min_count: int | None = None
) -> list[dict[str, Any]]:
    """Return the list of each guest, and which of their items the model does not know."""
    names = model.items_
    strange = [[key for key in ratings if names.rows_of([_parsed(names, key)])[0] < 0] for ratings in guests]
    lists: list[list[dict[str, Any]]] = [[] for _ in guests]
    some = _GUESTS_OF_DRAWS if hasattr(model.fitted_, "n_draws") else _GUESTS
    for part in parts_of(len(guests), some):
        check_wanted()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownIdWarning)
            told = observations_of_several(model.fitted_, guests[part])
            columns = model._asked(told, n, min_count=min_count)
        for row in _records(columns):
            lists[part.start + int(row.pop("user"))].append(row)
    return [{"items": items, "left_out": left} for items, left in zip(lists, strange, strict=True)]


def explained(model: Any, user: str, item: str, *, rules: bool = False) -> dict[str, Any]:
    """Return what everybody would get, and what sets this user's prediction apart, step by step."""
    user_id, item_id = _known(model, user, "user"), _known(model, item, "item")
    why: Explanation | ListExplanation
    if isinstance(model, EventModel):
        why = explain(model.fitted_, model._one_model, user_id, item_id, "error", None, with_reasons=rules)
    else:
        why = model.explain(user_id, item_id)
    return {
        "user": user,
        "item": item,
        "sentence": why.sentence,
        **why.said,
        "steps": [{"name": name, "amount": float(amount)} for name, amount in why.steps],
        "rules": [_reason(reason) for reason in getattr(why, "reasons", ())],
    }


def similar(model: Any, item: str, n: int) -> list[dict[str, Any]]:
    """Return the items most like one."""
    return _records(model._similar_columns(_known(model, item, "item"), n))


def events(model: Any, n_items: int = 10) -> list[dict[str, Any]]:
    """Return the events, each by its share and by what its people like more than everybody does."""
    return [
        {"number": event.number, "name": event.name, "share": float(event.share), "items": list(event.items)}
        for event in model.events(n_items)
    ]


def found_items(model: Any, text: str, n: int) -> list[dict[str, Any]]:
    """Return items whose name holds a text, those observed most often first; of no text, all of them."""
    fitted, wanted = model.fitted_, text.casefold()
    names = fitted.items.ids if fitted.items.labels is None else fitted.items.labels
    counts = fitted.item_counts
    order = np.argsort(-counts, kind="stable")
    found = []
    for row in order.tolist():
        if wanted in str(names[row]).casefold():
            found.append({"item": fitted.items.ids[row], "title": str(names[row]), "count": int(counts[row])})
            if len(found) == n:
                break
    return found


def described(model: Any) -> dict[str, Any]:
    """Return what is served, in numbers."""
    fitted = model.fitted_
    return {
        "model": type(model).__name__,
        "users": len(fitted.users),
        "items": len(fitted.items),
        "ratings": len(fitted.training),
        "scale": {"minimum": fitted.scale.minimum, "maximum": fitted.scale.maximum},
    }


def warmed(model: Any) -> Any:
    """Return a model after it has answered once: what it makes at first use is there before anybody waits for it."""
    fitted = model.fitted_
    user, item = fitted.users.ids[fitted.user_seen][0], fitted.items.ids[fitted.item_seen][0]
    predicted(model, [(user, item)], strict=False)
    recommended(model, [user], 1)
    similar(model, item, 1)
    if isinstance(model, (EventModel, ListModel)):
        recommended_to_guests(model, [{item: float(fitted.scale.maximum)}], 1)
        explained(model, user, item)
    return model


def _known(model: Any, given: str, what: str) -> str:
    """Return the id of a user or an item; an error names nobody but who was asked for, and items like a wrong one."""
    names = model.users_ if what == "user" else model.items_
    row = _rows(model, [names.parse(given)], what)[0]
    if row < 0:
        near = "" if what == "user" else names.suggestion(given)
        raise UnknownIdError(f"The model has no data on {what} {given!r}.{near}")
    return str(names.ids[row])


def _rows(model: Any, given: Sequence[str], what: str) -> Any:
    """Return row numbers of ids or titles, -1 for those without a place of their own."""
    fitted = model.fitted_
    names, known = (fitted.users, fitted.user_known) if what == "user" else (fitted.items, fitted.item_known)
    rows = names.rows_of(_parsed(names, one) for one in given)
    return np.where((rows >= 0) & known[rows], rows, -1)


def _parsed(names: Vocabulary, given: str) -> str:
    """Return an id by itself or by its title; a title that several have is nobody's."""
    try:
        return names.parse(given)
    except UnknownIdError:
        return ""


def _records(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns as rows of plain numbers and texts."""
    lists = [np.asarray(column).tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _reason(reason: Any) -> dict[str, Any]:
    return {
        "known": reason.antecedent,
        "so": reason.consequent,
        "held": int(reason.held),
        "of": int(reason.support),
        "base_rate": float(reason.base_rate),
    }
