"""Lists and wide tables of any make become entries; broken ones are refused with their line."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc, parquet

import kolmogorov as km
import naive
from kolmogorov import Observations, read_ratings
from kolmogorov.data.values import Notation, UnreadableError, numbers_of
from kolmogorov.errors import DataError, KolmogorovError, ParameterError

HEADER = "user,item,rating\n"


def rated(*values, header=HEADER, sep=","):
    return header.replace(",", sep) + "".join(f"u{k}{sep}tea{sep}{value}\n" for k, value in enumerate(values))


@pytest.fixture
def read(tmp_path):
    def read(content, **options):
        path = tmp_path / "file.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_ratings(path, **options)

    return read


# --- what is read, beside the goldens -------------------------------------------------------------------------------


@pytest.mark.parametrize("sep", [",", "\t", "::", ";", "|", " ", "   "])
@pytest.mark.parametrize("header", [None, ["userId", "movieId", "rating"], ["a", "b", "c"]])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_headers_are_recognised(read, sep, header, end):
    rows = [header] * bool(header) + [["1", "10", "4"], ["1", "20", "5"], ["2", "10", "0"]]
    expected = {("1", "10"): 0.8, ("1", "20"): 1.0, ("2", "10"): 0.0}
    text = end.join(map(sep.join, rows)) + end
    assert naive.cells(read(text)) == expected
    assert naive.cells(read(text, sep={"\t": "\\t", " ": "whitespace", "   ": "whitespace"}.get(sep, sep))) == expected


#: Content, options, and what it is read as: a value between 0 and 1 for each user and item.
READ = [
    ("ann,tea,yes\nbob,tea,1\ncy,tea,0\n", {}, {"ann tea": 1, "bob tea": 1, "cy tea": 0}),
    ("who,what,like\nbob,tea,1\n", {"header": True}, {"bob tea": 1}),
    (rated("900", "1.000"), {"decimal": "."}, {"u0 tea": 1, "u1 tea": 1 / 900}),
    (rated("1.125", "2.250", "4.5"), {"minimum": 0}, {"u0 tea": 0.25, "u1 tea": 0.5, "u2 tea": 1}),
    ("1,-0,1\n2,0,1\n", {}, {"1 -0": 1, "2 0": 1}),
    (HEADER + "1,7,5\nNA,7,3\n2,8,4\n", {"missing": "NA"}, {"1 7": 1, "2 8": 0.8}),
    # A country may be called so, and a number that means missing may be somebody's id.
    (HEADER + "DE,7,4\nNA,7,2\n", {}, {"DE 7": 1, "NA 7": 0.5}),
    (HEADER + "99,7,4\n1,7,99\n1,8,2\n", {"missing": 99}, {"99 7": 1, "1 8": 0.5}),
    ("user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n", {"value": 3}, {"ann tea": 0.2, "bob tea": 1}),
    (HEADER + "ann,tea, NO \nbob, tea ,Yes\n", {}, {"ann tea": 0, "bob tea": 1}),
    ("\n" * 1000 + "1,2,3\n", {}, {"1 2": 1}),
    ("id,10,20\n1,yes,\n2,NA,no\n", {"wide": True, "missing": "NA"}, {"1 10": 1, "2 20": 0}),
    ("tea,who,rum\n5,ann,1\n,bob,2\n", {"wide": True, "user": "who"}, {"ann tea": 1, "ann rum": 0.2, "bob rum": 0.4}),
    ("ann,5,\nbob,,2\n", {"wide": True, "header": False}, {"ann 1": 1, "bob 2": 0.4}),
    ("id,a,\n1,4,2\n", {"wide": True, "ignore": 2}, {"1 a": 1}),
    ("who,a,b\nann,yes,true\nbob,no,\n", {"wide": True}, {"ann a": 1, "ann b": 1, "bob a": 0}),
    ("who;a;b\nann;3,5;4\nbob;;1\n", {"wide": True, "maximum": 4}, {"ann a": 0.875, "ann b": 1, "bob b": 0.25}),
]


@pytest.mark.parametrize(("content", "options", "expected"), READ)
def test_what_a_file_is_read_as(read, content, options, expected):
    found = naive.cells(read(content, **options))
    assert {f"{user} {item}": value for (user, item), value in found.items()} == pytest.approx(expected)


#: Content, options, and the line that is named; beside those of the goldens.
BROKEN = [
    ("\n\n", {}, None),
    (b"1,a\x00b,1\n" * 3, {}, None),
    ('a,"b\n1,3', {}, 2),
    (HEADER + '1,"two\nlines",3\n\n1,b,x\n', {}, 5),
    ('user,item,"rating\n1,2,3\n', {}, 2),
    (HEADER + "1,10,4\n  \n1,20,x\n", {}, 4),
    (" ,10,3\n1,2,4\n", {"header": False}, 1),
    (HEADER.encode() + b"".join(b"%d,1,1\n" % k for k in range(3000)) + b"\xff,1,1\n", {}, 3002),
    ((HEADER + "1,2,3\n").encode("utf-16"), {"encoding": "utf-8"}, None),
    ((HEADER + "Привет,a,1\nbob,a,0\n").encode("cp1251"), {}, 2),
    *((HEADER + "x,y,1\n", {"encoding": name}, None) for name in ("klingon", "utf-8\0", "base64", "rot13", "utf-16")),
    ("1\x1f0::2::3\n", {}, None),
    # Words among numbers are blamed, and numbers among words, whichever come later.
    (rated("5", "yes", "no", "1"), {}, 3),
    (rated("yes", "5", "no", "1"), {}, 3),
    (rated("yes", "no", "true", "no"), {}, 4),
    (rated("1", "", "0"), {}, 3),
    (rated("1", "0", "-"), {}, 4),
    (rated("+", "-", "0"), {}, 4),
    (rated("1", "2,000", "0", sep=";"), {}, 3),
    (rated("1,5", "2.5", "0", sep=";"), {}, 3),
    (rated("50%", "100%"), {}, 2),
    ("u;i;r\na;x;1,5,2\nb;x;2\n", {}, 2),
    (rated("NA", "NA"), {"missing": "NA"}, 2),
    ("who,song,name,plays\nann,7,Help,3\nbob,8,Yesterday,2\n", {}, 2),
    ("user,item,timestamp\nann,tea,1700000000\nbob,rum,1700000001\n", {}, None),
    ("user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n", {}, None),
    ("user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n", {"value": "rating"}, None),
    (HEADER + "1,7,5\nNA,7,3\n2,8,4\n", {}, None),
    (HEADER + "".join(f"{k},0,1\n" for k in range(10)) + "4,0,1\n", {}, 12),
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


#: Options with values that they cannot have.
WRONG = [("decimal", "x"), ("map", {}), ("map", {"yes": "1"}), ("map", {"Yes": 1, "yes": 0}), ("map", {"a": 10**400})]
WRONG += [("missing", [None]), ("wide", 1), ("ignore", "Age"), ("sep", ""), ("sep", None), ("header", "yes")]
WRONG += [("scaling", "log"), ("scale", "row"), ("duplicates", "first"), ("encoding", None), ("maximum", 10**400)]
TOGETHER = [{"item": 1, "wide": True}, {"implicit": True, "wide": True}]


@pytest.mark.parametrize("options", [*({name: value} for name, value in WRONG), *TOGETHER])
def test_options_are_checked_before_a_file_is_opened(options):
    with pytest.raises(ParameterError, match=rf"\b{next(iter(options))}\b"):
        read_ratings("nowhere.csv", **options)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("wrong", [("user", 10**400), ("user", 1.5), ("item", [1]), ("weight", b"x")])
def test_columns_that_are_not_there(read, header, wrong):
    with pytest.raises(KolmogorovError, match=wrong[0]):
        read(HEADER * header + "a,x,1\nb,y,2\n", header=header, **dict([wrong]))


# --- the same table, whatever it comes in ---------------------------------------------------------------------------

USERS, ITEMS = ["ann", "ann", "bob", "cy"], ["tea", "rum", "tea", "rum"]


class Relation:
    """Has nothing but what Arrow asks for, as a relation of a database has."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def columns(values, **more):
    return {"user": USERS, "item": ITEMS, "stars": values} | more


