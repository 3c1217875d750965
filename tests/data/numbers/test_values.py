"""Values as people write them: words, marks of what is missing, commas; and scales by what is there."""

import contextlib
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import kolmogorov as km
import naive
from kolmogorov import Observations, read_ratings
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.gathering import gathered
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.text.source import TextSource
from kolmogorov.data.reading.wide import WideShape
from kolmogorov.errors import DataError, ParameterError

USERS, ITEMS = ["ann", "ann", "bob", "cy"], ["tea", "rum", "tea", "rum"]


def text_file(folder, values, sep=",", header=True):
    path = folder / "r.csv"
    lines = [sep.join(row) for row in zip(USERS, ITEMS, values, strict=True)]
    path.write_text("\n".join([sep.join(["user", "item", "rating"])] * header + lines) + "\n")
    return path


def parquet_file(folder, values):
    parquet.write_table(pa.table({"user": USERS, "item": ITEMS, "rating": values}), folder / "r.parquet")
    return folder / "r.parquet"


def cursor(values):
    database = sqlite3.connect(":memory:")
    database.execute("create table ratings (user_id text, item text, rating)")
    database.executemany("insert into ratings values (?, ?, ?)", zip(USERS, ITEMS, values, strict=True))
    return database.execute("select * from ratings")


def columns(values):
    return {"user": USERS, "item": ITEMS, "stars": values}


WAYS = {
    "text": lambda folder, values, **more: read_ratings(text_file(folder, values), **more),
    "no header": lambda folder, values, **more: read_ratings(text_file(folder, values, header=False), **more),
    "parquet": lambda folder, values, **more: read_ratings(parquet_file(folder, values), **more),
    "pandas": lambda folder, values, **more: read_ratings(pd.DataFrame(columns(values)), **more),
    "categories": lambda folder, values, **more: read_ratings(
        pd.DataFrame(columns(values)).astype({"stars": "category"}), **more
    ),
    "polars": lambda folder, values, **more: read_ratings(pl.DataFrame(columns(values)).lazy(), **more),
    "arrow": lambda folder, values, **more: read_ratings(pa.table(columns(values)).to_reader(1), **more),
    "dictionary": lambda folder, values, **more: read_ratings(
        pa.table(columns(pa.array(values).dictionary_encode())), **more
    ),
    "cursor": lambda folder, values, **more: read_ratings(cursor(values), **more),
    "from_frame": lambda folder, values, **more: Observations.from_frame(pd.DataFrame(columns(values)), **more),
    "pack": lambda folder, values, **more: km.pack(text_file(folder, values), folder / "t.kmt", **more),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)
EXPECTED = {("ann", "tea"): 1.0, ("ann", "rum"): 0.0, ("bob", "tea"): 0.0, ("cy", "rum"): 1.0}


