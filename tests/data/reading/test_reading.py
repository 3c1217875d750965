"""Files, frames and cursors are read alike: layouts, words, marks of what is missing, scales, wide tables."""

import contextlib
import gzip
import inspect
import io
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import kolmogorov as km
import naive
from kolmogorov import Observations, pack, read_ratings
from kolmogorov.data.numbers.notation import Notation
from kolmogorov.data.numbers.reader import NumberReader
from kolmogorov.data.reading.gathering import gathered
from kolmogorov.data.read import DEFAULTS, Reading
from kolmogorov.data.reading.text.source import TextSource
from kolmogorov.data.reading.wide import WideShape
from kolmogorov.errors import DataError, KolmogorovError, ParameterError
from kolmogorov.execution import distributed_table

USERS, ITEMS = ["ann", "ann", "bob", "cy"], ["tea", "rum", "tea", "rum"]


@pytest.fixture
def read(tmp_path):
    def read(content, **options):
        path = tmp_path / "file.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_ratings(path, **options)

    return read


@pytest.mark.parametrize("sep", [",", "\t", "::", ";", "|", " ", "   "])
@pytest.mark.parametrize("header", [None, ["userId", "movieId", "rating"], ["a", "b", "c"]])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_and_headers_are_recognised(read, sep, header, end):
    rows = [header] * bool(header) + [["1", "10", "4"], ["1", "20", "5"], ["2", "10", "0"]]
    expected = {(1, 10): 0.8, (1, 20): 1.0, (2, 10): 0.0}
    assert naive.cells(read(end.join(map(sep.join, rows)) + end)) == expected
    if sep == "\t":
        assert naive.cells(read(end.join(map(sep.join, rows)), sep="\\t")) == expected


HEADER = "user,item,rating\n"


def rated(*values):
    return HEADER + "".join(f"u{k},tea,{value}\n" for k, value in enumerate(values))


#: Content, options, and the line that the message names; beside those of the goldens.
BROKEN = [
    ("\n\n", {}, None),
    (b"1,a\x00b,1\n" * 3, {}, None),
    ('a,"b\n1,3', {}, None),
    (HEADER + '1,"two\nlines",3\n\n1,b,x\n', {}, 5),
    ('user,item,"rating\n1,2,3\n', {}, 2),
    (HEADER + "1,10,4\n  \n1,20,x\n", {}, 4),
    (" ,10,3\n1,2,4\n", {"header": False}, 1),
    (HEADER.encode() + b"".join(b"%d,1,1\n" % k for k in range(3000)) + b"\xff,1,1\n", {}, 3002),
    ((HEADER + "1,2,3\n").encode("utf-16"), {"encoding": "utf-8"}, None),
    ((HEADER + "Привет,a,1\nbob,a,0\n").encode("cp1251"), {}, 2),
    (HEADER + "x,y,1\n", {"encoding": "klingon"}, None),
    (rated("5", "yes", "no", "1"), {}, 3),
    (rated("yes", "5", "no", "1"), {}, 3),
    (rated("yes", "no", "true", "no"), {}, 4),
    (rated("1", "", "0"), {}, 3),
    (rated("1", "0", "-"), {}, 4),
    (rated("-", "1", "0"), {}, 3),
    (rated("+", "-", "0"), {}, 4),
    (rated("0", "+", "-"), {}, 3),
    (rated("900", "1.000"), {}, 3),
    (rated("1.000", "2.000", "900"), {}, 4),
    (rated("1", "'2,000'", "0").replace(",", ";").replace("'", ""), {}, 3),
    (rated("1;5", "2.5", "0").replace(",", ";").replace("1;5", "1,5"), {}, 3),
    ("u;i;r\na;x;1.5\nb;x;2,5\n", {}, 3),
    ("u;i;r\na;x;1,5,2\nb;x;2\n", {}, 2),
    ("u;i;r\na;x;1,23\nb;x;2\n", {"thousands": ","}, 2),
    ("sep=;\nu;i;r\na;x;50%\nb;x;3\n", {}, 4),
    ("sep=;\nu;i;r\na;x;3\nb;x;50%\n", {}, 4),
    (rated("NA", "NA"), {"missing": "NA"}, 2),
    ("who,song,name,plays\nann,7,Help,3\nbob,8,Yesterday,2\n", {}, 2),
    ("user,item,timestamp\nann,tea,1700000000\nbob,rum,1700000001\n", {}, None),
    ("user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n", {}, None),
    ("user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n", {"value": "rating"}, None),
    ("id,a,a\n1,2,3\n", {"wide": True}, None),
    ("id,a,\n1,2,3\n", {"wide": True}, None),
    ("id\n1\n", {"wide": True}, None),
    ("id,a,b\n1,2,3\n1,4,\n", {"wide": True}, 3),
    ("id,a,b\n1,2,3\n2,4,9\n", {"wide": True, "maximum": 5}, 3),
    ("id,a,b\n1,,\n2,,\n", {"wide": True}, 2),
    ("id,a,b\n1,2\n", {"wide": True}, 2),
    ("id,a,b\n,2,3\n", {"wide": True}, 2),
    ("who,tea,town\nann,yes,Rome\nbob,no,Oslo\n", {"wide": True}, 2),
    ("who,tea,rum\nann,yes,no\nbob,no,yes\n", {"wide": True, "ignore": "Tea"}, None),
]