def text_file(folder, values, header=True):
    lines = [",".join(map(str, row)) for row in zip(USERS, ITEMS, values, strict=True)]
    (folder / "r.csv").write_text("\n".join([HEADER.strip()] * header + lines) + "\n")
    return folder / "r.csv"


def parquet_file(folder, values):
    parquet.write_table(pa.table(columns(values)), folder / "r.parquet", row_group_size=3)
    return folder / "r.parquet"


def arrow_file(folder, values):
    table = pa.table(columns(values))
    with pa.OSFile(str(folder / "r.arrow"), "wb") as sink, ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return folder / "r.arrow"


#: What is made of four values in a folder.
SOURCES = {
    "text": text_file,
    "no header": lambda folder, values: text_file(folder, values, header=False),
    "parquet": parquet_file,
    "arrow file": arrow_file,
    "pandas": lambda folder, values: pd.DataFrame(columns(values)),
    "categories": lambda folder, values: pd.DataFrame(columns(values)).astype("category"),
    "polars": lambda folder, values: pl.DataFrame(columns(values)).lazy(),
    "arrow": lambda folder, values: pa.table(columns(values)),
    "batches": lambda folder, values: pa.table(columns(values)).to_reader(1),
    "relation": lambda folder, values: Relation(pa.table(columns(values))),
    "dictionary": lambda folder, values: pa.table(columns(pa.array(values).dictionary_encode())),
    "views": lambda folder, values: pa.table(columns(pa.array(values).cast(pa.string_view()))),
}
EXPECTED = {("ann", "tea"): 1.0, ("ann", "rum"): 0.0, ("bob", "tea"): 0.0, ("cy", "rum"): 1.0}


