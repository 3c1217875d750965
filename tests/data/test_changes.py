"""Tables with entries added, corrected and removed, compared with dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data import Observations
from kolmogorov.data.changes import changed

PAIRS = st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 5)), st.integers(0, 5), min_size=1, max_size=20)


def observed(ratings, name=str, **options):
    users, items = ([name(pair[side]) for pair in ratings] for side in (0, 1))
    return Observations.from_arrays(users, items, list(ratings.values()), minimum=0, maximum=5, **options)


def as_dict(table):
    ids = table.users.ids[table.user_rows()].tolist(), table.items.ids[table.item_rows()].tolist()
    ratings = np.rint(table.scale.rating(table.values)).astype(int).tolist()
    return {(int(user), int(item)): rating for user, item, rating in zip(*ids, ratings, strict=True)}


@given(
    PAIRS, PAIRS, st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))), st.sets(st.integers(0, 6)), st.booleans()
)
def test_a_changed_table_is_what_dictionaries_say(old, new, removed, forgotten, texts):
    name = str if texts else int
    left = {pair: rating for pair, rating in old.items() if pair not in removed and pair[0] not in forgotten}
    wanted = left | new
    users, items = ([name(pair[side]) for pair in removed] for side in (0, 1))
    before = observed(old, name)
    change, missing = changed(before, observed(new, name), (users, items), [name(user) for user in forgotten])
    after = change.after
    assert as_dict(after) == wanted
    assert missing == len(set(removed) - set(old)) + len(forgotten - {user for user, _ in old})
    # As if all of it had been read at once.
    again = observed(wanted, name)
    assert after.users == again.users
    assert after.items == again.items
    assert np.array_equal(after.rows.indices, again.rows.indices)
    assert np.allclose(after.values, again.values)
    after.rows.validate(after.n_users, after.n_items)
    for side, ids, then in (("users", after.users, before.users), ("items", after.items, before.items)):
        known = getattr(change, side)
        assert all(then.ids[row] == ids.ids[k] for k, row in enumerate(known) if row >= 0)
        assert all(ids.ids[k] not in then.ids for k, row in enumerate(known) if row < 0)
    differ = {pair for pair in set(old) | set(wanted) if old.get(pair) != wanted.get(pair)}
    present = set(after.users.ids.tolist())
    touched = {str(user) for user, _ in differ} & present
    assert set(after.users.ids[change.touched_users].tolist()) == touched
    assert change.is_empty == (not differ)
    assert change.n_entries == len(differ)


def test_entries_before_are_by_rows_of_now():
    before = observed({(3, 1): 5, (3, 2): 4, (5, 1): 1})
    change, _ = changed(before, observed({(4, 0): 2, (3, 1): 1}), ([3], [2]))
    place, partner, values, weights = change.entries_before("users", change.touched_users)
    assert change.after.users.ids[change.touched_users].tolist() == ["3", "4"]
    # Item 2 has lost its last entry, and is gone.
    assert (place.tolist(), change.after.items.ids[partner].tolist(), values.tolist()) == ([0], ["1"], [1.0])
    assert weights.size == 0


def test_weights_are_kept_and_one_where_there_are_none():
    heavy = Observations.from_arrays(["b"], ["x"], [1], weights=[3.0])
    change, _ = changed(Observations.from_arrays(["a"], ["x"], [1]), heavy)
    assert change.after.weights.tolist() == [1.0, 3.0]
    again, _ = changed(change.after, heavy)
    assert again.is_empty


def test_ids_are_the_same_whatever_they_came_as():
    change, _ = changed(
        Observations.from_arrays(["7", "a"], ["x", "x"], [1, 1]), Observations.from_arrays([7], ["x"], [0])
    )
    assert change.after.users.ids.tolist() == ["7", "a"]
    assert (change.n_entries, change.touched_users.tolist()) == (1, [0])


def test_titles_of_new_items_come_along():
    known = Observations.from_arrays([1], [50], [5]).with_titles(items={50: "Star Wars"})
    new = Observations.from_arrays([1, 1], [7, 60], [5, 4]).with_titles(items={7: "Alien"})
    assert changed(known, new)[0].after.items.labels.tolist() == ["Alien", "Star Wars", "60"]
