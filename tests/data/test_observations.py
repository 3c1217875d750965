import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from helpers.strategies import tables
from kolmogorov import Observations
from kolmogorov.data import Scale, Vocabulary
from kolmogorov.data.liking import least_like
from kolmogorov.data.view import counting_order
from kolmogorov.errors import DataError, ParameterError


def test_a_stored_zero_is_observed_and_a_missing_entry_is_not():
    matrix = sp.coo_array(([0.0, 1.0], ([0, 1], [1, 0])), shape=(2, 3))
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix):
        obs = Observations.from_scipy(kind(matrix))
        assert naive.cells(obs) == {(0, 1): 0.0, (1, 0): 1.0}
        assert (obs.n_users, obs.n_items) == (2, 3)
    dense = Observations.from_dense([[np.nan, 0.0, np.nan], [1.0, np.nan, np.nan]])
    assert naive.cells(dense) == {(0, 1): 0.0, (1, 0): 1.0}


@given(tables())
def test_both_orders_hold_the_same_entries(table):
    by_rows = set(zip(table.user_rows(), table.item_rows(), table.values, strict=True))
    view = table.columns
    items = np.repeat(np.arange(table.n_items), view.counts)
    assert by_rows == set(zip(view.indices, items, view.values, strict=True))
    for v in (table.rows, table.columns):
        for row in range(v.indptr.size - 1):
            assert (np.diff(v.indices[v.indptr[row] : v.indptr[row + 1]]) > 0).all()
    if table.weights is not None:
        weight = {(u, i): w for u, i, w in zip(table.user_rows(), table.item_rows(), table.weights, strict=True)}
        assert all(weight[u, i] == w for u, i, w in zip(view.indices, items, view.weights, strict=True))


@given(st.lists(st.integers(0, 6), max_size=40))
def test_counting_order_is_a_stable_sort(codes):
    codes = np.array(codes, dtype=np.int64)
    assert np.array_equal(counting_order(codes, 7), np.argsort(codes, kind="stable"))


def test_arrays_are_read_only():
    obs = Observations.from_dense([[1, 0], [0, 1]])
    for array in (obs.values, obs.rows.indices, obs.rows.indptr, obs.columns.values, obs.users.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_of_every_kind_come_and_go(make):
    frame = make({"who": ["b", "a", "a"], "what": [3, 3, 1], "stars": [1.0, 5.0, 2.0], "n": [1, 2, 3]})
    obs = Observations.from_frame(frame, user="who", item="what", value="stars", maximum=5, weight="n")
    assert naive.cells(obs) == {("a", 1): 0.4, ("a", 3): 1.0, ("b", 3): 0.2}
    assert obs.weights.tolist() == [3.0, 2.0, 1.0]
    for backend in ("pandas", "polars", "pyarrow"):
        back = Observations.from_frame(obs.to_frame(backend), value="rating", weight="weight", maximum=5)
        assert naive.cells(back) == naive.cells(obs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [1, np.nan, 2]}, "entry 1: value must be finite"),
        ({"values": [1, 2, np.inf]}, "entry 2: value must be finite"),
        ({"values": [1, -2, 1], "maximum": 5}, "entry 1: value must not be negative.*minimum="),
        ({"maximum": 4}, "entry 0: value must be at most the maximum 4, got 5"),
        ({"weights": [1, 0, 1]}, "entry 1: weight must be positive, got 0"),
        ({"weights": [1, 1]}, "3 users, 3 items, 3 values, 2 weights"),
        ({"values": ["1", "x", "2"]}, "entry 1: value must be a number, got 'x'.$"),
        ({"items": [1, 1, 2], "users": [1, 1, 2]}, "entry 1: duplicate rating of user 1 and item 1 .first at entry 0"),
        ({"users": [1.5, 2, 3]}, "user ids must all be integers or all be strings, got the fraction"),
        ({"users": ["a", 2, None]}, "entry 1: user ids"),
        ({"maximum": -1}, "above 'minimum'"),
        ({"scaling": "z"}, "'scaling' must be one of"),
        ({"minimum": 1, "scaling": "max"}, "goes with scaling='minmax'"),
        ({"duplicates": "first"}, "'duplicates' must be one of"),
    ],
)
def test_bad_arrays_are_named(options, message):
    arguments = {"users": [1, 2, 3], "items": [1, 2, 3], "values": [5, 3, 1], **options}
    users, items, values = (arguments.pop(name) for name in ("users", "items", "values"))
    if isinstance(users[0], str):
        users = np.array(users, dtype=object)
    with pytest.raises((DataError, ParameterError), match=message):
        Observations.from_arrays(users, items, values, **arguments)


