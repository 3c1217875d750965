"""Frames of attributes: kinds are recognised, blocks are standardised, what cannot be used is named."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data import Vocabulary
from kolmogorov.data.attributes import Attribute, TableAttributes, UnusableError, described, read_attributes, sheet_of
from kolmogorov.errors import DataError, InvariantError, KolmogorovWarning

PEOPLE = {
    "user_id": [3, 1, 2, 5, 4, 6, 9],
    "age": [20.0, 30.0, None, 50.0, 60.0, 70.0, 1000.0],
    "job": ["nurse", "nurse", "cook", "nurse", "cook", "cook", "nurse"],
    "likes": ["tea|jam", "tea", "", "jam|tea", "jam", "tea", "jam"],
    "member": [True, False, True, True, None, False, False],
}
KNOWN = Vocabulary.of([1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow", "csv", "parquet"])
def test_every_library_and_every_file_says_the_same(tmp_path, form):
    source = {"polars": pl.DataFrame, "pyarrow": pa.table}.get(form, pd.DataFrame)(PEOPLE)
    if form in ("csv", "parquet"):
        path = tmp_path / f"people.{form}"
        source.to_csv(path, index=False) if form == "csv" else source.to_parquet(path)
        source = path
    found = read_attributes(source, KNOWN, "users")
    assert [column.kind for column in found.columns] == ["number", "category", "list", "boolean"]
    assert found.blocks == (1, 2, 2, 1)
    assert found.newcomers.ids.ids.tolist() == ["9"]
    assert found.known.all()
    # User 9 is not in the table, and 1000 must not shift the mean.
    age = np.array([30.0, np.nan, 20.0, 60.0, 50.0, 70.0])
    expected = (age - np.nanmean(age)) / np.nanstd(age)
    np.testing.assert_allclose(found.values[:, 0], np.where(np.isnan(age), 0.0, expected))
    np.testing.assert_array_equal(found.values, read_attributes(pd.DataFrame(PEOPLE), KNOWN, "users").values)


def test_real_lists_and_lists_in_text_are_the_same():
    texts = ["a|b", "b", None, "a", "b|a", "a"]
    lists = [None if text is None else text.split("|") for text in texts]
    one, other = Attribute.of("x", texts), Attribute.of("x", lists)
    assert one == other
    np.testing.assert_array_equal(one.encode(texts), other.encode(lists))


@given(
    st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "c"])), min_size=9, max_size=40),
    st.sampled_from(["category", "list"]),
)
def test_blocks_of_categories_have_mean_zero_and_variance_one(cells, kind):
    if kind == "list":
        cells = [None if cell is None else [cell, "d"] for cell in cells]
    try:
        found = Attribute.of("x", cells)
    except UnusableError:
        return
    block = found.encode(cells)
    has = np.array([cell is not None for cell in cells])
    assert not block[~has].any()
    np.testing.assert_allclose(block[has].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(block[has].var(axis=0).sum(), 1.0, rtol=1e-9)


def test_attributes_survive_json():
    for column in read_attributes(pd.DataFrame(PEOPLE), KNOWN, "users").columns:
        assert Attribute.from_dict(json.loads(json.dumps(column.to_dict()))) == column


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "spell"},
        {"scale": 0.0},
        {"scale": float("nan")},
        {"centre": []},
        {"categories": [1, 2], "kind": "list"},
    ],
)
def test_what_is_no_attribute_is_refused(change):
    stored = Attribute.of("age", [1.0, 2.0, 3.0]).to_dict()
    with pytest.raises(InvariantError):
        Attribute.from_dict(stored | change)


def test_bad_columns_are_named_in_one_sentence():
    n = 1500
    frame = pl.DataFrame(
        {
            "item": list(range(n)),
            "same": [1] * n,
            "title": [f"film {k}" for k in range(n)],
            "pair": [f"maker {k % 750}" for k in range(n)],
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
            "rows": [{"a": 1}] * n,
            "imdbId": np.random.default_rng(0).permutation(n),
            "year": [1900 + k % 100 for k in range(n)],
        }
    )
    with pytest.warns(KolmogorovWarning) as caught:
        found = TableAttributes.read(None, frame, (Vocabulary.range(n),) * 2).items
    assert len(caught) == 1
    sentence = str(caught[0].message)
    assert [column.name for column in found.columns] == ["year"]
    for part in (
        *("'same' (always the same)", "'title' (1,500 different texts", "'pair' (no category of 3 rows", "'rows' ("),
        *("'nothing' (empty)", "'imdbId' (a different id in each of 1,500 rows)"),
    ):
        assert part in sentence
    for name in ("paid", "grid", "bid"):
        assert Attribute.of(name, [3, 1, 7]).kind == "number"


def test_rare_categories_count_as_none_of_the_others():
    found = Attribute.of("x", ["a"] * 5 + ["b"] * 4 + ["rare", "rare"])
    assert found.categories == ("a", "b")
    np.testing.assert_array_equal(found.encode(["rare"]), found.encode(["never seen"]))
    assert Attribute.of("x", [f"{k}th" for k in range(900)] * 3).columns[199] == "x: 9th"


def test_new_rows_are_described_in_the_columns_that_were_learned():
    found = read_attributes(pd.DataFrame(PEOPLE), KNOWN, "users")
    new = {"user": [70, 20, 30], "age": ["old", 30, "2x"], "job": ["cook", "pilot", None], "shoes": [1, 2, 3]}
    new |= {"likes": ["rum", "jam|rum", None], "member": ["perhaps", "True", "no"]}
    with pytest.warns(KolmogorovWarning) as caught:
        told = described(
            pd.DataFrame({name: pd.Series(cells, dtype=str) for name, cells in new.items()}), found.columns, "users"
        )
    (said,) = (str(one.message) for one in caught)
    for part in ("2 of 'age' (such as 2x)", "1 of 'job' (such as pilot)", "1 of 'likes' (", "2 of 'member' ("):
        assert part in said
    assert told.ids.ids.tolist() == ["20", "30", "70"]
    np.testing.assert_array_equal(told.values[2, 1:3], found.columns[1].encode(["cook"])[0])
    np.testing.assert_array_equal(told.values[:, 5], found.columns[3].encode([True, None, None])[:, 0])
    with pytest.raises(DataError, match="none of the columns that were learned"):
        described(pl.DataFrame({"user": [1], "shoes": [2]}), found.columns, "users")


def test_dates_are_days_and_huge_numbers_do_no_harm():
    days = [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 3, 12), None]
    assert Attribute.of("day", days).centre == (days[0].toordinal() + 1.0,)
    for size in (1e15, 1e300):
        huge = Attribute.of("x", [size, -size, 0.0])
        assert np.abs(huge.encode([1e308, -1e308, None])).max() <= 5.0


# --- files, and which column is the ids -----------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["nurse", "cook, or baker", 'a "pilot"', ""])), min_size=9)
)
def test_ids_and_cells_survive_a_file(tmp_path_factory, people):
    people = list(dict(people).items())
    frame = pd.DataFrame({"person": [k for k, _ in people], "job": [job or None for _, job in people]})
    path = tmp_path_factory.mktemp("sheets") / "people.csv"
    frame.to_csv(path, index=False)
    found = sheet_of(path, "users")
    said = dict(zip(found.ids.ids.tolist(), found.cells["job"], strict=True))
    assert said == {str(person): job or None for person, job in people}


def test_what_was_understood_is_said():
    people = {"user": [*range(9), 20], "age": [20, 30] * 5, "name": [f"person {k}" for k in range(10)]}
    found = read_attributes(pd.DataFrame(people), Vocabulary.of(range(12)), "users")
    told, left_out, placed = found.lines("users")
    assert "9 of 12 users, ids in 'user': age (number)" in told
    assert "'name'" in left_out
    assert placed.startswith("1 user without ratings")
    # What was read once is not read again.
    assert TableAttributes.read(found, None, (Vocabulary.of(range(12)), Vocabulary.of([1]))).users is found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("1,24,M\n2,53,F\n", "the first line must give each column a name"),
        ("", "is empty"),
        ("user,age,age\n1,2,3\n", "the first line must give each column a name of its own"),
        ("user,age\n1,2,3\n", "line 2: expected 2 fields"),
        ("user,age\n1,30\nNA,40\n", "row 2 has no id"),
        ("user,age\n1,30\n1,40\n", "one row for each id, but '1' in 'user' has several"),
        ("item,age\n1,30\n", "first column, 'item', names items. Give the frame as items="),
        ("Film,age\n1,30\n", "first column, 'Film', names items"),
        ([1, 2], "must be a data frame or a file"),
        (pd.DataFrame({"user": [70, 80], "age": [1, 2]}), "None of the 2 ids of 'users' in 'user'"),
        (pd.DataFrame({"user": [1, 2]}), "there is only one"),
        (pd.DataFrame({"age": [1, 2]}, index=pd.Index([1, 2], name="isbn")), "'isbn', names items"),
    ],
)
def test_what_is_no_frame_of_attributes(tmp_path, given, words):
    if isinstance(given, str):
        (tmp_path / "users.csv").write_text(given)
        given = tmp_path / "users.csv"
    with pytest.raises(DataError, match=words):
        read_attributes(given, Vocabulary.of([1, 2]), "users")


@pytest.mark.parametrize(
    ("names", "side", "ids"),
    [
        (["id", "title", "year"], "items", "id"),
        (["title", "movie_id", "id"], "items", "movie_id"),
        (["age", "name", "user"], "users", "user"),
        (["who knows", "age"], "users", "who knows"),
        (["member", "age", "user_id"], "users", "user_id"),
        (["movie", "year", "item_id"], "items", "item_id"),
    ],
)
def test_which_column_holds_the_ids(names, side, ids):
    frame = pd.DataFrame({name: [f"{name} {k}" for k in range(3)] for name in names})
    assert sheet_of(frame, side).id_name == ids
    # pandas' index is one where it says something.
    assert sheet_of(frame.set_index(ids), side).id_name == ids
    assert sheet_of(frame[["age"]].set_axis(list("abc")), side).id_name == "index" if "age" in names else True