@pytest.mark.parametrize(("content", "options", "line"), BROKEN)
def test_broken_files_are_refused_with_their_line(read, content, options, line):
    with pytest.raises(DataError) as refused:
        read(content, **options)
    found = re.search(r"line (\d+)", str(refused.value))
    assert (found and int(found[1])) == line


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"decimal": "x"}, "decimal"),
        ({"thousands": "12"}, "thousands"),
        ({"thousands": ",", "decimal": ","}, "thousands"),
        ({"map": {}}, "map"),
        ({"map": {"yes": "1"}}, "yes"),
        ({"map": {"Yes": 1, "yes": 0}}, "yes"),
        ({"map": {"a": 10**400}}, "map"),
        ({"missing": [None]}, "missing"),
        ({"wide": 1}, "wide"),
        ({"wide": True, "item": 1}, "item"),
        ({"wide": True, "only_yes": True}, "only_yes"),
        ({"ignore": "Age"}, "ignore"),
        ({"sep": ""}, "sep"),
        ({"sep": None}, "sep"),
        ({"header": "yes"}, "header"),
        ({"scaling": "log"}, "scaling"),
        ({"duplicates": "first"}, "duplicates"),
        ({"encoding": None}, "encoding"),
        ({"maximum": 10**400}, "maximum"),
        ({"minimum": -(10**400)}, "minimum"),
    ],
)
def test_options_are_checked_before_a_file_is_opened(options, named):
    with pytest.raises(ParameterError, match=f"'{named}'"):
        read_ratings("nowhere.csv", **options)


@pytest.mark.parametrize("header", [True, False])
def test_columns_and_encodings_that_are_not_there(read, header):
    content = HEADER * header + "a,x,1\nb,y,2\n"
    wrong = [("user", 10**400), ("user", 1.5), ("item", [1]), ("weight", b"x"), ("encoding", "utf-8\0")]
    for name, value in wrong:
        with pytest.raises(KolmogorovError, match=name):
            read(content, header=header, **{name: value})
    assert len(read(HEADER + f"a,x,1\nb,y,{10**400}\nb,x,0\n", missing=10**400)) == 2


# --- the same column of values, whatever it comes in ---------------------------------------------------------------


def columns(values):
    return {"user": USERS, "item": ITEMS, "stars": values}


