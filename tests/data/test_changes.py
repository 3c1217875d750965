"""Tables with entries added, corrected and removed, compared with dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data import Observations
from kolmogorov.data.changes import changed

PAIRS = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.integers(0, 5), min_size=1, max_size=20)


def observed(ratings, **options):
    users, items = ([str(pair[side]) for pair in ratings] for side in (0, 1))
    return Observations.from_arrays(users, items, list(ratings.values()), minimum=0, maximum=5, **options)


def as_dict(table):
    ids = table.users.ids[table.user_rows()].tolist(), table.items.ids[table.item_rows()].tolist()
    ratings = np.rint(table.scale.rating(table.values)).astype(int).tolist()
    return {(int(user), int(item)): rating for user, item, rating in zip(*ids, ratings, strict=True)}


@given(PAIRS, PAIRS, st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))), st.sets(st.integers(0, 6)))
def test_a_changed_table_is_what_dictionaries_say(old, new, removed, forgotten):
    left = {pair: rating for pair, rating in old.items() if pair not in removed and pair[0] not in forgotten}
    wanted = left | new
    before = observed(old)
    change, missing = changed(before, observed(new), tuple([pair[k] for pair in removed] for k in (0, 1)), [*forgotten])
    after = change.after
    assert as_dict(after) == wanted
    assert missing == len(set(removed) - set(old)) + len(forgotten - {user for user, _ in old})
    after.rows.validate(after.n_users, after.n_items)
    differ = {pair for pair in set(old) | set(wanted) if old.get(pair) != wanted.get(pair)}
    assert change.is_empty == (not differ)
    assert change.n_entries == len(differ)
    for k, (side, ids, then) in enumerate((("users", after.users, before.users), ("items", after.items, before.items))):
        # Who has no entry any more is gone, new ones stand behind the others.
        assert set(ids.ids.tolist()) == {str(pair[k]) for pair in wanted}
        known = getattr(change, side)
        assert [ids.ids[at] for at in range(len(ids)) if known[at] >= 0] == then.ids[known[known >= 0]].tolist()
        assert not set(ids.ids[known < 0]) & set(then.ids)
        assert (np.diff(np.where(known < 0, 99, known)) >= 0).all()
        touched = {str(pair[k]) for pair in differ} & set(ids.ids.tolist())
        assert set(ids.ids[getattr(change, f"touched_{side}")].tolist()) == touched


def test_entries_before_are_by_rows_of_now():
    before = observed({(3, 1): 5, (3, 2): 4, (5, 1): 1})
    change, _ = changed(before, observed({(4, 0): 2, (3, 1): 1}), ([3], [2]))
    had = change.entries_before("users", change.touched_users)
    assert change.after.users.ids[change.touched_users].tolist() == ["3", "4"]
    # Item 2 has lost its last entry, and is gone; item 0 is new.
    assert change.after.items.ids.tolist() == ["1", "0"]
    assert (had.counts.tolist(), had.indices.tolist(), had.values.tolist()) == ([1, 0], [0], [1.0])
    had = change.entries_before("items", np.array([0, 1]))
    assert (had.counts.tolist(), had.indices.tolist(), had.values.tolist()) == ([2, 0], [0, 1], [1.0, 0.2])


def test_weights_are_kept_and_one_where_there_are_none():
    heavy = Observations.from_arrays(["b"], ["x"], [1], weights=[3.0])
    change, _ = changed(Observations.from_arrays(["a"], ["x"], [1]), heavy)
    assert change.after.weights.tolist() == [1.0, 3.0]
    again, _ = changed(change.after, heavy)
    assert again.is_empty


def test_titles_of_new_items_come_along():
    known = Observations.from_arrays([1], [50], [5]).with_titles(items={50: "Star Wars"})
    new = Observations.from_arrays([1, 1], [7, 60], [5, 4]).with_titles(items={7: "Alien"})
    assert changed(known, new)[0].after.items.labels.tolist() == ["Star Wars", "Alien", "60"]