@EVERY_WAY
@pytest.mark.parametrize(
    ("yes", "no"),
    [("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("+", "-"), ("like", "dislike"), ("1", "0")],
)
def test_two_words_are_read_as_they_are_meant_in_any_letters(way, yes, no, tmp_path):
    assert naive.cells(WAYS[way](tmp_path, [yes.capitalize(), no.upper(), no, yes])) == EXPECTED


@EVERY_WAY
def test_other_words_need_a_map_and_the_error_shows_it(way, tmp_path):
    values = ["Yes", "no", "abstain", "yes"]
    named = "'abstain', 'no', '[Yy]es'"
    with pytest.raises(
        DataError, match=rf"(line|row) .*got 'abstain'; the column holds {named}.*map={{'abstain': NUMBER,"
    ):
        WAYS[way](tmp_path, values)
    found = WAYS[way](tmp_path, values, map={"YES": 1, "abstain": 0.5, "no": 0})
    assert naive.cells(found) == EXPECTED | {("bob", "tea"): 0.5}
    with pytest.raises(DataError, match="'abstain' is not in 'map'"):
        WAYS[way](tmp_path, values, map={"yes": 1, "no": 0})


@EVERY_WAY
def test_what_is_missing_is_left_out_and_leaves_no_ids(way, tmp_path):
    found = WAYS[way](tmp_path, ["5", "NA", "99", "2.5"], missing=("NA", 99))
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("cy", "rum"): 0.5}
    assert found.users.ids.tolist() == ["ann", "cy"]
    with pytest.raises(DataError, match="every value is missing"):
        WAYS[way](tmp_path, ["NA"] * 4, missing="NA")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_cells_are_missing_where_that_is_said(make):
    frame = make(columns([5.0, None, 99.0, 2.5]))
    with pytest.raises(DataError, match="row 1: column 'stars' is empty. Drop such rows first, or pass missing=''"):
        read_ratings(frame)
    assert naive.cells(read_ratings(frame, missing=("", "99"))) == {("ann", "tea"): 1.0, ("cy", "rum"): 0.5}


def test_codes_of_a_survey_are_mapped():
    frame = pd.DataFrame(columns([1, 2, 2, 3]))
    assert naive.cells(read_ratings(frame, map={1: 1, 2: 0, 3: 0.5})) == EXPECTED | {("cy", "rum"): 0.5}
    with pytest.raises(DataError, match=r"row 3: value '3' is not in 'map'; the column holds '1', '2', '3'"):
        read_ratings(frame, map={1: 1, 2: 0})
    assert len(read_ratings(frame, map={1: 1, 2: 0}, missing=3)) == 3
    yes = pd.DataFrame(columns([True, False, False, True]))
    assert naive.cells(read_ratings(yes)) == EXPECTED
    assert naive.cells(read_ratings(yes, map={"true": 0, "false": 1})) == {k: 1 - v for k, v in EXPECTED.items()}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["5", "yes", "no", "1"],
            "line 3: .*got 'yes'; the column holds 'no', 'yes'.*'yes': NUMBER",
        ),
        (["yes", "5", "no", "1"], "line 3: value must be a number, got '5'; the column holds '5', 'no', 'yes'"),
        (["yes", "no", "true", "no"], "line 4: .*got 'true'; the column holds 'no', 'true', 'yes'"),
        (["1", "", "0", "1"], "line 3: value must be a number, got ''. If that means missing, say so with missing=''"),
        (["1", "2,000", "0", "1"], "'2,000', whose comma may .* Say decimal=',' or thousands=','"),
        (["1,5", "2.5", "0", "1"], "got '2.5' where others have ',' before their decimals"),
        (["1.5", "2,5", "0", "1"], "got '2,5' where others have '.' before their decimals"),
        (["1,5,2", "2", "0", "1"], "line 2: value must be a number, got '1,5,2'"),
        ([f"word{k}" for k in range(4)], "map="),
    ],
)
def test_columns_that_say_two_things(values, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_ratings(text_file(tmp_path, values, sep=";"))


def test_many_words_are_not_all_listed():
    with pytest.raises(DataError, match=r"'w10', 'w11', \.\.\.\.$"):
        NumberReader(Notation()).read([f"w{k:02}" for k in range(100)])


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_decimal_commas(sep, tmp_path):
    values = ["3,5", "5", "0,25", "1,125"]
    for more in ({}, {"decimal": ","}):
        found = read_ratings(text_file(tmp_path, values, sep), maximum=5, **more)
        assert sorted(found.scale.rating(found.values).round(6).tolist()) == [0.25, 1.125, 3.5, 5.0]
    headless = text_file(tmp_path, values, sep, header=False)
    assert len(read_ratings(headless, maximum=5)) == 4


def test_thousands(tmp_path):
    path = text_file(tmp_path, ["1.234,5", "2.000", "0,5", "7"], ";")
    found = read_ratings(path, thousands=".")
    assert sorted(found.scale.rating(found.values).round(6).tolist()) == [0.5, 7.0, 1234.5, 2000.0]
    with pytest.raises(DataError, match="got '1,23'"):
        read_ratings(text_file(tmp_path, ["1,23", "2", "0", "7"], ";"), thousands=",")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": "x"}, "'decimal' must be one of"),
        ({"thousands": "12"}, "'thousands' must be one character"),
        ({"thousands": ",", "decimal": ","}, "cannot both be ','"),
        ({"map": {}}, "'map' must give a number for each value"),
        ({"map": {"yes": "1"}}, "a finite number for each value, got '1' for 'yes'"),
        ({"map": {"Yes": 1, "yes": 0}}, "two numbers for 'yes'"),
        ({"missing": [None]}, "'missing' must be texts"),
        ({"wide": True, "item": 1}, "every column but the user's is an item"),
    ],
)
def test_options_are_checked_before_a_file_is_opened(options, message):
    with pytest.raises(ParameterError, match=message):
        read_ratings("nowhere.csv", **options)


@given(
    st.lists(st.text() | st.sampled_from(["yes", "NO", "1,5", "1.5", "2,000", "+", "١", "1e5", "infinity"]), min_size=1)
)
def test_any_text_is_a_number_or_an_error_that_names_its_place(texts):
    for form in (Notation(), Notation.of({"yes": 1, "no": 0}, missing=""), Notation.of(thousands=",")):
        places = []
        with contextlib.suppress(DataError):
            found = NumberReader(form).read(texts, lambda offset, seen=places: seen.append(offset) or "here")
            assert found.shape == (len(texts),)
            assert not places
            continue
        assert len(places) == 1