@pytest.mark.parametrize("way", SOURCES)
def test_the_same_column_whatever_it_comes_in(way, tmp_path):
    def read(values, **options):
        return read_ratings(SOURCES[way](tmp_path, values), **options)

    for yes, no in [("yes", "no"), ("true", "false"), ("t", "f"), ("+", "-"), ("like", "dislike"), ("1", "0")]:
        assert naive.cells(read([yes.capitalize(), no.upper(), no, yes])) == EXPECTED
    values = ["Yes", "no", "abstain", "yes"]
    for options in ({}, {"map": {"yes": 1, "no": 0}}):
        with pytest.raises(DataError, match=r"(line (3|4)|row 2)\b.*'abstain'"):
            read(values, **options)
    assert naive.cells(read(values, map={"YES": 1, "abstain": 0.5, "no": 0})) == EXPECTED | {("bob", "tea"): 0.5}
    found = read(["5", "NA", "99", "2.5"], missing=("NA", 99))
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("cy", "rum"): 0.5}
    assert found.users.ids.tolist() == ["ann", "cy"]


ODD = {
    "numbers as ids": (columns([5.0, 0.0, 2.5, 1.0], user=[1, 1, 2, 3]), None),
    "whole floats as ids": (columns([5.0, 0.0, 2.5, 1.0], user=[1.0, 1.0, 2.0, 3.0]), None),
    "small types": (columns(pa.array([5, 0, 2.5, 1], pa.float32()), user=pa.array([1, 1, 2, 3], pa.uint8())), None),
    "decimals": (columns(pa.array([5, 0, 2.5, 1]).cast(pa.decimal128(5, 2)), user=[1, 1, 2, 3]), None),
    "codes": (columns([9, 1, 2, 3], user=[1, 1, 2, 3]), {9: 5, 1: 0, 2: 2.5, 3: 1}),
    "booleans": (columns([True, False, None, None], user=[1, 1, 2, 3]), {"true": 5, "false": 0}),
}


@pytest.mark.parametrize("kind", ODD)
def test_columns_of_other_types(kind):
    given, meaning = ODD[kind]
    others = {("2", "tea"): 0.5, ("3", "rum"): 0.2} if kind != "booleans" else {}
    expected = {("1", "tea"): 1.0, ("1", "rum"): 0.0} | others
    assert naive.cells(read_ratings(pa.table(given), map=meaning, maximum=5)) == expected