def text_file(folder, values, header=True):
    lines = [",".join(row) for row in zip(USERS, ITEMS, values, strict=True)]
    (folder / "r.csv").write_text("\n".join([HEADER.strip()] * header + lines) + "\n")
    return folder / "r.csv"


def parquet_file(folder, values):
    parquet.write_table(pa.table(columns(values)), folder / "r.parquet")
    return folder / "r.parquet"


def cursor(values):
    database = sqlite3.connect(":memory:")
    database.execute("create table ratings (user_id text, item text, rating)")
    database.executemany("insert into ratings values (?, ?, ?)", zip(USERS, ITEMS, values, strict=True))
    return database.execute("select * from ratings")


#: What is made of four values in a folder; `from_frame` and `pack` take it otherwise.
SOURCES = {
    "text": text_file,
    "no header": lambda folder, values: text_file(folder, values, header=False),
    "parquet": parquet_file,
    "pandas": lambda folder, values: pd.DataFrame(columns(values)),
    "categories": lambda folder, values: pd.DataFrame(columns(values)).astype({"stars": "category"}),
    "polars": lambda folder, values: pl.DataFrame(columns(values)).lazy(),
    "arrow": lambda folder, values: pa.table(columns(values)).to_reader(1),
    "dictionary": lambda folder, values: pa.table(columns(pa.array(values).dictionary_encode())),
    "cursor": lambda folder, values: cursor(values),
}
WAYS = {
    name: lambda folder, values, make=make, **more: read_ratings(make(folder, values), **more)
    for name, make in SOURCES.items()
} | {
    "from_frame": lambda folder, values, **more: Observations.from_frame(pd.DataFrame(columns(values)), **more),
    "pack": lambda folder, values, **more: km.pack(text_file(folder, values), folder / "t.kmt", **more),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)
EXPECTED = {("ann", "tea"): 1.0, ("ann", "rum"): 0.0, ("bob", "tea"): 0.0, ("cy", "rum"): 1.0}


@EVERY_WAY
@pytest.mark.parametrize(
    ("yes", "no"), [("yes", "no"), ("true", "false"), ("t", "f"), ("+", "-"), ("like", "dislike"), ("1", "0")]
)
def test_two_words_are_read_as_they_are_meant_in_any_letters(way, yes, no, tmp_path):
    assert naive.cells(WAYS[way](tmp_path, [yes.capitalize(), no.upper(), no, yes])) == EXPECTED


@EVERY_WAY
def test_other_words_need_a_map(way, tmp_path):
    values = ["Yes", "no", "abstain", "yes"]
    for options in ({}, {"map": {"yes": 1, "no": 0}}):
        with pytest.raises(DataError, match=r"(line|row) .*'abstain'"):
            WAYS[way](tmp_path, values, **options)
    found = WAYS[way](tmp_path, values, map={"YES": 1, "abstain": 0.5, "no": 0})
    assert naive.cells(found) == EXPECTED | {("bob", "tea"): 0.5}


