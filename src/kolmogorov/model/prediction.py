"""Probabilities at pairs of ids, and the best items of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, OneOf, check_parameters
from kolmogorov._support.wording import advice, option
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.errors import UnknownIdError
from kolmogorov.kernels.products import pair_products
from kolmogorov.model.parameters import Fitted

Unknown = Literal["average", "error"]
Floats = NDArray[np.float64]
_UNKNOWN = {"unknown": OneOf(("average", "error"))}


def rows_of(
    vocabulary: Vocabulary, seen: NDArray[np.bool_], ids: Any, what: str, unknown: Unknown
) -> NDArray[np.int64]:
    """Return row numbers; an id without observations gets the last row, which holds the average."""
    return settled(vocabulary.encode(ids, what), seen, ids, what, unknown)


def settled(
    rows: NDArray[np.int64], seen: NDArray[np.bool_], ids: Any, what: str, unknown: Unknown
) -> NDArray[np.int64]:
    """Apply the policy for unknown ids to row numbers in which -1 is unknown."""
    check_parameters("KolmogorovModel", {"unknown": unknown}, _UNKNOWN)
    strange = rows < 0
    if unknown == "error":
        strange = strange | ~seen[rows]
        if strange.any():
            first = np.asarray(ids, dtype=object).item(int(np.argmax(strange)))
            raise UnknownIdError(
                f"The model has seen no observation of {what} {first!r}."
                + advice("With {} it would be treated as the average one.", option("unknown", "average"))
            )
    return np.where(strange, seen.size, rows)


def at_pairs(fitted: Fitted, users: Any, items: Any, unknown: Unknown) -> Floats:
    """Return Pr(X[u, i] = 1) for aligned arrays of raw ids."""
    user_rows = rows_of(fitted.users, fitted.user_seen, users, "user", unknown)
    item_rows = rows_of(fitted.items, fitted.item_seen, items, "item", unknown)
    return at_rows(fitted, user_rows, item_rows)


def at_rows(fitted: Fitted, users: NDArray[Any], items: NDArray[Any]) -> Floats:
    """Return Pr(X[u, i] = 1) for aligned row numbers."""
    out = np.empty(users.size)
    pair_products(
        fitted.theta_or_population,
        fitted.psi_or_average,
        users.astype(np.int64, copy=False),
        items.astype(np.int64, copy=False),
        out,
    )
    return np.clip(out, 0.0, 1.0, out=out)


def at_entries(fitted: Fitted, observations: Observations, unknown: Unknown) -> Floats:
    """Return the prediction for each entry of some observations."""
    return np.concatenate([predictions for _, predictions in in_blocks(fitted, observations, unknown)])


def in_blocks(fitted: Fitted, observations: Observations, unknown: Unknown) -> Iterator[tuple[slice, Floats]]:
    """Yield entries of some observations as slices, with their predictions, about a million at a time."""
    view = observations.rows
    users = rows_by_id(fitted.users, fitted.user_seen, observations.users, view.counts > 0, "user", unknown)
    items = rows_by_id(fitted.items, fitted.item_seen, observations.items, observations.seen_items, "item", unknown)
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        yield part, at_rows(fitted, users[view.owners(first, last)], items[view.indices[part]])
        view.forget(first, last)


def entry_rows(
    known: Vocabulary,
    seen: NDArray[np.bool_],
    theirs: Vocabulary,
    entries: NDArray[Any],
    what: str,
    unknown: Unknown,
) -> NDArray[np.int64]:
    """Translate the ids that occur, each once, and spread the result over the entries."""
    present = np.zeros(len(theirs), dtype=bool)
    present[entries] = True
    return rows_by_id(known, seen, theirs, present, what, unknown)[entries]


def rows_by_id(
    known: Vocabulary,
    seen: NDArray[np.bool_],
    theirs: Vocabulary,
    present: NDArray[np.bool_],
    what: str,
    unknown: Unknown,
) -> NDArray[np.int64]:
    """Return a row number for each id of another vocabulary that is present in some observations."""
    rows = np.full(len(theirs), len(known), dtype=np.int64)
    rows[present] = settled(known.translate(theirs)[present], seen, theirs.ids[present], what, unknown)
    return rows


def best_items(
    fitted: Fitted, theta: Floats, seen: NDArray[Any], n: int, min_count: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return the n most probable items with at least `min_count` observations that are not in `seen`.

    Ties go to the item with more observations, then to the smaller row number.
    """
    rules = {"n": Integer(1), "min_count": Integer(1)}
    check_parameters("recommend", {"n": n, "min_count": min_count}, rules)
    probability = np.clip(fitted.psi_or_average[:-1] @ theta, 0.0, 1.0)
    popularity = fitted.item_counts
    allowed = popularity >= min_count
    allowed[seen] = False
    candidates = np.flatnonzero(allowed)
    order = np.lexsort((-popularity[candidates], -probability[candidates].round(12)))[:n]
    chosen = candidates[order]
    return chosen, probability[chosen]


def recommended(fitted: Fitted, rows: NDArray[np.int64], probability: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Put chosen items into columns for people: id, title where there is one, probability, rating."""
    columns = {"item": fitted.items.ids[rows]}
    if fitted.items.labels is not None:
        columns["title"] = fitted.items.labels[rows]
    return columns | {"probability": probability, "rating": fitted.scale.rating(probability)}