def test_cells_of_several_types_are_texts():
    frame = pd.DataFrame(columns([5, "0", 2.5, None], user=["ann", 7, 7.0, "7"], item=["a", "b", "c", "d"]))
    assert naive.cells(read_ratings(frame)) == {("ann", "a"): 1.0, ("7", "b"): 0.0, ("7", "c"): 0.5}
    with pytest.raises(DataError, match="row 2: value must be a number, got 'x'"):
        read_ratings(frame.replace({2.5: "x"}))


def test_columns_on_scales_of_their_own_hold_numbers():
    with pytest.raises(DataError, match="row 2: value must be finite, got inf"):
        read_ratings(pa.table({"who": list("abc"), "x": [1.0, None, float("inf")]}), wide=True, scale="column")
    same = pa.table({"who": ["a", "b"], "x": [3, 3], "y": [1, 2], "z": pa.array([None, None], pa.float64())})
    expected = {("a", "x"): 1.0, ("b", "x"): 1.0, ("a", "y"): 0.0, ("b", "y"): 1.0}
    assert naive.cells(read_ratings(same, wide=True, scale="column")) == expected


def test_several_sources_are_one_table(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,rating\nbo,x,5\n7,y,1\n")
    parquet.write_table(pa.table({"user": ["cy"], "item": ["x"], "rating": [4.0]}), tmp_path / "b.parquet")
    frame = pd.DataFrame({"user": [7], "item": ["x"], "rating": [2]})
    sources = [
        tmp_path / "a.csv",
        tmp_path / "b.parquet",
        frame,
        Relation(pa.Table.from_pandas(frame.assign(item="z"))),
    ]
    whole = read_ratings(sources)
    cells = {("bo", "x"): 1.0, ("7", "y"): 0.2, ("cy", "x"): 0.8, ("7", "x"): 0.4, ("7", "z"): 0.4}
    assert naive.cells(whole) == cells
    assert km.pack(sources, tmp_path / "packed").fingerprint() == whole.fingerprint()
    again = pd.DataFrame({"user": ["7"], "item": ["y"], "rating": [2]})
    for read in (read_ratings, lambda given: km.pack(given, tmp_path / "other")):
        with pytest.raises(DataError, match=r"row 0: duplicate .*'7' .*'y' .*a.csv, line 3"):
            read([*sources, again])
    assert not (tmp_path / "other").exists()


def test_a_directory_stands_for_the_parquet_files_in_it(tmp_path):
    with pytest.raises(DataError, match="is a directory"):
        read_ratings(tmp_path)
    (tmp_path / "notes.txt").write_text("not read")
    for name, rows in (("1.parquet", slice(0, 2)), ("2.pq", slice(2, 4))):
        parquet.write_table(pa.table({"user": USERS[rows], "item": ITEMS[rows], "value": [1, 0]}), tmp_path / name)
    assert len(read_ratings(tmp_path)) == 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"item": [3, 1, None, 3]}, "row 2.*item"),
        ({"stars": [5.0, 1.0, 2.0, 6.0]}, "row 3.*maximum 5, got 6"),
        ({"stars": [5.0, float("inf"), 2.0, 1.0]}, "row 1.*finite, got inf"),
        ({"stars": ["5", "4", "much", "1"]}, "row 2.*'much'"),
        ({"stars": pa.array([1, 2, 3, 4], pa.timestamp("s"))}, "row 0.*number"),
        ({"item": [3.0, 1.0, 1.5, 3.0]}, "row 2.*item.*1.5"),
        ({"item": [b"a", b"b", b"c", b"d"]}, "row 0.*item"),
        ({"item": [3, 3, 3, 3]}, "row 1: duplicate.*'ann'.*'3'"),
        ({"user": [[1], [2], [3], [4]]}, "row 0.*user"),
        ({"user": pa.array([True, False, True, False])}, "row 0.*user"),
    ],
)
@pytest.mark.parametrize("way", ["arrow", "parquet"])
def test_errors_name_the_row(way, more, message, tmp_path):
    table = pa.table(columns([5.0, 0.0, 2.5, 1.0], **more))
    parquet.write_table(table, tmp_path / "r.parquet", row_group_size=3)
    source = table.to_reader(1) if way == "arrow" else tmp_path / "r.parquet"
    with pytest.raises(DataError, match=message if way == "arrow" else f"r.parquet.*{message}"):
        read_ratings(source, maximum=5)


