"""Frames of attributes: kinds are recognised, blocks are standardised, what cannot be used is named."""

import datetime
import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data import Vocabulary
from kolmogorov.data.attributes import (
    Attribute,
    TableAttributes,
    UnusableError,
    described,
    kind_of,
    read_attributes,
    sheet_of,
)
from kolmogorov.errors import DataError, InvariantError, KolmogorovWarning

PEOPLE = {
    "user_id": [3, 1, 2, 5, 4, 6, 9],
    "age": [20.0, 30.0, None, 50.0, 60.0, 70.0, 1000.0],
    "job": ["nurse", "nurse", "cook", "nurse", "cook", "cook", "nurse"],
    "likes": ["tea|jam", "tea", "", "jam|tea", "jam", "tea", "jam"],
    "member": [True, False, True, True, None, False, False],
}
KNOWN = Vocabulary.of([1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_library_says_the_same(library):
    found = read_attributes(library(PEOPLE), KNOWN, "users")
    assert [column.kind for column in found.columns] == ["number", "category", "list", "boolean"]
    assert found.blocks == (1, 2, 2, 1)
    assert found.newcomers.ids.ids.tolist() == ["9"]
    assert found.known.all()
    # User 9 is not in the table, and 1000 must not shift the mean.
    age = np.array([30.0, np.nan, 20.0, 60.0, 50.0, 70.0])
    expected = (age - np.nanmean(age)) / np.nanstd(age)
    np.testing.assert_allclose(found.values[:, 0], np.where(np.isnan(age), 0.0, expected))
    again = read_attributes(pd.DataFrame(PEOPLE), KNOWN, "users")
    np.testing.assert_array_equal(found.values, again.values)


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
        {"n_rare": -1},
        {"n_rare": "2"},
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
            "maker": [f"maker {k % 1100}" if k < 1100 else f"maker {k % 20}" for k in range(n)],
            "nothing": pl.Series([None] * n, dtype=pl.Float64),
            "rows": [{"a": 1}] * n,
            "year": [1900 + k % 100 for k in range(n)],
        }
    )
    with pytest.warns(KolmogorovWarning) as caught:
        found = TableAttributes.read(None, frame, (Vocabulary.range(n),) * 2).items
    assert len(caught) == 1
    sentence = str(caught[0].message)
    assert [column.name for column in found.columns] == ["year"]
    for part in ("'same' (always the same)", "'title' (1,500 different", "'maker' (", "'nothing' (empty)", "'rows' ("):
        assert part in sentence


@pytest.mark.parametrize("name", ["id", "ID", "imdb_id", "imdbId", "tmdb id", "movie_nr", "userid"])
def test_numbers_that_are_ids_are_left_out(name):
    numbers = np.random.default_rng(0).permutation(900)[:40].tolist()
    with pytest.raises(UnusableError, match="a different id in each of 40 rows"):
        Attribute.of(name, numbers)
    assert Attribute.of(name, [*numbers, numbers[0]]).kind == "number"
    assert Attribute.of(name, [number + 0.5 for number in numbers]).kind == "number"


def test_numbers_that_count_the_rows_are_left_out():
    with pytest.raises(UnusableError, match="a number of the row: 150 of them at equal distances"):
        Attribute.of("serial", [None, *range(7, 1507, 10)])
    # Years of few films may be all that there are, and prices differ.
    assert Attribute.of("year", list(range(1950, 2010))).kind == "number"
    assert Attribute.of("price", np.random.default_rng(0).permutation(9000)[:200].tolist()).kind == "number"
    for name in ("paid", "grid", "bid"):
        assert Attribute.of(name, [3, 1, 7]).kind == "number"


def test_rare_categories_count_as_none_of_the_others():
    cells = ["a"] * 5 + ["b"] * 4 + ["rare", "rare"]
    found = Attribute.of("x", cells)
    assert found.categories == ("a", "b")
    assert found.words == "2 categories, 1 rarer left out"
    many = Attribute.of("x", [f"{k}th" for k in range(900)] * 3)
    assert many.words == "200 categories, 700 rarer left out"
    np.testing.assert_array_equal(found.encode(["rare"]), found.encode(["never seen"]))