@given(
    st.integers(-(10**9), 10**9), st.integers(0, 99), st.sampled_from([(".", ","), (",", "."), (",", " "), (",", "'")])
)
def test_numbers_written_as_in_other_countries(whole, cents, marks):
    decimal, thousands = marks
    text = f"{whole:,}.{cents:02}".replace(",", "T").replace(".", decimal).replace("T", thousands)
    reader = NumberReader(Notation.of(decimal=decimal, thousands=thousands))
    assert reader.read([text])[0] == float(f"{whole}.{cents:02}")


# --- scales --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "options", "scale"),
    [
        ([1, 5], {}, "p = r / 5"),
        ([0.5, 4.5], {}, "p = r / 4.5"),
        ([0.1, 0.7], {}, "p = r"),
        ([-9.5, 10], {}, "p = (r + 9.5) / 19.5"),
        ([-1, 1], {}, "p = (r + 1) / 2"),
        ([20.3, 70.1], {}, "p = (r - 20.3) / 49.8"),
        ([2, 4], {"minimum": 1, "maximum": 5}, "p = (r - 1) / 4"),
        ([-3, 4], {"minimum": -5}, "p = (r + 5) / 9"),
        ([20.3, 70.1], {"maximum": 100}, "p = r / 100"),
        ([20.3, 70.1], {"scaling": "max"}, "p = r / 70.1"),
        ([1, 5], {"scaling": "minmax"}, "p = (r - 1) / 4"),
    ],
)
def test_the_scale_is_chosen_by_what_is_there(values, options, scale):
    found = Observations.from_arrays([1, 2], [1, 2], values, **options)
    assert str(found.scale) == scale
    np.testing.assert_allclose(found.scale.rating(found.values), values, atol=1e-12)


def test_the_scale_of_a_negative_column_is_said(tmp_path, caplog):
    with caplog.at_level("INFO", logger="kolmogorov"):
        read_ratings(text_file(tmp_path, ["-10", "3.2", "9.9", "0"]))
    assert "r.csv: the scale reaches from -10 to 9.9, so p = (r + 10) / 19.9" in caplog.text


@given(st.lists(st.integers(-5000, 5000).map(lambda n: n / 100), min_size=4, max_size=4))
def test_every_way_of_writing_numbers_gives_the_same_table(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("numbers")
    whole = Observations.from_arrays(USERS, ITEMS, values)
    texts = [repr(value) for value in values]
    for way in ("text", "pandas", "arrow", "pack"):
        assert WAYS[way](folder, texts).fingerprint() == whole.fingerprint()


# --- wide tables ---------------------------------------------------------------------------------------------------

CELLS = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 4)), st.sampled_from(["1", "2", "3.5"]), min_size=1, max_size=20
)


@given(CELLS, st.sampled_from([",", ";", "\t"]))
def test_wide_tables_are_what_their_lists_are(tmp_path_factory, cells, sep):
    folder = tmp_path_factory.mktemp("wide")
    users, items = sorted({u for u, _ in cells}), sorted({i for _, i in cells})
    path = folder / "wide.csv"
    rows = [[f"u{u}", *(cells.get((u, i), "") for i in items)] for u in users]
    path.write_text("\n".join(sep.join(row) for row in [["who", *(f"i{i}" for i in items)], *rows]) + "\n")
    pairs = [(f"u{u}", f"i{i}", float(v)) for (u, i), v in cells.items()]
    expected = Observations.from_arrays(*zip(*pairs, strict=True), maximum=5)
    found = read_ratings(path, wide=True, maximum=5)
    assert found.fingerprint() == expected.fingerprint()
    assert found.users == expected.users
    frame = pd.read_csv(path, sep=sep)
    for table in (frame, pl.from_pandas(frame), pa.table(frame)):
        assert read_ratings(table, wide=True, maximum=5).fingerprint() == expected.fingerprint()
    assert km.pack(path, folder / "t.kmt", wide=True, maximum=5).fingerprint() == expected.fingerprint()


def wide(tmp_path, content, **options):
    path = tmp_path / "wide.csv"
    path.write_text(content)
    return read_ratings(path, wide=True, **options)