@EVERY_WAY
def test_what_is_missing_is_left_out_and_leaves_no_ids(way, tmp_path):
    found = WAYS[way](tmp_path, ["5", "NA", "99", "2.5"], missing=("NA", 99))
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("cy", "rum"): 0.5}
    assert found.users.ids.tolist() == ["ann", "cy"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_cells_are_missing_where_that_is_said(make):
    frame = make(columns([5.0, None, 99.0, 2.5]))
    with pytest.raises(DataError, match="row 1: column 'stars' is empty"):
        read_ratings(frame)
    assert naive.cells(read_ratings(frame, missing=("", "99"))) == {("ann", "tea"): 1.0, ("cy", "rum"): 0.5}


def test_codes_and_booleans_of_frames_are_mapped():
    codes, yes = pd.DataFrame(columns([1, 2, 2, 3])), pd.DataFrame(columns([True, False, False, True]))
    assert naive.cells(read_ratings(codes, map={1: 1, 2: 0, 3: 0.5})) == EXPECTED | {("cy", "rum"): 0.5}
    assert len(read_ratings(codes, map={1: 1, 2: 0}, missing=3)) == 3
    assert naive.cells(read_ratings(yes)) == EXPECTED
    assert naive.cells(read_ratings(yes, map={"true": 0, "false": 1})) == {k: 1 - v for k, v in EXPECTED.items()}


@pytest.mark.parametrize("value", ["rating", "score", "value", "vote", "label", "Rating"])
@pytest.mark.parametrize(
    ("user", "item"), [("user_id", "movieId"), ("Customer", "product"), ("respondent", "question")]
)
def test_usual_names_in_frames_and_files_alike(tmp_path, user, item, value):
    frame = pd.DataFrame({value: [4, 5], "when": [7, 8], item: ["a", "b"], user: ["x", "y"]})
    frame.to_csv(tmp_path / "r.csv", index=False)
    sources = (tmp_path / "r.csv", frame, pa.table(frame))
    for found in (*map(read_ratings, sources), Observations.from_frame(frame), km.pack(frame, tmp_path / "t.kmt")):
        assert naive.cells(found) == {("x", "a"): 0.8, ("y", "b"): 1.0}


@settings(max_examples=25)
@given(st.lists(st.integers(-5000, 5000).map(lambda n: n / 100), min_size=4, max_size=4))
def test_every_way_of_writing_numbers_gives_the_same_table(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("numbers")
    whole = Observations.from_arrays(USERS, ITEMS, values)
    texts = [repr(value) for value in values]
    for way in ("text", "pandas", "arrow", "pack"):
        assert WAYS[way](folder, texts).fingerprint() == whole.fingerprint()


@given(
    st.dictionaries(
        st.tuples(st.text("abc,\"' \n;é", min_size=1).map(str.strip).filter(bool), st.integers(-5, 99)),
        st.floats(0, 5, width=32),
        min_size=1,
        max_size=8,
    )
)
def test_what_csv_writers_write_is_read_back(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("roundtrip") / "r.csv"
    frame = pd.DataFrame([(u, i, v) for (u, i), v in cells.items()], columns=["user", "item", "rating"])
    frame.to_csv(path, index=False)
    got = naive.cells(read_ratings(path, maximum=5))
    integers = all(u.isascii() and u.isdigit() for u, _ in cells)
    assert integers or {key: v * 5 for key, v in got.items()} == pytest.approx(dict(cells))


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


# --- what a file may be ------------------------------------------------------------------------------------------


def test_values_that_mean_something_else_once_that_is_told(read):
    assert read(rated("900", "1.000"), thousands=".").scale.maximum == 1000
    assert read(rated("900", "1.000"), decimal=".").scale.maximum == 900
    assert read(rated("1.125", "2.250", "5")).scale.maximum == 5
    excel = read("sep=;\nKunde;Produkt;Zufriedenheit\nK1;A;50%\nK2;A;12,5%\nK2;B;100%\n")
    assert naive.cells(excel) == {("K1", "A"): 0.5, ("K2", "A"): 0.125, ("K2", "B"): 1.0}
    numbers = np.random.default_rng(0).random(2000)
    text = "".join(f"{k},0,{value!r}\n" for k, value in enumerate(numbers.tolist()))
    assert np.array_equal(read(text, maximum=1).values, numbers)


def test_a_first_record_is_no_header(read):
    found = read("ann,tea,yes\nbob,tea,1\ncy,tea,0\n")
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("bob", "tea"): 1.0, ("cy", "tea"): 0.0}
    with pytest.raises(DataError, match="header=True or header=False"):
        read("ann,tea,like\nbob,tea,1\n")
    assert len(read("who,what,like\nbob,tea,1\n", header=True)) == 1
    assert len(read("a,b,y\n1,2,1\n")) == 1


def test_which_ids_are_numbers(read):
    assert read("1,-0,1\n2,0,1\n").items.ids.tolist() == ["-0", "0"]
    text = "user,item,rating\n1,7,5\nNA,7,3\n2,8,4\n"
    with pytest.raises(DataError, match="missing='NA'"):
        read(text)
    found = read(text, missing="NA")
    assert (found.users.ids.tolist(), found.source.n_missing) == ([1, 2], 1)
    # A country may be called so, and a number that means missing may be somebody's id.
    assert read("user,item,rating\nDE,7,5\nNA,7,3\n").users.ids.tolist() == ["DE", "NA"]
    assert read("user,item,rating\n99,7,5\n1,7,99\n1,8,2\n", missing=99).users.ids.tolist() == [1, 99]


def test_columns_of_one_name_are_told_apart_by_their_place(read):
    text = "user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n"
    assert naive.cells(read(text, value=3)) == {("ann", "tea"): 0.2, ("bob", "tea"): 1.0}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_windows_writes_is_recognised_also_far_down(read, pack):
    late = HEADER + "".join(f"{k},1,1\n" for k in range(50_000)) + "José,1,1\n"
    found = read(pack(late.encode("cp1252")))
    assert "José" in found.users.ids
    assert found.source.layout.encoding == "cp1252"


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(rated(1, 5).encode()))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert naive.cells(read_ratings("-")) == {("u0", "tea"): 0.2, ("u1", "tea"): 1.0}


def test_lines_are_counted_over_chunks(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(HEADER + "".join(f"{k},0,1\n" for k in range(10)) + "4,0,1\n")
    with pytest.raises(DataError, match=r"line 12: duplicate .*line 6\)"):
        gathered([TextSource(path, Reading(), chunk=3)], Reading())
    rows = [f"u{k},{'' if k % 2 else k % 5 + 1},{k % 3 + 1}" for k in range(20)]
    content, options = "\n".join(["id,a,b", *rows]), Reading(wide=True)
    path.write_text(content)
    assert len(Observations(*gathered([TextSource(path, options, chunk=3)], options))) == 30
    path.write_text(content + "\nu4,1,\n")
    with pytest.raises(DataError, match=r"line 22: duplicate .*line 6\)"):
        gathered([TextSource(path, options, chunk=3)], options)


def test_cursors_of_databases(tmp_path):
    with pytest.raises(DataError, match="row 1: column 'rating' is empty"):
        read_ratings(cursor([5, None, 2.5, 1]))
    assert len(km.pack(cursor([5, None, 2.5, 1]), tmp_path / "t.kmt", missing="")) == 3
    database = sqlite3.connect(":memory:")
    for nothing in (database.cursor(), database.execute("select 1 as user, 2 as item, 3 as value where 0")):
        with pytest.raises(DataError):
            read_ratings(nothing)


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
    with pytest.raises(DataError, match="is a directory"):
        read_ratings(tmp_path)
    (tmp_path / "notes.txt").write_text("not read")
    for name, rows in (("1.parquet", slice(0, 2)), ("2.pq", slice(2, 4))):
        table = pa.table({"user": USERS[rows], "item": ITEMS[rows], "value": [1, 0]})
        parquet.write_table(table, tmp_path / name)
    assert len(read_ratings(tmp_path)) == len(km.pack(tmp_path, tmp_path / "t.kmt")) == 4


# --- scales --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "options", "scale"),
    [
        ([1, 5], {}, "p = r / 5"),
        ([0.5, 4.5], {}, "p = r / 4.5"),
        ([0.1, 0.7], {}, "p = r"),
        ([0, 0], {}, "p = r"),
        ([-9.5, 10], {}, "p = (r + 9.5) / 19.5"),
        ([-1, 1], {}, "p = (r + 1) / 2"),
        ([20.3, 70.1], {}, "p = (r - 20.3) / 49.8"),
        ([2, 4], {"minimum": 1, "maximum": 5}, "p = (r - 1) / 4"),
        ([-3, 4], {"minimum": -5}, "p = (r + 5) / 9"),
        ([20.3, 70.1], {"maximum": 100}, "p = r / 100"),
        ([20.3, 70.1], {"scaling": "max"}, "p = r / 70.1"),
        ([1, 5], {"scaling": "minmax"}, "p = (r - 1) / 4"),
        ([2, 2], {"scaling": "minmax"}, "p = (r - 2) / 1"),
    ],
)
def test_the_scale_is_chosen_by_what_is_there(values, options, scale):
    found = Observations.from_arrays([1, 2], [1, 2], values, **options)
    assert str(found.scale) == scale
    np.testing.assert_allclose(found.scale.rating(found.values), values, atol=1e-12)


def test_a_scale_that_was_chosen_is_said(read, caplog):
    caplog.set_level("INFO", logger="kolmogorov")
    read(rated(1, 5))
    read(rated(-10, 9.9))
    assert "p = r / 5" in caplog.text
    assert "p = (r + 10) / 19.9" in caplog.text
    caplog.clear()
    read(rated(1, 5), maximum=5)
    assert "p = r" not in caplog.text


# --- wide tables ---------------------------------------------------------------------------------------------------

CELLS = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 4)), st.sampled_from(["1", "2", "3.5"]), min_size=1, max_size=20
)


