"""Splits by entry, by user, by time, and one entry of every user."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.strategies import tables
from kolmogorov import Observations, datasets, pack
from kolmogorov.errors import DataError, ParameterError


def pairs(table):
    return list(zip(table.user_rows().tolist(), table.item_rows().tolist(), strict=True))


@given(tables(), st.sampled_from([0.2, 0.5, 0.9]), st.booleans())
def test_by_user_every_user_gives_his_share(table, test_size, timed):
    counts = table.rows.counts
    wanted = np.minimum(np.round(test_size * counts), counts - 1).clip(0)
    assume(wanted.any())
    times = np.random.default_rng(0).permutation(len(table)).astype(float) if timed else None
    train, test = table.split(test_size, random_state=0, by="user", times=times)
    assert test.rows.counts.tolist() == wanted.tolist()
    assert sorted(pairs(train) + pairs(test)) == pairs(table)
    if timed:
        when = dict(zip(pairs(table), times, strict=True))
        for user in range(table.n_users):
            before = [when[p] for p in pairs(train) if p[0] == user]
            after = [when[p] for p in pairs(test) if p[0] == user]
            assert not after or max(before) < min(after)


@given(tables())
def test_leave_one_out_takes_one_of_every_user_who_has_two(table):
    assume((table.rows.counts > 1).any())
    train, test = table.split(random_state=1, by="leave_one_out")
    assert test.rows.counts.tolist() == (table.rows.counts > 1).astype(int).tolist()
    assert sorted(pairs(train) + pairs(test)) == pairs(table)


def test_the_seed_decides(zoo):
    one, two, three = (zoo.split(0.3, random_state=s, by="user")[1] for s in (0, 0, 1))
    assert pairs(one) == pairs(two) != pairs(three)


def test_by_time_the_future_is_held_out(tmp_path):
    table = datasets.load("planted", n_users=40, n_items=30, n_events=3, n_observations=500)
    seconds = np.random.default_rng(0).integers(8e8, 9e8, len(table))
    when = Observations.from_arrays(
        table.users.ids[table.user_rows()], table.items.ids[table.item_rows()], seconds, scaling="minmax"
    )
    train, test = table.split(0.25, by="time", times=when)
    assert len(test) == round(0.25 * len(table))
    moment = dict(zip(pairs(table), seconds.tolist(), strict=True))
    assert max(moment[p] for p in pairs(train)) <= min(moment[p] for p in pairs(test))
    packed = pack(table, tmp_path / "t.kmt").split(0.25, by="time", times=seconds)[1]
    assert pairs(packed) == pairs(test)


def test_times_that_are_known_are_used_by_time_alone(zoo):
    dates = np.datetime64("2024-01-01") + np.random.default_rng(0).permutation(len(zoo))
    timed = zoo.with_times(dates)
    assert timed.dated
    for by in ("entry", "user", "leave_one_out"):
        assert pairs(timed.split(random_state=3, by=by)[1]) == pairs(zoo.split(random_state=3, by=by)[1])
    train, test = timed.split(by="time")
    assert (train.dated, test.dated) == (True, True)
    assert train.times.max() < test.times.min()
    for times in (timed.times, dates, dates.astype(object), dates.astype(str)):
        assert pairs(zoo.split(by="time", times=times)[1]) == pairs(test)
    latest = timed.split(by="leave_one_out", times=timed.times)[1]
    assert latest.times[0] == timed.times[timed.user_rows() == 0].max()


def test_what_cannot_be_split_so(zoo):
    with pytest.raises(DataError, match="A split by time needs to know when ratings were made"):
        zoo.split(by="time")
    with pytest.raises(DataError, match="times= goes with"):
        zoo.split(times=np.zeros(len(zoo)))
    with pytest.raises(DataError, match="'times' must hold"):
        zoo.split(by="time", times=[1.0])
    with pytest.raises(DataError, match="'times' must hold the same entries"):
        zoo.split(by="time", times=zoo.split(random_state=0)[0])
    with pytest.raises(ParameterError, match="'by' must be one of"):
        zoo.split(by="item")
    with pytest.raises(DataError, match="No user has enough observations"):
        Observations.from_arrays([1, 2], [1, 2], [1, 0]).split(by="leave_one_out")
    with pytest.raises(ParameterError, match="'test_size' must be a share"):
        zoo.split(1.5, by="user")