@pytest.mark.parametrize(("empty", "message"), [([[np.nan]], "no observations"), ([1.0], "two-dimensional")])
def test_tables_without_content(empty, message):
    with pytest.raises(DataError, match=message):
        Observations.from_dense(empty)
    with pytest.raises(DataError, match="no observations"):
        Observations.from_arrays([], [], [])


def test_duplicates_are_settled_as_asked():
    arrays = ([1, 1, 1, 2], [7, 7, 8, 7], [1.0, 0.0, 1.0, 1.0])
    assert naive.cells(Observations.from_arrays(*arrays, duplicates="last"))[1, 7] == 0.0
    mean = Observations.from_arrays(*arrays, duplicates="mean", weights=[3, 1, 1, 1])
    assert naive.cells(mean) == {(1, 7): 0.75, (1, 8): 1.0, (2, 7): 1.0}
    assert mean.weights.tolist() == [4.0, 1.0, 1.0]


@given(tables(), st.integers(0, 2**31), st.sampled_from([0.1, 0.25, 0.5]))
def test_splits_share_out_every_entry_once(table, seed, share):
    if not 0 < round(share * len(table)) < len(table):
        with pytest.raises(DataError, match="leaves one part empty"):
            table.split(share, seed)
        return
    train, test = table.split(share, seed)
    again, _ = table.split(share, seed)
    assert naive.cells(train) | naive.cells(test) == naive.cells(table)
    assert len(train) + len(test) == len(table)
    assert len(test) == round(share * len(table))
    assert naive.cells(again) == naive.cells(train)
    assert train.users is table.users
    assert train.items is table.items


def test_folds_test_every_entry_once(zoo):
    tested = []
    for train, test in zoo.folds(4, random_state=1):
        assert len(train) + len(test) == len(zoo)
        tested += list(naive.cells(test))
    assert sorted(tested) == sorted(naive.cells(zoo))
    with pytest.raises(ParameterError, match="'k' must be an integer >= 2"):
        zoo.folds(1)
    with pytest.raises(ParameterError, match="share between 0 and 1"):
        zoo.split(1.5)


def test_vocabulary():
    words = Vocabulary.of(["b", "a", "b"])
    assert words.ids.tolist() == ["a", "b"]
    assert words.encode(["b", "zz"]).tolist() == [1, -1]
    with pytest.raises(DataError, match="user ids are strings here, got integers such as 3"):
        words.encode([3], "user")
    numbers, codes = Vocabulary.index([10**15, 5, 5])
    assert numbers.ids.tolist() == [5, 10**15]
    assert codes.tolist() == [1, 0, 0]
    assert numbers.encode([5, 6, 10**16]).tolist() == [0, -1, -1]
    titled = numbers.with_labels({5: "Alien"})
    assert titled.parse("Alien") == 5
    assert titled.parse("5") == 5
    assert titled.name(1) == str(10**15)
    assert numbers == titled
    assert numbers != words
    with pytest.raises(DataError, match=r"below 2\*\*63"):
        Vocabulary.of(np.array([2**63], dtype=np.uint64))
    with pytest.raises(DataError, match="datetime"):
        Vocabulary.of(np.array(["2020-01-01"], dtype="datetime64[D]"))