def test_ids_are_in_an_index_that_says_something_or_in_a_named_or_the_first_column():
    ages = [20, 30, 40]
    by_index = pd.DataFrame({"age": ages}, index=["c", "a", "b"])
    by_name = pd.DataFrame({"age": ages, "user": ["c", "a", "b"]})
    by_place = pl.DataFrame({"who": ["c", "a", "b"], "age": ages})
    named = pd.DataFrame({"age": ages}, index=pd.Index(["c", "a", "b"], name="who"))
    known = Vocabulary.of(["a", "b", "c"])
    first, *others = (read_attributes(frame, known, "users").values for frame in (by_index, by_name, by_place, named))
    assert np.argsort(first[:, 0]).tolist() == [2, 0, 1]
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_wrong_frames_are_told():
    with pytest.raises(DataError, match="must be a data frame"):
        read_attributes([1, 2], KNOWN, "users")
    with pytest.raises(DataError, match="one row for each id, but '1' in 'user' has several"):
        read_attributes(pd.DataFrame({"user": [1, 1], "age": [1, 2]}), KNOWN, "users")
    with pytest.raises(DataError, match="None of the 2 ids"):
        read_attributes(pd.DataFrame({"user": [70, 80], "age": [1, 2]}), KNOWN, "users")
    with pytest.raises(DataError, match="there is only one"):
        read_attributes(pd.DataFrame({"user": [1, 2]}), KNOWN, "users")


def test_new_rows_are_described_in_the_columns_that_were_learned():
    found = read_attributes(pd.DataFrame(PEOPLE), KNOWN, "users")
    new = pl.DataFrame({"user": [70, 20], "job": ["cook", "pilot"], "shoes": [1, 2]})
    with pytest.warns(KolmogorovWarning, match=r"1 of 'job' \(such as 'pilot', a category that was not learned\)"):
        told = described(new, found.columns, "users")
    values = told.values
    assert told.ids.ids.tolist() == ["20", "70"]
    assert values.shape == (2, 6)
    assert not values[:, [0, 3, 4, 5]].any()
    np.testing.assert_array_equal(values[1], np.r_[0.0, found.columns[1].encode(["cook"])[0], 0.0, 0.0, 0.0])
    with pytest.raises(DataError, match="none of the columns that were learned"):
        described(pl.DataFrame({"user": [1], "shoes": [2]}), found.columns, "users")


@pytest.mark.parametrize(
    ("yes", "no"),
    [(True, False), ("True", "False"), ("TRUE", " false "), ("yes", "no"), ("Y", "n"), ("ja", "nein"), ("1", 0)],
)
def test_yes_and_no_are_the_same_however_they_are_written(yes, no):
    learned = Attribute.of("member", [True, False, False, None])
    np.testing.assert_array_equal(learned.encode([yes, no, None]), learned.encode([True, False, None]))
    assert not learned.strange([yes, no, None])


def test_texts_of_yes_and_no_are_a_column_of_booleans(tmp_path):
    frame = pd.DataFrame({"user": range(6), "member": [True, False, None] * 2, "smokes": ["yes", "no"] * 3})
    frame.to_csv(tmp_path / "people.csv", index=False)
    for source in (frame, tmp_path / "people.csv"):
        found = read_attributes(source, Vocabulary.range(6), "users")
        assert [column.kind for column in found.columns] == ["boolean", "boolean"]
        np.testing.assert_array_equal(found.values[:3, 0], [1.0, -1.0, 0.0])
    # What may be something else stays a category: marks of exams, sexes, answers that know more than two.
    for words in (("t", "f"), ("f", "m"), ("like", "dislike"), ("yes", "maybe")):
        assert kind_of(list(words)) == "category"


def test_cells_that_were_not_learned_are_counted_in_one_sentence():
    found = read_attributes(pd.DataFrame(PEOPLE), KNOWN, "users")
    new = {"user": [70, 20, 30], "age": ["old", 30, "2x"], "job": ["cook", "pilot", None]}
    new |= {"likes": ["tea|rum", "jam", None], "member": ["perhaps", "yes", 0.5]}
    with pytest.warns(KolmogorovWarning) as caught:
        told = described(pd.DataFrame(new), found.columns, "users")
    (said,) = (str(one.message) for one in caught)
    for part in ("2 of 'age' (such as '2x'", "1 of 'job' (such as 'pilot'", "1 of 'likes' (", "1 of 'member' ("):
        assert part in said
    assert not told.values[1:, 0].any()
    assert told.values[2, -1] == 0.0


def test_dates_are_days_and_huge_numbers_do_no_harm():
    days = [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 2, 12), None]
    assert kind_of(days) == "number"
    assert Attribute.of("day", days).centre == (days[0].toordinal() + 0.75,)
    huge = Attribute.of("x", [1e300, -1e300, 0.0])
    assert np.isfinite(huge.encode([1e308, None])).all()


def test_cells_that_are_not_there():
    for frame in (
        pd.DataFrame({"user": [1, 2, 3], "x": [1.0, None, np.inf]}),
        pl.DataFrame({"user": [1, 2, 3], "x": [1.0, float("nan"), None]}),
    ):
        assert sheet_of(frame, "users").cells == {"x": [1.0, None, None]}


# --- files, and which column is the ids -----------------------------------------------------------------------------

