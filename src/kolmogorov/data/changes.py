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
    gone, leaving, missing = _gone(table, removed, forgotten)
    old_keys = table.user_rows().astype(np.int64) * table.n_items + table.item_rows()
    if new is None or not len(new):
        new = table.subset(np.zeros(len(table), dtype=bool))
    new = new.rescaled(table.scale)
    users, items = table.users.translate(new.users)[new.user_rows()], table.items.translate(new.items)[new.item_rows()]
    place = _places(old_keys, np.where((users >= 0) & (items >= 0), users * table.n_items + items, -1))
    # What is removed and given again is there afterwards.
    gone[place[place >= 0]] = False
    fresh = _differ(table, new, place)
    replaced = np.zeros(len(table), dtype=bool)
    replaced[place[(place >= 0) & fresh]] = True
    kept = ~(gone | replaced)
    if kept.all() and not fresh.any() and not leaving.any():
        nothing = np.empty(0, dtype=np.int64)
        same = np.arange(table.n_users), np.arange(table.n_items)
        return Change(table, table, *same, nothing, nothing, 0), missing
    added = new.subset(fresh)
    sides = [
        _side(table.users, table.user_rows(), added.users, added.user_rows(), kept, "user", leaving),
        _side(table.items, table.item_rows(), added.items, added.item_rows(), kept, "item"),
    ]
    after = _joined(table, added, kept, sides)
    touched = [
        _touched(len(side.vocabulary), side.now[rows[~kept]], side.added[mine])
        for side, rows, mine in zip(
            sides, (table.user_rows(), table.item_rows()), (added.user_rows(), added.item_rows()), strict=True
        )
    ]
    n_entries = int(fresh.sum() + (gone & ~replaced).sum())
    return Change(table, after, sides[0].before, sides[1].before, touched[0], touched[1], n_entries), missing


def with_ids(table: Observations, users: Vocabulary, items: Vocabulary) -> tuple[Observations, Rows, Rows]:
    """Return a table that also has some ids, without entries, and the row before of each user and of each item now.

    Examples
    --------
    >>> table = Observations.from_arrays([1, 3], [7, 8], [1, 0])
    >>> more, users, _ = with_ids(table, Vocabulary.of([2, 3]), Vocabulary.of([8]))
    >>> more.users.ids.tolist(), users.tolist()
    (['1', '2', '3'], [0, -1, 1])
    """
    kept = np.ones(len(table), dtype=bool)
    sides = [
        _side(table.users, table.user_rows(), users, np.arange(len(users)), kept, "user"),
        _side(table.items, table.item_rows(), items, np.arange(len(items)), kept, "item"),
    ]
    rows = table.subset(~kept).rows
    none = View(np.zeros(len(users) + 1, dtype=np.int64), rows.indices, rows.values, rows.weights)
    nothing = Observations(users, items, none, table.scale)
    return _joined(table, nothing, kept, sides), sides[0].before, sides[1].before