def test_wide_tables_of_words_with_marks(tmp_path):
    found = wide(tmp_path, "id,10,20\n1,yes,\n2,NA,no\n", missing="NA")
    assert naive.cells(found) == {(1, 10): 1.0, (2, 20): 0.0}
    found = wide(tmp_path, "tea,who,rum\n5,ann,1\n,bob,2\n", user="who")
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("ann", "rum"): 0.2, ("bob", "rum"): 0.4}
    assert naive.cells(wide(tmp_path, "ann,5,\nbob,,2\n", header=False)) == {("ann", 0): 1.0, ("bob", 1): 0.4}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,a,a\n1,2,3\n", "columns 1 and 2 are both called 'a'"),
        ("id,a,\n1,2,3\n", "column 2 has no name"),
        ("id\n1\n", "expected at least 2 columns .user, and one for each item"),
        ("id,a,b\n1,2,3\n1,4,\n", r"line 3: duplicate rating of user 1 and item 'a' \(first at line 2\)"),
        ("id,a,b\n1,2,3\n2,4,x\n", "line 3: value must be a number, got 'x'"),
        ("id,a,b\n1,2,3\n2,4,9\n", "line 3: value must be at most the maximum 5, got 9"),
        ("id,a,b\n1,,\n2,,\n", "line 2 and all others: every value is missing"),
        ("id,a,b\n1,2\n", "line 2: expected 3 fields as in the first line"),
        ("id,a,b\n,2,3\n", "line 2: the user must be an id, got nothing"),
    ],
)
def test_bad_wide_tables_are_named_with_their_line(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        wide(tmp_path, content, maximum=5)


def test_wide_tables_are_read_some_rows_at_a_time(tmp_path):
    rows = [f"u{k},{'' if k % 2 else k % 5 + 1},{k % 3 + 1}" for k in range(20)]
    content, path, options = "\n".join(["id,a,b", *rows]), tmp_path / "wide.csv", ReadingOptions(wide=True)
    path.write_text(content)
    assert len(Observations(*gathered([TextSource(path, options, chunk=3)], options))) == 30
    path.write_text(content + "\nu4,1,\n")
    with pytest.raises(DataError, match=r"line 22: duplicate rating of user 'u4' and item 'a' \(first at line 6\)"):
        gathered([TextSource(path, options, chunk=3)], options)


def test_wide_tables_with_many_columns_are_read_in_few_rows():
    shapes = [
        WideShape(["id", *range(n)], 0, ReadingOptions(), as_text=True, source="table") for n in (1, 1000, 900_000)
    ]
    assert [shape.most_rows for shape in shapes] == [524_288, 524, 1]


# --- columns by their usual names, cursors, directories ------------------------------------------------------------


@pytest.mark.parametrize("value", ["rating", "score", "stars", "value", "vote", "label", "Rating", "overall"])
@pytest.mark.parametrize(
    ("user", "item"), [("user_id", "movieId"), ("Customer", "product"), ("respondent", "question")]
)
def test_usual_names_in_frames_and_files_alike(tmp_path, user, item, value):
    frame = pd.DataFrame({value: [4, 5], "when": [7, 8], item: ["a", "b"], user: ["x", "y"]})
    frame.to_csv(tmp_path / "r.csv", index=False)
    expected = {("x", "a"): 0.8, ("y", "b"): 1.0}
    for found in (
        read_ratings(tmp_path / "r.csv"),
        read_ratings(frame),
        Observations.from_frame(frame),
        Observations.from_frame(pa.table(frame)),
    ):
        assert naive.cells(found) == expected


def test_cursors_of_databases(tmp_path):
    assert naive.cells(read_ratings(cursor([5, 0, 2.5, 1]))) == {
        ("ann", "tea"): 1.0,
        ("ann", "rum"): 0.0,
        ("bob", "tea"): 0.5,
        ("cy", "rum"): 0.2,
    }
    with pytest.raises(DataError, match="row 1: column 'rating' is empty"):
        read_ratings(cursor([5, None, 2.5, 1]))
    assert len(km.pack(cursor([5, None, 2.5, 1]), tmp_path / "t.kmt", missing="")) == 3
    database = sqlite3.connect(":memory:")
    with pytest.raises(DataError, match="execute a query first"):
        read_ratings(database.cursor())
    with pytest.raises(DataError, match="There are no observations here"):
        read_ratings(database.execute("select 1 as user, 2 as item, 3 as value where 0"))


def test_a_cursor_that_gives_record_batches():
    class Cursor:
        def fetch_record_batch(self):
            return pa.table(columns([5, 0, 2.5, 1])).to_reader(max_chunksize=1)

        def fetchmany(self, size=0):
            raise AssertionError("rows would be Python's objects")

        description = ()

    assert len(read_ratings(Cursor())) == 4


def test_lazy_frames_compute_only_what_is_needed():
    def fail(series):
        raise AssertionError("nobody needs this column")

    lazy = pl.LazyFrame(columns([5.0, 0.0, 2.5, 1.0])).with_columns(
        pl.col("stars").map_batches(fail, return_dtype=pl.Float64).alias("other")
    )
    assert len(read_ratings(lazy)) == 4


def test_a_directory_stands_for_the_parquet_files_in_it(tmp_path):
    with pytest.raises(DataError, match="is a directory, and there are no parquet files in it"):
        read_ratings(tmp_path)
    (tmp_path / "notes.txt").write_text("not read")
    for name, rows in (("1.parquet", slice(0, 2)), ("2.pq", slice(2, 4))):
        table = pa.table({"user": USERS[rows], "item": ITEMS[rows], "value": [1, 0]})
        parquet.write_table(table, tmp_path / name)
    assert len(read_ratings(tmp_path)) == 4
