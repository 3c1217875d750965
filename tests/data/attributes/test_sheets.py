"""Files and frames of attributes: the same columns, whatever they come from."""

import gzip
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data.attributes import TableAttributes, read_attributes, sheet_of
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError

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
    assert (found.ids.tolist(), found.cells) == (frame["person"].tolist(), {"job": [job or None for _, job in people]})


def test_what_was_understood_is_said():
    people = {"user": [*range(9), 20], "age": [20, 30] * 5, "name": [f"person {k}" for k in range(10)]}
    found = read_attributes(pd.DataFrame(people), Vocabulary.of(range(12)), "users", tell=False)
    told, left_out, ignored = found.lines("users")
    assert "9 of 12 users, ids in 'user': age (number)" in told
    assert "'name'" in left_out
    assert ignored.startswith("1 row")
    # What was read once is not read again.
    assert TableAttributes.read(found, None, (Vocabulary.of(range(12)), Vocabulary.of([1]))).users is found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,24,M\n2,53,F\n", "the first line must name the columns, such as 'user,age,job'"),
        ("", "is empty"),
        ("user,age,age\n1,2,3\n", "two columns are called 'age'"),
        ("user,age\n1,2,3\n", "expected 2 columns in each line, got 3 in '1,2,3'"),
        ("user,age\n1,30\nNA,40\n", "row 2 has no id"),
        ("user,age\n1,30\n1,40\n", "one row for each id, but 1 in 'user' has several"),
    ],
)
def test_files_that_are_no_attributes(tmp_path, text, words):
    (tmp_path / "users.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        read_attributes(tmp_path / "users.csv", Vocabulary.of([1, 2]), "users")


def test_something_else_than_a_frame():
    with pytest.raises(DataError, match="must be a data frame or a file"):
        sheet_of(json.loads("[1, 2]"), "users")


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
        found = read_attributes(frame, Vocabulary.of(["a", "b", "c"]), "users", tell=False)
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
