"""What comes in the place of an array, and frames that are lists of ratings in the place of a table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import naive
from kolmogorov import KolmogorovModel, Observations, read_ratings
from kolmogorov.errors import DataError

FRAMES = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
TAKERS = {
    "from_dense": Observations.from_dense,
    "transform": lambda table: KolmogorovModel(2, random_state=0).fit(np.eye(3)).transform(table),
    "score": lambda table: KolmogorovModel(2, random_state=0).fit(np.eye(3)).score(table),
}
LISTS = {
    "usual names": (
        {"userId": [1, 1, 2, 2], "movieId": [7, 9, 7, 9], "rating": [5.0, 3.5, 4.0, 1.0], "timestamp": [9, 8, 7, 6]},
        "user='userId', item='movieId', value='rating'",
    ),
    "another order": (
        {"stars": [5, 3, 4], "item": ["tea", "rum", "tea"], "user": [1, 1, 2]},
        "user='user', item='item', value='stars'",
    ),
    "texts": (
        {"who": ["ann", "ann", "bob"], "what": ["tea", "rum", "tea"], "much": [5, 3, 4]},
        "user='who', item='what', value='much'",
    ),
    "a text and a usual name": (
        {"who": ["ann", "ann", "bob"], "movie_id": [1, 2, 1], "much": [5, 3, 4]},
        "user='who', item='movie_id', value='much'",
    ),
    "numbers": (
        {"a": np.repeat(np.arange(100, 140), 10), "b": np.tile(np.arange(50, 60), 40), "c": np.arange(400) % 5 + 1},
        "user='a', item='b', value='c'",
    ),
}


@FRAMES
@pytest.mark.parametrize("taker", TAKERS)
def test_a_list_of_ratings_is_no_table(make, taker):
    columns, call = LISTS["usual names"]
    with pytest.raises(DataError, match=rf"list of ratings.*Observations.from_frame\(df, {call}\)"):
        TAKERS[taker](make(columns))


@FRAMES
def test_fit_reads_a_list_whose_columns_have_usual_names(make):
    model = KolmogorovModel(2, random_state=0).fit(make(LISTS["usual names"][0]))
    training = model.fitted_.training
    assert naive.cells(training) == {(1, 7): 1.0, (1, 9): 0.7, (2, 7): 0.8, (2, 9): 0.2}
    columns = {"user": "userId", "item": "movieId", "value": "rating"}
    assert training.source.layout.columns == columns
    assert training.source.layout.ignored == ("timestamp",)
    assert not hasattr(model, "feature_names_in_")
    # What only looks like a list is asked about.
    with pytest.raises(DataError, match="looks like a list of ratings"):
        KolmogorovModel(2, random_state=0).fit(make(LISTS["numbers"][0]))


@FRAMES
@pytest.mark.parametrize("kind", LISTS)
def test_lists_are_told_by_names_or_by_looks_and_the_call_works(make, kind):
    columns, call = LISTS[kind]
    frame = make(columns)
    with pytest.raises(DataError, match=rf"from_frame\(df, {call}\)"):
        Observations.from_dense(frame)
    assert len(eval(f"Observations.from_frame(df, {call})", {"Observations": Observations, "df": frame})) > 2


RNG = np.random.default_rng(0)
TABLES = {
    "yes and no": RNG.integers(0, 2, (30, 3)).astype(float),
    "stars": RNG.integers(1, 6, (300, 3)).astype(float),
    "shares": RNG.random((10, 3)),
    "holes": np.array([[1, np.nan, 0], [np.nan, 5, 1], [2, 3, np.nan]]),
}


@FRAMES
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_may_have_any_names(make, kind):
    table = TABLES[kind]
    frame = make({name: table[:, k] for k, name in enumerate(("user", "item", "rating"))})
    assert naive.cells(Observations.from_dense(frame)) == naive.cells(Observations.from_dense(table))
    model = KolmogorovModel(2, random_state=0).fit(frame)
    assert model.items_.ids.tolist() == ["user", "item", "rating"]
    # Few rows could be a list; with the columns that were learned from they are not.
    assert model.transform(make({name: [1.0, 0.0] for name in ("user", "item", "rating")})).shape == (2, 2)


def test_columns_need_not_be_texts():
    counts = pd.DataFrame(RNG.integers(0, 100, (50, 3)))
    assert len(Observations.from_dense(counts)) == 150
    assert len(Observations.from_frame(pd.DataFrame([[1, 2, 3], [2, 2, 3]]), 0, 1, 2)) == 2
    with pytest.raises(DataError, match="a name of its own"):
        KolmogorovModel(2).fit(pd.DataFrame(np.eye(3), columns=["a", "a", "b"]))


def test_a_frame_with_names_in_a_column_says_where_they_go():
    frame = pd.DataFrame({"name": ["ann", "bob"], "tea": [1, 0], "rum": [0, 1]})
    for take in (Observations.from_dense, KolmogorovModel(2).fit):
        with pytest.raises(DataError, match=r"column 'name' holds 'ann'. kolmogorov.read_ratings\(df, wide=True\)"):
            take(frame)
    expected = {("ann", "tea"): 1.0, ("ann", "rum"): 0.0, ("bob", "tea"): 0.0, ("bob", "rum"): 1.0}
    for given in (frame, frame.set_index("name"), frame.set_index("name").replace({1: "yes", 0: "no"})):
        assert naive.cells(read_ratings(given, wide=True)) == expected
        assert naive.cells(Observations.from_frame(given, wide=True)) == expected


def test_a_frame_of_clicks_says_how_it_is_read():
    frame = pd.DataFrame({"session": ["s1", "s1", "s2"], "page": ["/a", "/b", "/a"]})
    for take in (Observations.from_dense, KolmogorovModel(2).fit):
        with pytest.raises(DataError, match=r"read it with kolmogorov.read_ratings\(df, only_yes=True\)"):
            take(frame)
    assert len(read_ratings(frame, only_yes=True)) == 3


@FRAMES
def test_an_age_beside_yes_and_no_is_refused(make):
    answers = {name: RNG.integers(0, 2, 20).astype(float) for name in ("tea", "rum", "gin")}
    frame = make(answers | {"age": np.arange(20.0, 40.0)})
    for take in (Observations.from_dense, KolmogorovModel(2).fit):
        with pytest.raises(DataError, match=r"Column 'age' is on another scale .* from 20 to 39. Drop it"):
            take(frame)
    assert len(Observations.from_dense(frame, maximum=39)) == 80
    assert read_ratings(frame, wide=True, user="age").n_items == 3
    assert KolmogorovModel(2, random_state=0).fit(make(answers)).items_.ids.tolist() == ["tea", "rum", "gin"]


@pytest.mark.parametrize("number", [int, float, object])
def test_masked_cells_are_missing(number):
    table = np.array([[1, 9, 0], [9, 1, 1], [0, 1, 9]])
    masked = np.ma.masked_equal(table.astype(number), 9)
    expected = Observations.from_dense(np.where(table == 9, np.nan, table))
    assert naive.cells(Observations.from_dense(masked)) == naive.cells(expected)
    model = KolmogorovModel(2, random_state=0).fit(masked)
    assert model.fitted_.training.values.size == 6
    assert model.transform(masked).shape == (3, 2)
    assert model.score(masked) == model.score(np.where(table == 9, np.nan, table))


def test_cells_that_pandas_calls_missing_are_missing():
    frame = pd.DataFrame({"a": [1, None, 0], "b": [1, 0, 0], "c": [1, 0, None]}, dtype="Int64")
    assert len(Observations.from_dense(frame)) == 7
    assert KolmogorovModel(2, random_state=0).fit(frame).fitted_.training.values.size == 7
    assert len(Observations.from_dense([[1, None], [0, 1]])) == 3


@pytest.mark.parametrize("place", ["users", "items", "values", "weights"])
def test_masked_entries_of_arrays_are_named(place):
    arrays = {"users": [1, 2, 3], "items": [1, 2, 3], "values": [1, 0, 1], "weights": [1, 1, 1]}
    whole = Observations.from_arrays(**{name: np.ma.array(array) for name, array in arrays.items()})
    assert len(whole) == 3
    arrays[place] = np.ma.array(arrays[place], mask=[False, True, False])
    with pytest.raises(DataError, match=r"entry 1: this entry of the .* is masked, which means missing. Drop"):
        Observations.from_arrays(**arrays)


STRANGE = {
    "generator": lambda: (x for x in [1]),
    "iterator": lambda: map(int, [1]),
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
def test_what_is_no_table_and_no_column_is_a_sentence(kind):
    for take in TAKERS.values():
        with pytest.raises(DataError):
            take(STRANGE[kind]() if kind in STRANGE else CELLS[kind].reshape(1, 1))
    for place in ("users", "items", "values", "weights"):
        if (kind, place) not in (("None", "weights"), ("words", "users"), ("words", "items")):
            given = STRANGE[kind]() if kind in STRANGE else CELLS[kind]
            with pytest.raises(DataError):
                Observations.from_arrays(**{"users": [1], "items": [1], "values": [1]} | {place: given})


@pytest.mark.parametrize("kind", ["generator", "set", "dict", "bytes", "three dimensions", "ragged"])
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_no_id_is_a_sentence(zoo, kind, side):
    pair = ["bear", "milk"]
    pair[side] = STRANGE[kind]()
    with pytest.raises(DataError, match="ids must"):
        KolmogorovModel(2, random_state=0).fit(zoo).predict(*pair)


def test_ids_of_two_kinds_are_named_also_in_a_list():
    for users, message in (
        (["a", 2], "entry 1: .*got 2"),
        ([1, None], "entry 1: .*got None"),
        (np.array([1, True], dtype=object), "entry 1: .*got True"),
        (pd.array([1, None], dtype="Int64"), "entry 1: .*got (<NA>|a missing)"),
    ):
        with pytest.raises(DataError, match=message):
            Observations.from_arrays(users, [1, 2], [1, 0])
    with pytest.raises(DataError, match="entry 1: value must be a number, got None"):
        Observations.from_arrays([1, 2], [1, 2], [1, None])