@settings(max_examples=25)
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


def test_wide_tables_of_words_with_marks(read):
    found = read("id,10,20\n1,yes,\n2,NA,no\n", missing="NA", wide=True)
    assert naive.cells(found) == {(1, 10): 1.0, (2, 20): 0.0}
    found = read("tea,who,rum\n5,ann,1\n,bob,2\n", user="who", wide=True)
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("ann", "rum"): 0.2, ("bob", "rum"): 0.4}
    assert naive.cells(read("ann,5,\nbob,,2\n", header=False, wide=True)) == {("ann", 0): 1.0, ("bob", 1): 0.4}
    each = read("who,tea,rum\nann,yes,true\nbob,no,false\n", wide=True)
    assert sorted(naive.cells(each).values()) == [0.0, 0.0, 1.0, 1.0]


def test_wide_tables_with_many_columns_are_read_in_few_rows():
    names = [["id", *range(n)] for n in (1, 1000, 900_000)]
    shapes = [WideShape(some, 0, Reading(), as_text=True, source="table") for some in names]
    assert all(shape.most_rows * len(some) <= 2**20 + len(some) for shape, some in zip(shapes, names, strict=True))


SURVEY = "Name,Age,Smokes,Likes jazz\nann,31,yes,no\nbob,64,no,yes\ncy,25,yes,\n"


