"""Text files, archives and tables of any make that are too much, damaged, or something else."""

import bz2
import csv
import gzip
import io
import lzma
import os
import random
import re
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import naive
from kolmogorov import read_ratings
from kolmogorov.data import sources
from kolmogorov.data.values import PAIR_OF
from kolmogorov.errors import DataError, KolmogorovError

HEADER = "user,item,rating\n"


def zipped(content, name="ratings.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(name, content)
    return buffer.getvalue()


def zstd(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


WRAPPINGS = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zip": zipped, "zst": zstd}


@pytest.fixture
def write(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def piped(monkeypatch, content):
    """Put a stream that can be read once in the place of standard input."""
    read, written = os.pipe()
    with open(written, "wb") as out:
        out.write(content)
    monkeypatch.setattr("sys.stdin", open(read))  # noqa: SIM115


# --- lines and bytes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", "::"])
def test_a_line_beyond_the_limit_is_named(write, monkeypatch, separator):
    lines = ["user,item,rating", "1,2,3", "1,3,4", "1," + "x" * 2000 + ",x"]
    content = gzip.compress("\n".join(lines).replace(",", separator).encode())
    monkeypatch.setattr(sources, "_BLOCK", 1000)
    with pytest.raises(DataError, match=r"ratings.csv, line 4: .* more than 1,000 bytes"):
        read_ratings(write(content))
    piped(monkeypatch, content)
    with pytest.raises(DataError, match=r"standard input, line 4: .* more than 1,000 bytes"):
        read_ratings("-")


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_standard_input_is_read_once(monkeypatch, wrapping):
    content = WRAPPINGS[wrapping](("\n" + HEADER + "1,2,3\n" * 2).encode())
    piped(monkeypatch, content)
    with pytest.raises(DataError, match=r"standard input, line 4: duplicate .*line 3"):
        read_ratings("-")
    piped(monkeypatch, content)
    assert naive.cells(read_ratings("-", duplicates="last")) == {("1", "2"): 1.0}
    with pytest.raises(DataError, match="once only"):
        read_ratings(["-", "-"])


def test_small_files_do_not_become_large(write, tmp_path, monkeypatch):
    for limit, size in {"_BLOCK": 1 << 16, "_BLANK_LINES": 100, "_MOST_COLUMNS": 100, "_ALWAYS": 1 << 20}.items():
        monkeypatch.setattr(sources, limit, size)
    for content, said in (
        (b"\n" * 100_000, "begins with megabytes of blank lines"),
        (b"1,2,3\n" + b" \n" * 101 + b"1,3,4\n", "has more than 100 blank lines"),
        (b"who" + b",x" * 100 + b"\n", "has 101 columns; 100 are read"),
        (HEADER.encode() + b"1,2,3\n" * 200_000, "unpacks to more than 200 times its size.*pandas"),
    ):
        with pytest.raises(DataError, match=said):
            read_ratings(write(gzip.compress(content)))
    zeros = np.zeros(1 << 18, np.int32)
    parquet.write_table(pa.table({"user": zeros, "item": zeros, "value": zeros}), tmp_path / "r.parquet")
    with pytest.raises(DataError, match="unpacks to more than 200 times its size"):
        read_ratings(tmp_path / "r.parquet")
    # What is not made for it may be large.
    assert len(read_ratings(write(gzip.compress(HEADER.encode() + b"1,2,3\n" * 100_000)), duplicates="last")) == 1


BOMB = """
    import resource, sys
    import kolmogorov as km
    km.Observations  # what the library itself needs does not count
    from kolmogorov.data.read import read_ratings
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read_ratings(sys.argv[1])
    except km.errors.DataError as error:
        print(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kilobytes on Linux")
def test_a_line_of_hundreds_of_megabytes_is_not_taken_into_memory(write):
    body = io.BytesIO()
    with gzip.GzipFile(fileobj=body, mode="wb", compresslevel=1) as out:
        out.write(b"1,2,3\n\xff")
        for _ in range(300):
            out.write(b"x" * 1_000_000)
    path = write(body.getvalue(), "bomb.csv.gz")
    script = [sys.executable, "-c", textwrap.dedent(BOMB), str(path)]
    told, megabytes = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "bomb.csv.gz, line 2" in told
    assert int(megabytes) < 150


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_what_windows_writes_is_recognised_also_far_down(write, wrapping):
    late = HEADER + "".join(f"{k},1,1\n" for k in range(50_000)) + "José,1,1\n"
    found = read_ratings(write(WRAPPINGS[wrapping](late.encode("cp1252"))))
    assert "José" in found.users.ids
    assert "encoding cp1252" in str(found.source)


def test_blocks_end_where_they_will(write):
    rows = [f"u{k},Zoë {'é' * (k % 7)},{k % 5 + 1}" for k in range(250_000)]
    assert len(read_ratings(write((HEADER + "\r\n".join(rows)).encode()))) == len(rows)


# --- archives, and files that are something else ---------------------------------------------------------------------


@pytest.mark.parametrize("names", ["", "ab"])
def test_an_archive_holds_one_file(write, names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.mkdir("folder")
        for name in names:
            out.writestr(name, "1,2,3\n")
    with pytest.raises(DataError, match=rf"many.zip must hold exactly one file, it holds {len(names)}\.$"):
        read_ratings(write(buffer.getvalue(), "many.zip"))


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (b"SQLite format 3\0" + b"x" * 100, "read_sql"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 100, "read_excel"),
        (b'{"user": "ann", "item": "tea", "rating": 5}\n', r"read_json\(.*lines=True"),
        (b'[{"user": "ann"}]\n', r"read_json\(.*lines=False"),
    ],
)
def test_files_of_other_programs_are_named_with_what_reads_them(write, content, advice):
    with pytest.raises(DataError, match=rf"(?s)ratings.csv (is|looks like).*{advice}"):
        read_ratings(write(content))


def test_what_cannot_be_read():
    for wrong in (5, b"ratings.csv", None, {"user": [1]}, [3], [None], np.ones((2, 2))):
        with pytest.raises(DataError, match="Expected paths, data frames or Arrow streams, got .* pd.read_sql"):
            read_ratings(wrong)
    with pytest.raises(DataError, match="There are no files"):
        read_ratings([])


def test_excel_sheets(write, tmp_path):
    pytest.importorskip("python_calamine", reason="python-calamine is not installed")
    writer = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = writer.Workbook()
    for row in (["user", "item", "rating"], [1, "tea", 5], ["", "", ""], ["bob", "tea", 2.5]):
        book.active.append(row)
    book.save(tmp_path / "r.xlsx")
    assert naive.cells(read_ratings(tmp_path / "r.xlsx")) == {("1", "tea"): 1.0, ("bob", "tea"): 0.5}


def test_without_what_reads_sheets_it_is_named(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match="pip install python-calamine"):
        read_ratings(write(zipped("x", "xl/workbook.xml"), "r.xlsx"))


# --- frames and streams ---------------------------------------------------------------------------------------------

COLUMNS = {"user": ["bo", "ann", "bo", "cy"], "item": ["3", "1", "1", "3"], "value": [5.0, 0.0, 2.5, 1.0]}


def failing():
    yield pa.record_batch(COLUMNS)
    raise OSError("the connection is lost")


def test_a_stream_without_content_and_one_that_breaks():
    schema = pa.table(COLUMNS).schema
    for stream, message in (
        (pa.table(COLUMNS)[:0], "no observations"),
        (pa.RecordBatchReader.from_batches(schema, failing()), "cannot be read: .*the connection is lost"),
        (pa.table({"a": [1]}), "which column is the user.*'a'"),
        (pa.Table.from_arrays([pa.array([1])] * 3, ["user", "user", "value"]), "'user'"),
    ):
        with pytest.raises(DataError, match=message):
            read_ratings(stream)


@pytest.mark.parametrize("role", ["user", "value"])
def test_texts_that_are_no_unicode_are_refused(role):
    ends = pa.py_buffer(np.arange(5, dtype=np.int32).tobytes())
    columns = {name: pa.array(cells) for name, cells in COLUMNS.items()}
    columns[role] = pa.StringArray.from_buffers(4, ends, pa.py_buffer(b"\xff" * 4))
    with pytest.raises(DataError, match="cannot be read"):
        read_ratings(pa.table(columns))


def test_a_dictionary_whose_text_is_missing_is_refused():
    users = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2]), pa.array(["bo", None, "cy"]))
    with pytest.raises(DataError, match="row 1: user ids must be texts or whole numbers, got None"):
        read_ratings(pa.table(COLUMNS | {"user": users}))


# --- damage: the library's own error, or the table of a naive twin ----------------------------------------------------

LIST = HEADER + 'ann,tea,5\nann,"rum, dark",1.5\nbob,tea,4\nZoë,gin,3\n'
WIDE = "who,tea,rum,gin\nann,5,1,\nbob,4,,2\ncas,1,3,2\n"


def arrow_file(write):
    sink, table = io.BytesIO(), pa.table({"user": ["ann", "bob"], "item": ["tea", "rum"], "rating": [5.0, 1.0]})
    if write is parquet.write_table:
        write(table, sink)
    else:
        with write(sink, table.schema) as writer:
            writer.write_table(table)
    return sink.getvalue()


#: Whole files with the options they are read with; those with a separator have a twin.
KINDS = {
    "list": (LIST.encode(), {"sep": ","}),
    "tabs": (LIST.replace(",", "\t").encode(), {"sep": "\t"}),
    "colons": (b"1::10::5\n1::20::3\n2::10::4\n", {"sep": "::", "header": False}),
    "blanks": (b"ann tea 5\nann   rum 1\nbob tea 4\n", {"sep": "whitespace", "header": False}),
    "wide": (WIDE.encode(), {"sep": ",", "wide": True}),
    "guessed": (LIST.encode(), {}),
    "with mark": (LIST.encode("utf-8-sig"), {}),
    "utf-16": (LIST.encode("utf-16"), {}),
    "gzip": (gzip.compress(LIST.encode(), mtime=0), {}),
    "bzip2": (bz2.compress(LIST.encode()), {}),
    "xz": (lzma.compress(LIST.encode()), {}),
    "zstd": (zstd(LIST.encode()), {}),
    "zip": (zipped(LIST), {}),
    "parquet": (arrow_file(parquet.write_table), {}),
    "arrow": (arrow_file(ipc.new_file), {}),
}
SIGNS = b",;\"'\n\r\t |:\0\x1f\xff\xc3\xa9 .-+%eE0123456789NAx_"

#: Options that those without a twin are read with now and then.
OPTIONS = [("wide", True), ("header", False), ("implicit", True), ("missing", ""), ("user", 1), ("item", "item")]
OPTIONS += [("weight", 2), ("sep", "::"), ("sep", "'"), ("decimal", ","), ("scale", "column")]
OPTIONS += [("encoding", name) for name in ("latin-1", "utf-16", "utf-8", "utf-7", "cp037", "rot13")]


def damaged(rng, content):
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at, way = rng.randrange(len(data) + 1), rng.randrange(6)
        if way == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif way == 1 and at < len(data):
            data[at] = rng.choice(SIGNS)
        elif way == 2:
            data.insert(at, rng.choice(SIGNS))
        elif way == 3:
            del data[at : at + rng.randint(1, 4)]
        elif way == 4:
            data = data[:at] if rng.random() < 0.3 else data
        else:
            data[at:at] = data[rng.randrange(len(data) + 1) :][:40]
    return bytes(data)


def twin(text, sep, wide=False, header=True):
    """Read a text field by field; what is no table raises anything."""
    if sep in ("::", "whitespace"):
        lines = [line for line in re.split("\r\n|\r|\n", text) if line.strip()]
        rows = [re.split("[ \t]+", line.strip(" \t")) if sep != "::" else line.split("::") for line in lines]
    else:
        records = csv.reader(io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True)
        rows = [row for row in records if len(row) > 1 or any(field.strip() for field in row)]
    rows = [[field.strip() for field in row] for row in rows]
    names = rows[0]
    assert all(len(row) == len(names) for row in rows)

    def number(text):
        word = PAIR_OF.get(text.casefold())
        return float(text) if word is None else float(text.casefold() == word[0])

    body = rows[1:] if header else rows
    if wide:
        return {(row[0], i): number(c) for row in body for i, c in zip(names[1:], row[1:], strict=True) if c}
    return {(row[0], row[1]): number(row[2]) for row in body}


def check_damage(folder, kind, seed):
    content, options = KINDS[kind]
    rng = random.Random(f"{kind} {seed}")
    path = folder / "r.csv"
    path.write_bytes(damaged(rng, content))
    more = {"decimal": "."} if "sep" in options else dict(rng.sample(OPTIONS, rng.choice([0, 0, 1, 2, 3])))
    try:
        table = read_ratings(path, **{"duplicates": "last"} | options | more)
    except KolmogorovError as error:
        # A line that is named holds what the message cites.
        if "sep" in options and (
            said := re.search(r"line (\d+): value must be a number, got '([!-\[\]-~]+)'", str(error))
        ):
            text = path.read_bytes().decode("utf-8-sig", errors="replace")
            assert said[2] in re.split("\r\n|\r|\n", text)[int(said[1]) - 1]
        return False
    if "sep" in options:
        encoding = re.search(r"encoding ([\w-]+)", str(table.source))[1]
        expected = twin(path.read_bytes().decode(encoding).removeprefix("\ufeff"), **options)
        found = {pair: table.scale.rating(value) for pair, value in naive.cells(table).items()}
        assert found == pytest.approx(expected)
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_an_error_or_what_a_naive_reader_reads(kind, tmp_path):
    found = {check_damage(tmp_path, kind, seed) for seed in range(150)}
    assert found >= ({True, False} if "sep" in KINDS[kind][1] else {False})


@pytest.mark.long("damage")
@pytest.mark.parametrize("kind", KINDS)
def test_much_damage(kind, tmp_path):
    for seed in range(6000):
        check_damage(tmp_path, kind, seed + 10_000)
