"""Observations: what they are made of, their parts, and what no model can learn from."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import kolmogorov as km
import naive
from helpers.strategies import tables
from kolmogorov import KolmogorovModel, Observations, pack, read_ratings
from kolmogorov.data import Scale, Vocabulary
from kolmogorov.data.observations import check_trainable, least_like
from kolmogorov.data.scale import FURTHEST_END, LARGEST_WEIGHT, LEAST_WEIGHT
from kolmogorov.data.view import counting_order
from kolmogorov.errors import DataError, ParameterError

FRAMES = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])


def test_a_stored_zero_is_observed_and_a_missing_entry_is_not():
    matrix = sp.coo_array(([0.0, 1.0], ([0, 1], [1, 0])), shape=(2, 3))
    dense = [[np.nan, 0.0, np.nan], [1.0, np.nan, np.nan]]
    masked = np.ma.masked_invalid(np.array(dense))
    tables = [Observations.from_scipy(k(matrix)) for k in (sp.csr_array, sp.csr_matrix, sp.csc_matrix, sp.coo_matrix)]
    for obs in (*tables, *map(Observations.from_dense, (dense, [[None, 0, None], [1, None, None]], masked))):
        assert naive.cells(obs) == {("0", "1"): 0.0, ("1", "0"): 1.0}
        assert (obs.n_users, obs.n_items) == (2, 3)


@given(tables())
def test_both_orders_hold_the_same_entries(table):
    view = table.columns
    items, weight = view.owners(0, table.n_items), table.rows.weights
    by_rows = set(zip(table.user_rows(), table.item_rows(), table.values, strict=True))
    assert by_rows == set(zip(view.indices, items, view.values, strict=True))
    for v in (table.rows, table.columns):
        for row in range(v.indptr.size - 1):
            assert (np.diff(v.indices[v.indptr[row] : v.indptr[row + 1]]) > 0).all()
    if weight.size:
        weight = dict(zip(zip(table.user_rows(), table.item_rows(), strict=True), weight, strict=True))
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


@FRAMES
def test_frames_of_every_kind_come_and_go(make):
    frame = make({"who": ["b", "a", "a"], "what": [3, 3, 1], "stars": [1.0, 5.0, 2.0], "n": [1, 2, 3]})
    obs = read_ratings(frame, user="who", item="what", value="stars", maximum=5, weight="n")
    assert naive.cells(obs) == {("a", "1"): 0.4, ("a", "3"): 1.0, ("b", "3"): 0.2}
    assert obs.weights.tolist() == [3.0, 2.0, 1.0]
    for backend in ("pandas", "polars", "pyarrow"):
        back = read_ratings(obs.to_frame(backend), value="rating", weight="weight", maximum=5)
        assert naive.cells(back) == naive.cells(obs)
    with pytest.raises(ParameterError, match="'backend' must be one of"):
        obs.to_frame("nonsense")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"values": [1, np.nan, 2]}, "entry 1: value must be finite"),
        ({"values": [1, None, 2]}, "entry 1: value must be finite"),
        ({"values": [1, -2, 1], "maximum": 5}, "entry 1: value must not be negative.*minimum="),
        ({"maximum": 4}, "entry 0: value must be at most the maximum 4, got 5"),
        ({"weights": [1, 0, 1]}, "entry 1: weight must be positive, got 0"),
        ({"weights": [1, 1]}, "3 users, 3 items, 3 values, 2 weights"),
        ({"values": ["1", "x", "2"]}, "The values must be numbers: could not convert string to float: 'x'.$"),
        ({"items": [1, 1, 2], "users": [1, 1, 2]}, "entry 1: duplicate rating of user '1' .* .first at entry 0"),
        ({"users": [1.5, 2, 3]}, "entry 0: user ids must be texts or whole numbers, got 1.5"),
        ({"users": ["a", 2, None]}, "entry 2: user ids must .*None"),
        ({"users": np.array([2, 3, True], dtype=object)}, "entry 2: .*got True"),
        ({"users": pd.array([1, None, 3], dtype="Int64")}, "entry 1: .*got nan"),
        ({"items": np.ma.array([1, 2, 3], mask=[0, 1, 0])}, "entry 1: this entry of the .* is masked, .*missing. Drop"),
        ({"maximum": -1}, "above minimum"),
        ({"maximum": "five"}, "'maximum' must be a finite number or None, got 'five'"),
        ({"scaling": "z"}, "'scaling' must be one of"),
        ({"minimum": 1, "scaling": "max"}, "goes with scaling='minmax'"),
        ({"duplicates": "first"}, "'duplicates' must be one of"),
    ],
)
def test_bad_arrays_are_named(options, message):
    arguments = {"users": [1, 2, 3], "items": [1, 2, 3], "values": [5, 3, 1], **options}
    with pytest.raises((DataError, ParameterError), match=message):
        Observations.from_arrays(**arguments)


def test_duplicates_are_settled_as_asked():
    arrays = ([1, 1, 1, 2], [7, 7, 8, 7], [1.0, 0.0, 1.0, 1.0])
    assert naive.cells(Observations.from_arrays(*arrays, duplicates="last"))["1", "7"] == 0.0
    mean = Observations.from_arrays(*arrays, duplicates="mean", weights=[3, 1, 1, 1])
    assert naive.cells(mean) == {("1", "7"): 0.75, ("1", "8"): 1.0, ("2", "7"): 1.0}
    assert mean.weights.tolist() == [4.0, 1.0, 1.0]
    with pytest.raises(DataError, match=r"one repeated pair add up to 2e\+09; weights from"):
        Observations.from_arrays([1, 1], [1, 1], [1, 0], weights=[1e9, 1e9], duplicates="mean")


def test_vocabulary():
    words = Vocabulary.of(["b", "a", "b"])
    assert words.ids.tolist() == ["a", "b"]
    assert words.encode(["b", "zz", 3]).tolist() == [1, -1, -1]
    numbers, codes = Vocabulary.index([10**15, 5, 5.0, "5", " 5 "])
    assert numbers.ids.tolist() == ["5", str(10**15)]
    assert codes.tolist() == [1, 0, 0, 0, 0]
    assert numbers.encode([5, 6, 10**16, "05"]).tolist() == [0, -1, -1, -1]
    assert numbers.encode(np.array([5.0, 6.0])).tolist() == [0, -1]
    titled = numbers.with_labels({"5": "Alien"})
    assert (titled.parse("Alien"), titled.parse("5"), titled.name(1)) == ("5", "5", str(10**15))
    assert numbers == titled
    assert numbers != words
    # Whole numbers stand in their own order, one text among them ends that. NumPy would cut off NUL.
    assert Vocabulary.of([10, 9, -1]).ids.tolist() == ["-1", "9", "10"]
    assert Vocabulary.of([10, 9, "a"]).ids.tolist() == ["10", "9", "a"]
    assert Vocabulary.of([2**70, 1]).ids.tolist() == ["1", str(2**70)]
    assert Vocabulary.of(["an\0", "an", "b"]).encode(["an\0"]).tolist() == [1]
    days = np.array(["2020-01-01"], dtype="M8[D]")
    for wrong in (days, [True], [b"a"], [1.5], [None], [1e300], [float(2**60)], [{}], ["\ud800"]):
        with pytest.raises(DataError, match="ids must be texts or whole numbers"):
            Vocabulary.of(wrong)


def test_rescaling():
    obs = Observations.from_arrays([1, 2], [1, 1], [2, 4], maximum=4)
    assert obs.rescaled(Scale(0.0, 5.0)).values.tolist() == [0.4, 0.8]
    with pytest.raises(DataError, match="rating 4 does not fit into the scale 0 to 3"):
        obs.rescaled(Scale(0.0, 3.0))


def test_observations_are_told_apart_and_travel():
    obs = Observations.from_arrays([1, 1], [1, 2], [1, 5], weights=[1, 2])
    assert repr(obs) == "Observations: 2 of 1 users × 2 items (100.0% observed), p = r / 5, weighted"
    assert obs.fingerprint() == Observations.from_arrays([1, 1], [2, 1], [5, 1], weights=[2, 1]).fingerprint()
    assert obs.fingerprint() != Observations.from_arrays([1, 1], [1, 2], [1, 5]).fingerprint()
    for twin in (pickle.loads(pickle.dumps(obs)), copy.deepcopy(obs)):
        assert twin.fingerprint() == obs.fingerprint()
        assert twin.path is None
        assert naive.cells(twin) == naive.cells(obs)


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [([5, 4, 4, 3, 3, 1], 0.8), ([5, 5, 5, 5, 5, 1], 1.0), ([0, 0, 0, 0, 0, 0], 1.0), ([5, 0, 5, 0, 0, 0], 1.0)],
)
def test_at_most_about_half_of_the_ratings_are_likes(ratings, expected):
    table = Observations.from_arrays(range(6), ["tea"] * 6, ratings, minimum=0, maximum=5)
    assert least_like(table) == expected


# --- splits -----------------------------------------------------------------------------------------------------------


@given(tables(), st.integers(0, 2**31), st.sampled_from([0.2, 0.5, 0.9]), st.sampled_from(["entry", "user"]))
def test_splits_share_out_every_entry_once(table, seed, share, by):
    counts = table.rows.counts
    if by == "entry":
        n_test = round(share * len(table))
        possible = 0 < n_test < len(table)
    else:
        wanted = np.minimum(np.round(share * counts), counts - 1).clip(0)
        n_test, possible = wanted.sum(), wanted.any()
    options = {"random_state": seed, "by": by}
    if not possible:
        with pytest.raises(DataError, match="leaves one part empty"):
            table.split(share, **options)
        return
    (train, test), (again, _) = table.split(share, **options), table.split(share, **options)
    assert naive.cells(train) | naive.cells(test) == naive.cells(table)
    assert (len(train) + len(test), len(test)) == (len(table), n_test)
    assert by == "entry" or test.rows.counts.tolist() == wanted.tolist()
    assert naive.cells(again) == naive.cells(train)
    assert (train.users, train.items) == (table.users, table.items)


def test_folds_test_every_entry_once(zoo):
    tested = []
    for train, test in zoo.folds(4, random_state=1):
        assert len(train) + len(test) == len(zoo)
        tested += list(naive.cells(test))
    assert sorted(tested) == sorted(naive.cells(zoo))
    for wrong, message in (
        (lambda: zoo.folds(1), "'k' must be an integer >= 2, got 1"),
        (lambda: zoo.split(1.5), "'test_size' must be a number between 0 and 1"),
        (lambda: zoo.split(by="item"), "'by' must be one of 'entry', 'user'"),
    ):
        with pytest.raises(ParameterError, match=message):
            wrong()
    with pytest.raises(DataError, match="boolean mask"):
        zoo.subset(np.ones(3, dtype=bool))


# --- what comes in the place of an array -----------------------------------------------------------------------------


@FRAMES
def test_a_list_of_ratings_is_no_table(make):
    frame = {"user_id": [1, 2], "film": ["a", "b"], "stars": [5, 4]}
    for columns, call in ((frame, r"read_ratings\(df\)"), ({"session": [1], "page": [2]}, "implicit=True")):
        with pytest.raises(DataError, match=f"list of ratings.*{call}"):
            Observations.from_dense(make(columns))


def test_columns_need_not_be_texts():
    assert len(Observations.from_dense(pd.DataFrame(np.arange(150).reshape(50, 3)))) == 150
    assert len(read_ratings(pd.DataFrame([[1, 2, 3], [2, 2, 3]]), user="0", item="1", value="2")) == 2
    with pytest.raises(DataError, match="(?i)duplicate column|same name"):
        KolmogorovModel(2).fit(pd.DataFrame(np.eye(3), columns=["a", "a", "b"]))


@pytest.mark.parametrize("number", [int, float, object, "Int64"])
def test_cells_that_are_masked_or_that_pandas_calls_missing_are_missing(number):
    table = np.array([[1, 9, 0], [9, 1, 1], [0, 1, 9]])
    expected = np.where(table == 9, np.nan, table)
    given = pd.DataFrame(expected).astype("Int64") if number == "Int64" else np.ma.masked_equal(table.astype(number), 9)
    assert naive.cells(Observations.from_dense(given)) == naive.cells(Observations.from_dense(expected))
    model = KolmogorovModel(2, random_state=0).fit(given)
    assert model.fitted_.training.values.size == 6
    assert model.score(given) == model.score(expected)


STRANGE = {
    "generator": lambda: (x for x in [1]),
    "set": lambda: {1, 2},
    "dict": lambda: {1: 2},
    "view": lambda: {1: 2}.values(),
    "None": lambda: None,
    "text": lambda: "abc",
    "bytes": lambda: b"abc",
    "one number": lambda: 5,
    "zero dimensions": lambda: np.array(3),
    "three dimensions": lambda: np.zeros((2, 2, 2)),
    "ragged": lambda: [[1], [1, 2]],
}
CELLS = {
    "complex": np.array([1j]),
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "durations": np.array([3], dtype="m8[D]"),
    "records": np.zeros(1, dtype=[("a", float)]),
    "words": np.array(["x"]),
    "objects": np.array([{"a": 1}], dtype=object),
}


@pytest.mark.parametrize("kind", STRANGE | CELLS)
def test_what_is_no_table_and_no_column_is_a_sentence(zoo, kind):
    def given():
        return STRANGE[kind]() if kind in STRANGE else CELLS[kind]

    for take in (Observations.from_dense, KolmogorovModel(2, random_state=0).fit):
        with pytest.raises(DataError):
            take(given() if kind in STRANGE else given().reshape(1, 1))
    for place in ("users", "items", "values", "weights"):
        if (kind, place) not in (("None", "weights"), ("words", "users"), ("words", "items")):
            with pytest.raises(DataError):
                Observations.from_arrays(**{"users": [1], "items": [1], "values": [1]} | {place: given()})
    if kind in ("generator", "set", "dict", "bytes", "three dimensions", "ragged"):
        with pytest.raises(DataError, match="ids must"):
            KolmogorovModel(2, random_state=0).fit(zoo).predict(STRANGE[kind](), "milk")


def test_sparse_formats_that_hide_zeros_are_refused():
    for kind in (sp.dia_array, sp.bsr_array):
        with pytest.raises(DataError, match="Convert the matrix to csr"):
            Observations.from_scipy(kind(np.eye(2)))


# --- bounds of scales and weights, whichever way the data come in ----------------------------------------------------


def written(folder, values, weights):
    path = folder / "r.csv"
    pd.DataFrame({"user": [1, 2, 3], "item": [1, 2, 3], "rating": values, "n": weights}).to_csv(path, index=False)
    return path


WAYS = {
    "arrays": lambda folder, v, w: Observations.from_arrays([1, 2, 3], [1, 2, 3], v, weights=w),
    "file": lambda folder, v, w: read_ratings(written(folder, v, w), weight="n"),
    "dense": lambda folder, v, w: Observations.from_dense(np.array([v]), weights=w),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [LEAST_WEIGHT / 2, LARGEST_WEIGHT * 2, 5e-324, 0.0, -1.0, np.inf])
def test_weights_outside_the_bounds_are_named(tmp_path, way, weight):
    with pytest.raises(DataError, match=r"(entry|row|line|cell) .*weight .*(1e-09 to 1e\+09|finite)"):
        WAYS[way](tmp_path, [5.0, 3.0, 1.0], [1.0, weight, 1.0])


@pytest.mark.parametrize(
    ("low", "high"), [(-1.7e308, 1.7e308), (0.0, 1.7e308), (0.0, 5e-324), (0.0, 1e-200), (0.0, 10 * FURTHEST_END)]
)
def test_scales_that_overflow_or_vanish_are_refused(tmp_path, low, high):
    with pytest.raises(ParameterError, match="do not make a scale"):
        Scale(low, high)
    values = [low, high, low]
    with pytest.raises(DataError, match=r"ratings reach from .* do not make a scale"):
        Observations.from_arrays([1, 2, 3], [1, 2, 3], values, scaling="minmax")
    with pytest.raises(DataError, match="do not make a scale"):
        pack(written(tmp_path, values, [1, 1, 1]), tmp_path / "t", scaling="minmax")


@pytest.mark.parametrize("value", [1e17, -1e17, 1e90, 2.0])
def test_equal_and_neighbouring_ratings_make_a_scale(value):
    table = Observations.from_arrays([1, 2], [1, 2], [value, value], scaling="minmax")
    assert table.values.tolist() == [0.0, 0.0]
    assert table.scale.rating(table.values).tolist() == [value, value]
    near = Observations.from_arrays([1, 2], [1, 2], [value, np.nextafter(value, np.inf)], scaling="minmax")
    assert near.values.tolist() == [0.0, 1.0]


# --- what no model can learn from -------------------------------------------------------------------------------------

BAYESIAN = {"n_chains": 1, "burn_in": 2, "n_samples": 2, "random_state": 0}
FITS = {
    "kolmogorov": KolmogorovModel(2, random_state=0).fit,
    "ratings": KolmogorovModel(2, learn_from="ratings", random_state=0).fit,
    "bayesian": km.BayesianKolmogorovModel(2, **BAYESIAN).fit,
    "tune": lambda table: km.tune(table, n_events=2, folds=2),
}


@pytest.mark.parametrize("name", FITS)
def test_what_cannot_be_learned_from_is_refused(name, visits, tmp_path):
    never = Observations.from_arrays(visits.user_rows(), visits.item_rows(), np.zeros(len(visits)))
    for table, message in (
        (visits, "Only yes is recorded: .*value 1, .*Fill in zeros .*unobserved="),
        (pack(visits, tmp_path / "packed"), "Only yes is recorded"),
        (never, "Only no is recorded: .*value 0"),
        (visits.subset(np.zeros(len(visits), dtype=bool)), "no observations to learn from"),
    ):
        with pytest.raises(DataError, match=message):
            FITS[name](table)


def test_an_empty_table_cannot_be_divided_packed_or_tested_on(zoo, tmp_path):
    empty = zoo.subset(np.zeros(len(zoo), dtype=bool))
    model = km.BayesianKolmogorovModel(2, **BAYESIAN).fit(zoo)
    uses = empty.split, lambda: empty.folds(2), lambda: pack(empty, tmp_path / "packed")
    for use in (*uses, lambda: model.diagnostics(empty), lambda: model.evaluate(empty)):
        with pytest.raises(DataError, match=r"(no|0) observation"):
            use()
    assert model.predict(empty).shape == (0,)
    assert not list(tmp_path.iterdir())


def test_what_is_at_one_end_of_its_scale_is_named_in_rating_units(visits):
    with pytest.raises(DataError, match=r"every observation has the value 4, .*give its end with maximum="):
        check_trainable(Observations.from_arrays([1, 2], [1, 2], [4, 4]))
    with pytest.raises(DataError, match=r"every observation has the value -3, the minimum"):
        check_trainable(Observations.from_arrays([1, 2], [1, 2], [-3, -3], scaling="minmax"))
    check_trainable(Observations.from_arrays([1, 2], [1, 2], [4, 4], maximum=5))
    check_trainable(Observations.from_arrays([1], [1], [0.5]))
    values = np.ones(len(visits))
    values[-1] = 0
    KolmogorovModel(2, random_state=0).fit(Observations.from_arrays(visits.user_rows(), visits.item_rows(), values))
