"""Splits by entry, by user, and one entry of every user."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers.strategies import tables
from kolmogorov import Observations
from kolmogorov.errors import DataError, ParameterError


def pairs(table):
    return list(zip(table.user_rows().tolist(), table.item_rows().tolist(), strict=True))


@given(tables(), st.sampled_from([0.2, 0.5, 0.9]))
def test_by_user_every_user_gives_his_share(table, test_size):
    counts = table.rows.counts
    wanted = np.minimum(np.round(test_size * counts), counts - 1).clip(0)
    assume(wanted.any())
    train, test = table.split(test_size, random_state=0, by="user")
    assert test.rows.counts.tolist() == wanted.tolist()
    assert sorted(pairs(train) + pairs(test)) == pairs(table)


@given(tables())
def test_leave_one_out_takes_one_of_every_user_who_has_two(table):
    assume((table.rows.counts > 1).any())
    train, test = table.split(random_state=1, by="leave_one_out")
    assert test.rows.counts.tolist() == (table.rows.counts > 1).astype(int).tolist()
    assert sorted(pairs(train) + pairs(test)) == pairs(table)


def test_the_seed_decides(zoo):
    one, two, three = (zoo.split(0.3, random_state=s, by="user")[1] for s in (0, 0, 1))
    assert pairs(one) == pairs(two) != pairs(three)


def test_what_cannot_be_split_so(zoo):
    with pytest.raises(ParameterError, match="'by' must be one of"):
        zoo.split(by="item")
    with pytest.raises(DataError, match="No user has enough observations"):
        Observations.from_arrays([1, 2], [1, 2], [1, 0]).split(by="leave_one_out")
    with pytest.raises(ParameterError, match="'test_size' must be a share"):
        zoo.split(1.5, by="user")