def without_ids(table: Observations, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Observations:
    """Return a table without some of its users and items, none of which have entries.

    Examples
    --------
    >>> table = Observations.from_arrays([1, 3], [7, 8], [1, 0]).subset([True, False])
    >>> without_ids(table, np.array([False, True]), np.array([False, False])).users.ids.tolist()
    ['1']
    """
    rows, counts = table.rows, table.rows.counts
    indptr = np.concatenate([[0], np.cumsum(counts[~users])]).astype(np.int64)
    indices = (np.cumsum(~items) - 1)[rows.indices].astype(rows.indices.dtype)
    sides = (table.users.chosen(~users), table.items.chosen(~items))
    view = View(indptr, indices, rows.values, rows.weights)
    return table.over(users=sides[0], items=sides[1], rows=view)


@dataclass(frozen=True, eq=False)
class _Side:
    """Ids of users or of items after, and how rows before and rows of what is added map to them; -1 for none."""

    vocabulary: Vocabulary
    before: Rows
    now: Rows
    added: Rows


def _side(
    old: Vocabulary,
    rows: Rows,
    new: Vocabulary,
    mine: Rows,
    kept: NDArray[np.bool_],
    what: str,
    leaving: NDArray[np.bool_] | None = None,
) -> _Side:
    """Settle the ids of one side: those that were there without an entry stay unless leaving, those that lost it go."""
    had, has = np.zeros(len(old), dtype=bool), np.zeros(len(old), dtype=bool)
    had[rows], has[rows[kept]] = True, True
    known, present = old.translate(new), np.zeros(len(new), dtype=bool)
    present[mine] = True
    has[known[present & (known >= 0)]] = True
    stays = has | ~(had if leaving is None else had | leaving)
    strangers = np.flatnonzero(present & (known < 0))
    ids = [*old.ids[stays].tolist(), *new.ids[strangers].tolist()]
    names = None
    if old.labels is not None:
        names = np.array([*old.labels[stays].tolist(), *map(new.name, strangers.tolist())], dtype=object)
    sorted_before = old.ids.tolist() == in_order(old.ids.tolist())
    row_of = {text: row for row, text in enumerate(in_order(ids))}
    order = np.argsort([row_of[text] for text in ids], kind="stable") if sorted_before else np.arange(len(ids))
    before = np.concatenate([np.flatnonzero(stays), np.full(strangers.size, -1)])[order].astype(np.int64)
    now = _inverse(before, len(old))
    added = np.full(len(new), -1, dtype=np.int64)
    added[known >= 0] = now[known[known >= 0]]
    added[strangers] = _inverse(order, len(order))[int(stays.sum()) :]
    vocabulary = Vocabulary([ids[k] for k in order.tolist()], None if names is None else names[order])
    return _Side(vocabulary, before, now, added)


def _gone(
    table: Observations, removed: tuple[Any, Any] | None, forgotten: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], int]:
    """Tell which entries are to go, which users that have none, and how many that were named are not there."""
    gone, missing = np.zeros(len(table), dtype=bool), 0
    chosen = np.zeros(table.n_users, dtype=bool)
    if removed is not None:
        users, items = table.users.encode(removed[0], "user"), table.items.encode(removed[1], "item")
        if users.size != items.size:
            raise DataError(f"Pairs to remove need as many users as items, got {users.size} and {items.size}.")
        keys = table.user_rows().astype(np.int64) * table.n_items + table.item_rows()
        place = _places(keys, np.where((users >= 0) & (items >= 0), users * table.n_items + items, -1))
        gone[place[place >= 0]] = True
        missing += int((place < 0).sum())
    if forgotten is not None:
        users = table.users.encode(forgotten, "user")
        chosen[users[users >= 0]] = True
        gone |= chosen[table.user_rows()]
        missing += int((users < 0).sum())
    return gone, chosen & (table.rows.counts == 0), missing


def _places(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> Rows:
    """Return where each wanted key stands among increasing ones, -1 where it does not."""
    if not keys.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[place] == wanted, place, -1)


def _differ(table: Observations, new: Observations, place: Rows) -> NDArray[np.bool_]:
    """Tell which entries are not already there, with the same value and weight."""
    if not len(table):
        return np.ones(len(new), dtype=bool)
    same = np.isclose(table.values[place], new.values, rtol=0.0, atol=1e-12)
    weights = [np.ones(len(one)) if one.weights is None else one.weights for one in (table, new)]
    same &= weights[0][place] == weights[1]
    return ~(same & (place >= 0))


def _joined(table: Observations, added: Observations, kept: NDArray[np.bool_], sides: list[_Side]) -> Observations:
    users, items = sides
    weighed = table.weights is not None or added.weights is not None
    parts = []
    for one, chosen, rows in ((table, kept, (users.now, items.now)), (added, slice(None), (users.added, items.added))):
        weights = np.ones(len(one)) if one.weights is None else one.weights
        parts.append(
            Entries(
                rows[0][one.user_rows()[chosen]].astype(np.int32),
                rows[1][one.item_rows()[chosen]].astype(np.int32),
                one.values[chosen],
                weights[chosen] if weighed else np.empty(0),
            )
        )
    sizes = len(users.vocabulary), len(items.vocabulary)
    entries = Entries.joined(parts).sorted(*sizes, "error", lambda a, b: duplicate("?", "?", str(a), str(b)))
    return Observations(users.vocabulary, items.vocabulary, entries.view(sizes[0]), table.scale, table.source)


def _touched(n: int, *rows: Rows) -> Rows:
    mask = np.zeros(n, dtype=bool)
    for some in rows:
        mask[some[some >= 0]] = True
    return np.flatnonzero(mask)


def _inverse(rows: Rows, n: int) -> Rows:
    """Return, for each of `n` numbers, where it stands in `rows`; -1 where it does not."""
    found = np.full(n, -1, dtype=np.int64)
    there = rows >= 0
    found[rows[there]] = np.flatnonzero(there)
    return found