FRAME = pd.DataFrame({"year": [1990, 1995, None, 2001] * 3, "film": range(12), "genres": ["Drama|War", "War"] * 6})


@pytest.mark.parametrize("form", ["csv", "tsv", "semicolons", "gz", "parquet"])
def test_a_file_says_what_a_frame_says(tmp_path, form):
    path = tmp_path / f"films.{form}"
    if form == "parquet":
        pl.from_pandas(FRAME).write_parquet(path)
    elif form == "gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    else:
        FRAME.to_csv(path, index=False, sep={"csv": ",", "tsv": "\t", "semicolons": ";"}[form])
    ids = Vocabulary.of(range(2, 14))
    read, framed = (read_attributes(source, ids, "items") for source in (path, FRAME))
    assert read.columns == framed.columns
    np.testing.assert_array_equal(read.values, framed.values)
    assert read.known.tolist() == [True] * 10 + [False] * 2
    assert read.lines("items") == framed.lines("items")


@given(
    st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["nurse", "cook, or baker", 'a "pilot"', ""])), min_size=9)
)
def test_ids_and_cells_survive_a_file(tmp_path_factory, people):
    people = list(dict(people).items())
    frame = pd.DataFrame({"person": [k for k, _ in people], "job": [job or None for _, job in people]})
    path = tmp_path_factory.mktemp("sheets") / "people.csv"
    frame.to_csv(path, index=False)
    found = sheet_of(path, "users")
    cells = [found.cells["job"][row] for row in found.order]
    assert found.ids.ids[found.order].tolist() == frame["person"].astype(str).tolist()
    assert cells == [job or None for _, job in people]


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
    ("text", "words"),
    [
        ("1,24,M\n2,53,F\n", "the first line must name the columns, such as 'user,age,job'"),
        ("", "is empty"),
        ("user,age,age\n1,2,3\n", "two columns are called 'age'"),
        ("user,age\n1,2,3\n", "line 2: expected 2 fields"),
        ("user,age\n1,30\nNA,40\n", "row 2 has no id"),
        ("user,age\n1,30\n1,40\n", "one row for each id, but '1' in 'user' has several"),
    ],
)
def test_files_that_are_no_attributes(tmp_path, text, words):
    (tmp_path / "users.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        read_attributes(tmp_path / "users.csv", Vocabulary.of([1, 2]), "users")


@pytest.mark.parametrize(
    ("names", "side", "ids"),
    [
        (["id", "title", "year"], "items", "id"),
        (["year", "title"], "items", "title"),
        (["title", "movie_id", "id"], "items", "movie_id"),
        (["age", "name", "user"], "users", "user"),
        (["who knows", "age"], "users", "who knows"),
        (["member", "age", "user_id"], "users", "user_id"),
        (["member", "id"], "users", "id"),
        (["age", "member"], "users", "member"),
        (["movie", "year", "item_id"], "items", "item_id"),
    ],
)
def test_which_column_holds_the_ids(names, side, ids):
    frame = pd.DataFrame({name: [f"{name} {k}" for k in range(3)] for name in names})
    assert sheet_of(frame, side).id_name == ids


def test_a_column_that_repeats_is_no_column_of_ids():
    people = pd.DataFrame({"who": ["a", "b", "c"], "member": [True, False, True], "age": [1, 2, 4]})
    for frame in (people, pl.from_pandas(people), people.set_index("who")):
        found = read_attributes(frame, Vocabulary.of(["a", "b", "c"]), "users")
        assert found.id_name == "who"
        assert [column.name for column in found.columns] == ["member", "age"]


@pytest.mark.parametrize("first", ["item", "movie_id", "Film", "isbn"])
@pytest.mark.parametrize("form", ["frame", "index", "file"])
def test_a_frame_of_the_other_side_is_refused(tmp_path, first, form):
    films = pd.DataFrame({first: [1, 2, 3], "genres": ["War", "Drama", "War"], "code": [5, 7, 6]})
    films = films.drop(columns="code") if first == "Film" else films
    source = films.set_index(first) if form == "index" else films
    if form == "file":
        source = tmp_path / "films.csv"
        films.to_csv(source, index=False)
    with pytest.raises(DataError, match=f"first column, '{first}', names items. Give the frame as items="):
        read_attributes(source, Vocabulary.of([1, 2, 3]), "users")
    assert sheet_of(source, "items").id_name == first


def test_a_frame_of_users_is_none_of_items():
    people = pd.DataFrame({"user_id": [1, 2, 3], "age": [1, 2, 4]})
    with pytest.raises(DataError, match="'user_id', names users. Give the frame as users="):
        read_attributes(people, Vocabulary.of([1, 2, 3]), "items")
    with pytest.raises(DataError, match="None of the 3 ids of 'users' in 'user_id'"):
        read_attributes(people, Vocabulary.of([7, 8]), "users")