@pytest.mark.parametrize(
    "make", [None, lambda text: pd.read_csv(io.StringIO(text)), lambda text: pl.read_csv(io.StringIO(text))]
)
def test_a_survey_with_an_age(make, read):
    def reading(**options):
        return read(SURVEY, **options) if make is None else read_ratings(make(SURVEY), **options)

    with pytest.raises(DataError, match="'Age', 'Smokes', 'Likes jazz'.*wide=True"):
        reading()
    with pytest.raises(DataError, match="'Age' .* from 25 to 64.*ignore="):
        reading(wide=True)
    found = reading(wide=True, ignore="Age")
    cells = {("ann", "Smokes"): 1.0, ("ann", "Likes jazz"): 0.0, ("bob", "Smokes"): 0.0, ("bob", "Likes jazz"): 1.0}
    assert naive.cells(found) == cells | {("cy", "Smokes"): 1.0}
    assert (found.source.n_missing, found.source.words) == (1, {"yes": 1.0, "no": 0.0})
    assert naive.cells(reading(wide=True, keep=["Smokes", "Likes jazz"])) == naive.cells(found)


@pytest.mark.parametrize("columns", [["5,1,3", "1,4,"], ["1,1,5", "1,2,5"], ["0,1,5", ",,3"]])
def test_stars_are_on_one_scale(columns, read):
    rows = "\n".join(f"u{k},{row}" for k, row in enumerate(columns))
    assert read(f"who,a,b,c\n{rows}\n", wide=True).scale.maximum == 5


