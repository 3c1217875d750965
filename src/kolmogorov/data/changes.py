"""A table with new, corrected and removed entries, and which of its users and items that touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import Entries, View, duplicate
from kolmogorov.data.vocabulary import Vocabulary, in_order
from kolmogorov.errors import DataError


@dataclass(frozen=True, eq=False)
class Change:
    """A table before and after.

    Attributes
    ----------
    before, after : Observations
    users, items : int64[n]
        The row before of each row after; -1 for who or what is new.
    touched_users, touched_items : int64[m]
        Rows after with an entry that is new, has another value or weight, or is gone.
    n_entries : int
        How many entries are new, changed or gone.
    """

    before: Observations
    after: Observations
    users: Rows
    items: Rows
    touched_users: Rows
    touched_items: Rows
    n_entries: int

    @property
    def is_empty(self) -> bool:
        """Whether the table is the same as before."""
        return self.after is self.before

    def entries_before(self, side: str, rows: Rows) -> tuple[Rows, Rows, Floats, Floats]:
        """Return the entries before of some rows after whose partners are still there, by rows and partners of now.

        They come as the number of a row among `rows`, the partner's row, the value, and the weight (maybe none).
        """
        before = self.before
        own, partner = before.user_rows(), before.item_rows()
        known, others, sizes = self.users, self.items, (before.n_users, before.n_items)
        if side == "items":
            own, partner, known, others, sizes = partner, own, others, known, sizes[::-1]
        place = _inverse(known[rows], sizes[0])[own]
        now = _inverse(others, sizes[1])[partner]
        there = (place >= 0) & (now >= 0)
        weights = before.rows.weights
        return place[there], now[there], before.values[there], weights[there] if weights.size else weights


def changed(
    table: Observations,
    new: Observations | None,
    removed: tuple[Any, Any] | None = None,
    forgotten: Any = None,
) -> tuple[Change, int]:
    """Return what a table becomes, and how many of the pairs to remove and users to forget are not in it.

    Parameters
    ----------
    new : Observations
        Entries that are added, or take the place of what is there for the same user and item.
    removed : pair of array-like of ids
        Users and items of entries that go. An id without any entry left goes, too.
    forgotten : array-like of ids
        Users all of whose entries go.
    """
    if new is None or not len(new):
        new = table.subset(np.zeros(len(table), dtype=bool))
    new = new.rescaled(table.scale)
    sides = _Side(table.users, new.users), _Side(table.items, new.items)
    old, added = _pairs(table), (sides[0].theirs[new.user_rows()], sides[1].theirs[new.item_rows()])
    # Row numbers of a pair as one number, which increases from entry to entry of the table.
    n_items = len(sides[1].ids)
    keys = old[0] * n_items + old[1]
    gone, leaving, missing = np.zeros(len(table), dtype=bool), np.zeros(table.n_users, dtype=bool), 0
    if removed is not None:
        users, items = table.users.encode(removed[0], "user"), table.items.encode(removed[1], "item")
        if users.size != items.size:
            raise DataError(f"Pairs to remove need as many users as items, got {users.size} and {items.size}.")
        place = _places(keys, np.where((users >= 0) & (items >= 0), users * n_items + items, -1))
        gone[place[place >= 0]] = True
        missing += int((place < 0).sum())
    if forgotten is not None:
        users = table.users.encode(forgotten, "user")
        leaving[users[users >= 0]] = True
        gone |= leaving[old[0]]
        missing += int((users < 0).sum())
    place = _places(keys, added[0] * n_items + added[1])
    there = np.flatnonzero(place >= 0)
    weights = [np.ones(len(one)) if one.weights is None else one.weights for one in (table, new)]
    same = np.zeros(len(new), dtype=bool)
    same[there] = np.isclose(table.values[place[there]], new.values[there], rtol=0.0, atol=1e-12)
    same[there] &= weights[0][place[there]] == weights[1][there]
    # What is removed and given again is there afterwards.
    gone[place[there]] = False
    n_entries = int(gone.sum() + (~same).sum())
    gone[place[there[~same[there]]]] = True
    leaving &= table.rows.counts == 0
    if not n_entries and not leaving.any():
        nothing = np.empty(0, dtype=np.int64)
        same_rows = np.arange(table.n_users), np.arange(table.n_items)
        return Change(table, table, *same_rows, nothing, nothing, 0), missing
    own, partner = (np.concatenate([before[~gone], more[~same]]) for before, more in zip(old, added, strict=True))
    weighed = table.weights is not None or (new.weights is not None and not same.all())
    entries = Entries(
        own,
        partner,
        np.concatenate([table.values[~gone], new.values[~same]]),
        np.concatenate([weights[0][~gone], weights[1][~same]]) if weighed else np.empty(0),
    )
    touched = []
    for side, rows, before, more in zip(sides, (own, partner), old, added, strict=True):
        # Ids that were there without an entry stay unless they are to leave; those that lost their last one go.
        stays = np.arange(len(side.ids)) < len(side.old)
        stays[before] = False
        if side is sides[0]:
            stays[: table.n_users] &= ~leaving
        stays[rows] = True
        side.settle(stays)
        changed_rows = side.now[np.concatenate([before[gone], more[~same]])]
        touched.append(np.unique(changed_rows[changed_rows >= 0]))
    after = _over(table, entries, sides)
    return Change(table, after, sides[0].before, sides[1].before, touched[0], touched[1], n_entries), missing


def with_ids(table: Observations, users: Vocabulary, items: Vocabulary) -> tuple[Observations, Rows, Rows]:
    """Return a table that also has some ids, without entries, and the row before of each user and of each item now."""
    sides = _Side(table.users, users), _Side(table.items, items)
    for side in sides:
        side.settle(np.ones(len(side.ids), dtype=bool))
    after = _over(table, Entries(*_pairs(table), table.values, table.rows.weights), sides)
    return after, sides[0].before, sides[1].before


def without_ids(table: Observations, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Observations:
    """Return a table without some of its users and items, none of which have entries."""
    rows = table.rows
    indptr = np.concatenate([[0], np.cumsum(rows.counts[~users])]).astype(np.int64)
    indices = (np.cumsum(~items) - 1)[rows.indices].astype(rows.indices.dtype)
    view = View(indptr, indices, rows.values, rows.weights)
    return table.over(users=table.users.chosen(~users), items=table.items.chosen(~items), rows=view)


class _Side:
    """The ids of users or items of before, and behind them those that are new; then which of them stay, in order."""

    #: Of the ids that stayed: the row before, -1 for one that is new; and of all: the row now, -1 for one that left.
    before: Rows
    now: Rows
    vocabulary: Vocabulary

    def __init__(self, old: Vocabulary, new: Vocabulary) -> None:
        self.old, self.theirs = old, old.translate(new)
        strangers = np.flatnonzero(self.theirs < 0)
        self.theirs[strangers] = len(old) + np.arange(strangers.size)
        self.ids = [*old.ids.tolist(), *new.ids[strangers].tolist()]
        self.names = None if old.labels is None else [*old.labels.tolist(), *map(new.name, strangers.tolist())]

    def settle(self, stays: NDArray[np.bool_]) -> None:
        """Put those that stay in order, where they were."""
        rows = np.flatnonzero(stays).tolist()
        known = self.old.ids.tolist()
        if known == in_order(known):
            place = {text: at for at, text in enumerate(in_order(self.ids[row] for row in rows))}
            rows.sort(key=lambda row: place[self.ids[row]])
        names = None if self.names is None else [self.names[row] for row in rows]
        self.vocabulary = Vocabulary([self.ids[row] for row in rows], names)
        self.now = _inverse(np.array(rows, dtype=np.int64), len(self.ids))
        self.before = np.array([row if row < len(known) else -1 for row in rows], dtype=np.int64)


def _pairs(table: Observations) -> tuple[Rows, Rows]:
    return table.user_rows().astype(np.int64), table.item_rows().astype(np.int64)


def _over(table: Observations, entries: Entries, sides: tuple[_Side, _Side]) -> Observations:
    """Return entries as a table over the ids that stayed."""
    users, items = (side.vocabulary for side in sides)
    own, partner = sides[0].now[entries.own].astype(np.int32), sides[1].now[entries.partner].astype(np.int32)
    found = Entries(own, partner, entries.values, entries.weights)
    found = found.sorted(len(users), len(items), "error", lambda a, b: duplicate("?", "?", str(a), str(b)))
    return Observations(users, items, found.view(len(users)), table.scale, table.source)


def _places(keys: Rows, wanted: Rows) -> Rows:
    """Return where each wanted key stands among increasing ones, -1 where it does not."""
    if not keys.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)


def _inverse(rows: Rows, n: int) -> Rows:
    """Return, for each of `n` numbers, where it stands in `rows`; -1 where it does not."""
    found = np.full(n, -1, dtype=np.int64)
    there = rows >= 0
    found[rows[there]] = np.flatnonzero(there)
    return found