# --- twins ----------------------------------------------------------------------------------------------------------


@st.composite
def dialects(draw):
    """A dictionary of ratings, and a file of them as some program writes it."""
    sep = draw(st.sampled_from([",", ";", "\t", "|", "::", " "]))
    decimal = draw(st.sampled_from([".", ","])) if sep not in (",", "::") else "."
    letters = "abc,;|\"'é€ \n" if sep not in ("::", " ") else "abc,;|'é€"
    # What means missing beside numbers is asked about.
    names = st.text(letters, min_size=1, max_size=5).map(str.strip).filter(bool)
    values = st.integers(0, 20).map(lambda n: n / 4)
    ratings = draw(st.dictionaries(st.tuples(names, names), values, min_size=1, max_size=8))
    end, encoding = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    header = draw(st.sampled_from([["user", "item", "rating"], ["a", "b", "c"], None]))

    def field(text):
        quoted = sep not in ("::", " ") and (draw(st.booleans()) or any(c in text for c in f'{sep}"\r\n'))
        return '"' + text.replace('"', '""') + '"' if quoted else text

    lines = [[field(u), field(i), f"{v:g}".replace(".", decimal)] for (u, i), v in ratings.items()]
    blank = draw(st.sampled_from(["", end]))
    text = blank + "".join(sep.join(line) + end for line in ([header] if header else []) + lines)
    return ratings, text.encode(encoding), {"header": header is not None, "maximum": 5, "decimal": decimal, "sep": sep}


@settings(max_examples=150)
@given(dialects())
def test_what_programs_write_is_read_back(tmp_path_factory, written):
    ratings, content, options = written
    path = tmp_path_factory.mktemp("dialect") / "r.csv"
    path.write_bytes(content)
    sep = "whitespace" if options["sep"] == " " else options["sep"]
    found = naive.cells(read_ratings(path, **options | {"sep": sep}))
    assert {pair: value * 5 for pair, value in found.items()} == pytest.approx(ratings)


@given(
    st.lists(st.text() | st.sampled_from(["yes", "NO", "1,5", "1.5", "2,000", "+", "١", "1e5", "infinity"]), min_size=1)
)
def test_any_text_is_a_number_or_an_error_that_names_its_place(texts):
    for form in (Notation(), Notation({"yes": 1, "no": 0}, missing=""), Notation(decimal=",")):
        try:
            place = numbers_of(texts, form).numbers.size - 1
        except UnreadableError as error:
            place = error.at
        assert 0 <= place < len(texts)


# --- scales ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "options", "scale"),
    [
        ([1, 5], {}, "p = r / 5"),
        ([0.5, 4.5], {}, "p = r / 4.5"),
        ([0.1, 0.7], {}, "p = r"),
        ([0, 0], {}, "p = r"),
        ([-9.5, 10], {}, "p = (r + 9.5) / 19.5"),
        ([20.3, 70.1], {}, "p = (r - 20.3) / 49.8"),
        ([2, 4], {"minimum": 1, "maximum": 5}, "p = (r - 1) / 4"),
        ([-3, 4], {"minimum": -5}, "p = (r + 5) / 9"),
        ([20.3, 70.1], {"maximum": 100}, "p = r / 100"),
        ([20.3, 70.1], {"scaling": "max"}, "p = r / 70.1"),
        ([1, 5], {"scaling": "minmax"}, "p = (r - 1) / 4"),
        ([2, 2], {"scaling": "minmax"}, "p = (r - 2) / 1"),
    ],
)
def test_the_scale_is_chosen_by_what_is_there_and_said(values, options, scale, caplog):
    caplog.set_level("INFO", logger="kolmogorov")
    found = Observations.from_arrays([1, 2], [1, 2], values, **options)
    assert str(found.scale) == scale
    np.testing.assert_allclose(found.scale.rating(found.values), values, atol=1e-12)
    read = read_ratings(pd.DataFrame({"user": [1, 2], "item": [1, 2], "rating": values}), **options)
    assert read.scale == found.scale
    assert (f"so {scale}" in caplog.text) == ("maximum" not in options)