@given(st.lists(st.integers(-50, 50), min_size=1))
def test_distinct_integers_agree_with_numpy(ids):
    vocabulary, codes = Vocabulary.index(ids)
    expected, inverse = np.unique(ids, return_inverse=True)
    assert np.array_equal(vocabulary.ids, expected)
    assert np.array_equal(codes, inverse)


def test_rescaling():
    obs = Observations.from_arrays([1, 2], [1, 1], [2, 4], maximum=4)
    other = obs.rescaled(Scale(0.0, 5.0))
    assert other.values.tolist() == [0.4, 0.8]
    with pytest.raises(DataError, match="rating 4 does not fit into the scale 0 to 3"):
        obs.rescaled(Scale(0.0, 3.0))


def test_repr_and_fingerprint():
    obs = Observations.from_arrays([1, 1], [1, 2], [1, 5], weights=[1, 2])
    assert repr(obs) == "Observations: 2 of 1 users × 2 items (100.0% observed), p = r / 5, weighted"
    assert obs.fingerprint() == Observations.from_arrays([1, 1], [2, 1], [5, 1], weights=[2, 1]).fingerprint()
    assert obs.fingerprint() != Observations.from_arrays([1, 1], [1, 2], [1, 5]).fingerprint()


def test_observations_cannot_be_changed():
    obs = Observations.from_dense([[1, 0]])
    with pytest.raises(AttributeError, match="immutable"):
        obs.scale = Scale(0.0, 2.0)
    with pytest.raises(DataError, match="boolean mask"):
        obs.subset(np.array([0]))


@pytest.mark.parametrize("ids", [[2**70, 1], [2**63, 1], [1e300, 1.0], [float(2**60), 1.0]])
def test_ids_beyond_64_bits_are_refused(ids):
    with pytest.raises(DataError, match="ids must"):
        Observations.from_arrays(ids, [1, 2], [1, 1])


def test_sparse_formats_that_hide_zeros_and_complex_values_are_refused():
    for kind in (sp.dia_array, sp.bsr_array):
        with pytest.raises(DataError, match="Convert the matrix to csr or coo"):
            Observations.from_scipy(kind(np.eye(2)))
    with pytest.raises(DataError, match="real numbers, got complex"):
        Observations.from_arrays([1], [1], [1j])
    with pytest.raises(ParameterError, match="'maximum' must be a number"):
        Observations.from_arrays([1], [1], [1], maximum="five")
    with pytest.raises(ParameterError, match="'backend' must be one of"):
        Observations.from_arrays([1], [1], [1]).to_frame("nonsense")


def test_ids_are_translated_as_text_where_types_differ():
    numbers, words = Vocabulary.of([1, 20]), Vocabulary.of(["20", "x"])
    assert numbers.translate(words).tolist() == [1, -1]
    assert words.translate(numbers).tolist() == [-1, 0]
    titled = numbers.with_labels({1: "same", 20: "same"})
    from kolmogorov.errors import UnknownIdError

    with pytest.raises(UnknownIdError, match="Several ids have the title 'same': 1, 20"):
        titled.parse("same")
    with pytest.raises(UnknownIdError, match="Ids are integers or titles; 'other' is not one"):
        titled.parse("other")
    with pytest.raises(UnknownIdError):
        numbers.parse("9" * 30)


# --- what a like is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        ([5, 4, 4, 3, 3, 1], 0.8),
        ([5, 5, 5, 5, 5, 1], 1.0),
        ([0, 0, 0, 0, 0, 0], 1.0),
        ([5, 0, 5, 0, 0, 0], 1.0),
    ],
)
def test_at_most_about_half_of_the_ratings_are_likes(ratings, expected):
    table = Observations.from_arrays(range(6), ["tea"] * 6, ratings, minimum=0, maximum=5)
    assert least_like(table) == expected
