"""A table with new, corrected and removed entries, and which of its users and items that touches.

Ids that are new stand behind those that were there, so that the numbers of rows only change where ids leave.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Rows
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import View, ends_of, sorted_view
from kolmogorov.data.vocabulary import Vocabulary
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

    def entries_before(self, side: str, rows: Rows) -> View:
        """Return what some rows of now had before, of partners that are still there, by their numbers of now."""
        view, own, partners = self.before.rows, self.users, self.items
        if side == "items":
            view, own, partners = self.before.columns, partners, own
        there, counts = np.flatnonzero(own[rows] >= 0), np.zeros(rows.size, dtype=np.int64)
        view = view.picked(own[rows][there])
        counts[there] = view.counts
        now = np.full(self.before.n_items if side == "users" else self.before.n_users, -1, dtype=np.int32)
        now[partners[partners >= 0]] = np.flatnonzero(partners >= 0)
        indices = now[view.indices]
        return View(ends_of(counts), indices, view.values, view.weights).chosen(indices >= 0)


def changed(
    table: Observations, new: Observations | None, removed: tuple[Any, Any] | None = None, forgotten: Any = None
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
    new = table.subset(np.zeros(len(table), dtype=bool)) if new is None or not len(new) else new.rescaled(table.scale)
    (users, of_users), (items, of_items) = _joined(table.users, new.users), _joined(table.items, new.items)
    own, partner, n_items = table.user_rows(), table.item_rows(), len(items)
    # The numbers of a pair as one, which increases from entry to entry of a table.
    keys, leaving = own.astype(np.int64) * n_items + partner, np.zeros(len(users), dtype=bool)
    stays, missing = np.ones(keys.size, dtype=bool), 0
    if removed is not None:
        pairs = table.users.encode(removed[0], "user"), table.items.encode(removed[1], "item")
        if pairs[0].size != pairs[1].size:
            raise DataError(f"Pairs to remove need as many users as items, got {pairs[0].size} and {pairs[1].size}.")
        place = _places(keys, np.where((pairs[0] >= 0) & (pairs[1] >= 0), pairs[0] * n_items + pairs[1], -1))
        stays[place[place >= 0]] = False
        missing += int((place < 0).sum())
    if forgotten is not None:
        left = table.users.encode(forgotten, "user")
        leaving[left[left >= 0]] = True
        stays &= ~leaving[own]
        missing += int((left < 0).sum())
    weighted = table.weights is not None or new.weights is not None
    mass = [np.ones(len(one)) if one.weights is None else one.weights for one in (table, new)]
    rows = sorted_view(
        (len(users), n_items),
        np.append(own[stays], of_users[new.user_rows()]),
        np.append(partner[stays], of_items[new.item_rows()]),
        np.append(table.values[stays], new.values),
        np.append(mass[0][stays], mass[1]) if weighted else np.empty(0),
        "last",
    )
    # What is given as it was is neither new nor gone.
    now = rows.owners(0, len(users)).astype(np.int64) * n_items + rows.indices
    place = _places(now, keys)
    same = place >= 0
    as_before = np.isclose(table.values[same], rows.values[place[same]], rtol=0.0, atol=1e-12)
    same[same] = as_before & (mass[0][same] == rows.weights[place[same]]) if weighted else as_before
    touched = np.union1d(keys[~same], np.delete(now, place[same]))
    # Ids that were there without an entry stay unless they are to leave; those that lost their last one go.
    keep_users, keep_items = np.arange(len(users)) < table.n_users, np.arange(n_items) < table.n_items
    keep_users[own], keep_items[partner] = False, False
    keep_users = (keep_users & ~leaving) | (rows.counts > 0)
    keep_items[rows.indices] = True
    after, user_rows, item_rows = _without(table.over(users=users, items=items, rows=rows), ~keep_users, ~keep_items)
    found = Change(
        table,
        after if touched.size or after.n_users < table.n_users else table,
        _before(np.flatnonzero(keep_users), table.n_users),
        _before(np.flatnonzero(keep_items), table.n_items),
        np.setdiff1d(user_rows[touched // n_items], [-1]),
        np.setdiff1d(item_rows[touched % n_items], [-1]),
        touched.size,
    )
    return found, missing


def with_ids(table: Observations, users: Vocabulary, items: Vocabulary) -> tuple[Observations, Rows, Rows]:
    """Return a table that also has some ids, without entries, and the row before of each user and of each item now."""
    (users, _), (items, _), rows = _joined(table.users, users), _joined(table.items, items), table.rows
    indptr = np.append(rows.indptr, np.full(len(users) - table.n_users, len(table)))
    wide = table.over(users=users, items=items, rows=View(indptr, rows.indices, rows.values, rows.weights))
    return wide, _before(np.arange(len(users)), table.n_users), _before(np.arange(len(items)), table.n_items)


def without_ids(table: Observations, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Observations:
    """Return a table without some of its users and items, none of which have entries."""
    return _without(table, users, items)[0]


def _without(
    table: Observations, users: NDArray[np.bool_], items: NDArray[np.bool_]
) -> tuple[Observations, Rows, Rows]:
    """Return it also with the row there of each id that it had, maybe -1."""
    user_rows, item_rows = (np.where(gone, -1, np.cumsum(~gone) - 1) for gone in (users, items))
    rows, indices = table.rows, item_rows[table.rows.indices].astype(np.int32)
    rows = View(ends_of(rows.counts[~users]), indices, rows.values, rows.weights)
    left = table.over(users=table.users.chosen(~users), items=table.items.chosen(~items), rows=rows)
    return left, user_rows, item_rows


def _before(rows: Rows, n_old: int) -> Rows:
    return np.where(rows < n_old, rows, -1)


def _joined(old: Vocabulary, new: Vocabulary) -> tuple[Vocabulary, Rows]:
    """Return the ids of both, those that are new behind the old ones, and the row there of each of the second."""
    rows = old.translate(new)
    strangers = np.flatnonzero(rows < 0)
    rows[strangers] = len(old) + np.arange(strangers.size)
    labels = None if old.labels is None else [*old.labels.tolist(), *map(new.name, strangers.tolist())]
    return Vocabulary([*old.ids.tolist(), *new.ids[strangers].tolist()], labels), rows


def _places(keys: Rows, wanted: Rows) -> Rows:
    """Return where each wanted key stands among increasing ones, -1 where it does not."""
    place = np.searchsorted(keys, wanted)
    return np.where(np.append(keys, -2)[place] == wanted, place, -1)