# --- where a table came from ---------------------------------------------------------------------------------------

TITLED = "userId,movieId,rating,title\n1,10,4,Alien\n1,20,5,Heat\n2,10,3,Alien\n2,30,1,\n"


@pytest.mark.parametrize("form", ["text", "pandas", "polars", "parquet"])
def test_titles_beside_ids_are_used(form, tmp_path):
    path, frame = tmp_path / "file.csv", pd.read_csv(io.StringIO(TITLED))
    path.write_text(TITLED)
    frame.to_parquet(tmp_path / "file.parquet")
    given = {"text": path, "pandas": frame, "polars": pl.from_pandas(frame), "parquet": tmp_path / "file.parquet"}[form]
    found, packed = read_ratings(given), km.pack(given, tmp_path / "t.kmt")
    for table in (found, packed):
        assert table.items.ids.tolist() == [10, 20, 30]
        assert table.items.labels.tolist() == ["Alien", "Heat", "30"]
    assert packed.source == found.source
    assert found.source.layout.columns["title"] == "title"
    # Titles that are given go before those that were found.
    other = read_ratings(given, titles={10: "Alien (1979)"})
    assert other.items.labels.tolist() == ["Alien (1979)", "Heat", "30"]


def test_parts_of_a_table_know_where_it_came_from(read):
    found = read(rated("1", "2", "5"))
    for part in (*found.split(0.4, random_state=0), found.with_titles(items={"tea": "Tea"})):
        assert part.source is found.source
    assert Observations.from_arrays([1], [2], [1]).source is None


# --- options of readers ------------------------------------------------------------------------------------------


TAKERS = [read_ratings, pack, distributed_table, Observations.from_arrays, Observations.from_frame]
TAKERS += [Observations.from_dense, Observations.from_scipy]


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_signatures_show_each_option_with_its_default(function):
    parameters = inspect.signature(function).parameters
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    # The items of arrays are no option.
    own = inspect.Parameter.KEYWORD_ONLY
    options = {name: p.default for name, p in parameters.items() if name in DEFAULTS and p.kind is own}
    assert {"minimum", "maximum", "scaling", "duplicates"} <= options.keys()
    assert options == {name: DEFAULTS[name] for name in options}


@pytest.mark.parametrize("function", TAKERS, ids=lambda function: function.__name__)
def test_an_unknown_option_is_named_with_the_nearest(function):
    words = rf"{function.__name__}\(\) got an unexpected keyword argument 'maxium'\. Did you mean 'maximum'\?"
    with pytest.raises(TypeError, match=words):
        function(None, None, None, maxium=5)


def test_frames_and_arrays_do_not_take_what_concerns_files():
    with pytest.raises(TypeError, match="unexpected keyword argument 'sep'"):
        Observations.from_frame(pd.DataFrame(), sep=",")
    with pytest.raises(TypeError, match="unexpected keyword argument 'wide'"):
        Observations.from_arrays([1], [1], [1], wide=True)


def test_options_are_kept_as_plain_values(tmp_path):
    told = Reading(
        user="who", value=2, map={True: 1, "No": 0}, missing=["NA", 9], maximum=1, titles={1: "x"}, header=False
    )
    kept = json.loads(json.dumps(told.to_dict()))
    assert (kept["map"], kept["missing"]) == ({"true": 1.0, "no": 0.0}, ["NA", "9"])
    again = Reading(**kept)
    assert again.to_dict() == kept
    assert (again.notation, again.scale_request) == (told.notation, told.scale_request)
    assert Reading().to_dict() == {}
