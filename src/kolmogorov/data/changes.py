"""A table with new, corrected and removed entries, and which of its users and items that touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.observations import Observations
from kolmogorov.data.view import sorted_view
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
        view, known, others, n_partners = self.before.rows, self.users, self.items, self.before.n_items
        if side == "items":
            view, known, others, n_partners = self.before.columns, others, known, self.before.n_users
        there = np.flatnonzero(known[rows] >= 0)
        view = view.picked(known[rows][there])
        own, partner = there[view.owners(0, there.size)], _inverse(others, n_partners)[view.indices]
        kept = partner >= 0
        weights = view.weights[kept] if view.weights.size else view.weights
        return own[kept], partner[kept], view.values[kept], weights


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
    if new is None or not len(new):
        new = table.subset(np.zeros(len(table), dtype=bool))
    new = new.rescaled(table.scale)
    (users, new_users), (items, new_items) = _joined(table.users, new.users), _joined(table.items, new.items)
    own, partner = table.user_rows().astype(np.int64), table.item_rows().astype(np.int64)
    # Row numbers of a pair as one number, which increases from entry to entry of a table.
    keys = own * len(items) + partner
    stays, leaving, missing = np.ones(len(table), dtype=bool), np.zeros(len(users), dtype=bool), 0
    if removed is not None:
        pairs = table.users.encode(removed[0], "user"), table.items.encode(removed[1], "item")
        if pairs[0].size != pairs[1].size:
            raise DataError(f"Pairs to remove need as many users as items, got {pairs[0].size} and {pairs[1].size}.")
        place = _places(keys, np.where((pairs[0] >= 0) & (pairs[1] >= 0), pairs[0] * len(items) + pairs[1], -1))
        stays[place[place >= 0]] = False
        missing += int((place < 0).sum())
    if forgotten is not None:
        left = table.users.encode(forgotten, "user")
        leaving[left[left >= 0]] = True
        stays &= ~leaving[own]
        missing += int((left < 0).sum())
    now = np.append(own[stays], new_users[new.user_rows()]), np.append(partner[stays], new_items[new.item_rows()])
    # Ids that were there without an entry stay unless they are to leave; those that lost their last one go.
    keep_users, keep_items = np.arange(len(users)) < table.n_users, np.arange(len(items)) < table.n_items
    keep_users[own], keep_items[partner] = False, False
    keep_users &= ~leaving
    keep_users[now[0]], keep_items[now[1]] = True, True
    users, before_users, user_rows = _settled(users, table.n_users, keep_users)
    items, before_items, item_rows = _settled(items, table.n_items, keep_items)
    weights, mass = [], np.empty(0)
    if table.weights is not None or new.weights is not None:
        weights = [np.ones(len(one)) if one.weights is None else one.weights for one in (table, new)]
        mass = np.append(weights[0][stays], weights[1])
    values, shape = np.append(table.values[stays], new.values), (len(users), len(items))
    rows = sorted_view(shape, user_rows[now[0]], item_rows[now[1]], values, mass, "last")

    # What is given as it was is neither new nor gone.
    own, partner, now_own = user_rows[own], item_rows[partner], rows.owners(0, len(users)).astype(np.int64)
    keys = np.where((own >= 0) & (partner >= 0), own * len(items) + partner, -1)
    place = _places(now_own * len(items) + rows.indices, keys)
    same = place >= 0
    as_before = np.isclose(table.values[same], rows.values[place[same]], rtol=0.0, atol=1e-12)
    same[same] = as_before & (weights[0][same] == rows.weights[place[same]]) if weights else as_before
    fresh = np.ones(rows.indices.size, dtype=bool)
    fresh[place[same]] = False
    n_entries = int(fresh.sum() + (place < 0).sum())
    after = Observations(users, items, rows, table.scale, table.source)
    touched = np.append(own[~same], now_own[fresh]), np.append(partner[~same], rows.indices[fresh])
    return Change(
        table,
        after if n_entries or len(users) < table.n_users else table,
        before_users,
        before_items,
        np.setdiff1d(touched[0], [-1]),
        np.setdiff1d(touched[1], [-1]),
        n_entries,
    ), missing


def with_ids(table: Observations, users: Vocabulary, items: Vocabulary) -> tuple[Observations, Rows, Rows]:
    """Return a table that also has some ids, without entries, and the row before of each user and of each item now."""
    both = _joined(table.users, users)[0], _joined(table.items, items)[0]
    return _over(table, *both, np.ones(len(both[0]), dtype=bool), np.ones(len(both[1]), dtype=bool))


def without_ids(table: Observations, users: NDArray[np.bool_], items: NDArray[np.bool_]) -> Observations:
    """Return a table without some of its users and items, none of which have entries."""
    return _over(table, table.users, table.items, ~users, ~items)[0]


def _over(
    table: Observations, users: Vocabulary, items: Vocabulary, keep_users: NDArray[np.bool_], keep_items: Any
) -> tuple[Observations, Rows, Rows]:
    """Return the entries of a table over some of more ids, and the row before of each."""
    users, before_users, user_rows = _settled(users, table.n_users, keep_users)
    items, before_items, item_rows = _settled(items, table.n_items, keep_items)
    entries = user_rows[table.user_rows()], item_rows[table.item_rows()], table.values, table.rows.weights
    rows = sorted_view((len(users), len(items)), *entries)
    return Observations(users, items, rows, table.scale, table.source), before_users, before_items


def _joined(old: Vocabulary, new: Vocabulary) -> tuple[Vocabulary, Rows]:
    """Return the ids of both, those that are new behind the old ones, and the row there of each of the second."""
    rows = old.translate(new)
    strangers = np.flatnonzero(rows < 0)
    rows[strangers] = len(old) + np.arange(strangers.size)
    labels = None if old.labels is None else [*old.labels.tolist(), *map(new.name, strangers.tolist())]
    return Vocabulary([*old.ids.tolist(), *new.ids[strangers].tolist()], labels), rows


def _settled(both: Vocabulary, n_old: int, stay: NDArray[np.bool_]) -> tuple[Vocabulary, Rows, Rows]:
    """Return the ids that stay, the row before of each, and the row now of each there was; -1 where there is none.

    They are in the order of ids where the old ones are.
    """
    rows = np.flatnonzero(stay)
    known, ids = both.ids[:n_old].tolist(), both.ids[rows].tolist()
    if known == in_order(known):
        place = {text: at for at, text in enumerate(in_order(ids))}
        rows = rows[np.argsort([place[text] for text in ids])]
    return both.chosen(rows), np.where(rows < n_old, rows, -1), _inverse(rows, len(both))


def _places(keys: Rows, wanted: Rows) -> Rows:
    """Return where each wanted key stands among increasing ones, -1 where it does not."""
    place = np.searchsorted(keys, wanted)
    found = place < keys.size
    found[found] = keys[place[found]] == wanted[found]
    return np.where(found, place, -1)


def _inverse(rows: Rows, n: int) -> Rows:
    """Return, for each of `n` numbers, where it stands in `rows`; -1 where it does not."""
    found = np.full(n, -1, dtype=np.int64)
    there = rows >= 0
    found[rows[there]] = np.flatnonzero(there)
    return found
