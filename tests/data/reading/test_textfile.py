"""Text files that are too much: lines without end, records without end, archives that cannot be opened."""

import bz2
import gzip
import io
import lzma
import struct
import subprocess
import sys
import textwrap
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov import read_ratings
from kolmogorov.data.read import Reading
from kolmogorov.data.reading.text.file import TextFile
from kolmogorov.data.reading.text.source import recognise, text_columns
from kolmogorov.errors import DataError

HEADER = "user,item,rating\n"


def zipped(content, name="ratings.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr(name, content)
    return buffer.getvalue()


WRAPPINGS = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zip": zipped}


def rows(path, longest_line, encoding="utf-8", separator="auto"):
    with TextFile(path, encoding, longest_line=longest_line) as file:
        layout = recognise(file, Reading(sep=separator))
        return [row for columns, _ in text_columns(file, layout) for row in zip(*columns, strict=True)]


@pytest.fixture
def write(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("separator", [",", "::"])
def test_a_line_beyond_the_limit_is_named(write, wrapping, separator):
    lines = ["user,item,rating", "1,2,3", "1,3,4", "1," + "x" * 2000 + ",5"]
    path = write(WRAPPINGS[wrapping]("\n".join(lines).replace(",", separator).encode()))
    with pytest.raises(DataError, match=r"ratings.csv, line 4: a line has more than 1,000 characters"):
        rows(path, 1000)
    assert len(rows(path, 3000)) == 3


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_standard_input_has_the_same_limit(monkeypatch, wrapping):
    content = WRAPPINGS[wrapping]((HEADER + "1,2,3\n" + "x" * 500).encode())

    class OnceOnly(io.RawIOBase):
        def __init__(self):
            self._content = io.BytesIO(content)

        def readable(self):
            return True

        def readinto(self, buffer):
            return self._content.readinto(buffer)

    class Stdin:
        buffer = io.BufferedReader(OnceOnly())

    monkeypatch.setattr("sys.stdin", Stdin)
    with pytest.raises(DataError, match="standard input, line 3: a line has more than 100 characters"):
        rows("-", 100)


@pytest.mark.parametrize("length", [99, 100, 101, 102])
def test_the_limit_is_exact(write, length):
    first = "a,b," + "1" * (length - 4)
    path = write(f"{first}\n{first}\n")
    if length <= 100:
        assert len(rows(path, 100)) == 2
    else:
        with pytest.raises(DataError, match="line 1: a line has more than 100"):
            rows(path, 100)


def test_a_record_that_never_ends_is_refused_however_short_its_lines_are(write):
    # Every line closes one quoted field and opens another, so that it is all one record.
    path = write(HEADER + '1,"x\n' + '","x\n' * 2000)
    with pytest.raises(DataError, match=r"line \d+: a record, or some .* has more than 500 characters.*a quote never"):
        rows(path, 500)
    with pytest.raises(DataError, match="field larger than field limit"):
        read_ratings(write(HEADER + '1,"x\n' + "x\n" * 100_000))
    with pytest.raises(DataError, match=r"line 1: field larger than field limit"):
        read_ratings(write("a" * 200_000 + ",b,1\n"))


def test_blank_lines_at_the_top_have_an_end(write):
    assert len(read_ratings(write("\n" * 1000 + "1,2,3\n"))) == 1
    with pytest.raises(DataError, match="begins with more than 100,000 blank lines"):
        read_ratings(write(gzip.compress(b"\n" * 300_000)))


BOMB = """
    import resource, sys
    import kolmogorov as km
    km.Observations  # what the library itself needs does not count
    from kolmogorov.data.ratings import read_ratings
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read_ratings(sys.argv[1])
    except km.errors.DataError as error:
        print(error)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in kilobytes on Linux")
@pytest.mark.parametrize("spoilt", [b"", b"\xff"], ids=["text", "no text"])
def test_a_line_of_hundreds_of_megabytes_is_not_taken_into_memory(write, spoilt):
    body = io.BytesIO()
    with gzip.GzipFile(fileobj=body, mode="wb", compresslevel=1) as out:
        out.write(b"1,2,3\n" + spoilt)
        for _ in range(300):
            out.write(b"x" * 1_000_000)
    path = write(body.getvalue(), "bomb.csv.gz")
    script = [sys.executable, "-c", textwrap.dedent(BOMB), str(path)]
    told, megabytes = subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()
    assert "bomb.csv.gz, line 2" in told
    assert int(megabytes) < 150


def patched(content, **fields):
    """Overwrite two-byte fields of the first local header and of the first entry of the directory."""
    data = bytearray(content)
    local, central = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    places = {"version": (4, 6), "flags": (6, 8), "method": (8, 10)}
    for name, number in fields.items():
        struct.pack_into("<H", data, local + places[name][0], number)
        struct.pack_into("<H", data, central + places[name][1], number)
    return bytes(data)


@pytest.mark.parametrize(
    "fields",
    [{"version": 99}, {"flags": 1}, {"method": 97}],
    ids=["a later version", "encrypted", "another method"],
)
def test_archives_that_need_more_are_named(write, fields):
    path = write(patched(zipped(HEADER + "1,2,3\n"), **fields), "bad.zip")
    with pytest.raises(DataError, match="bad.zip cannot be decompressed"):
        read_ratings(path)


def test_names_in_an_archive_are_escaped(write):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        for name in ("a\x1b[31m", "b\nc", *"defgh"):
            out.writestr(name, "1,2,3\n")
    with pytest.raises(DataError, match=r"it holds 7: 'a\\x1b\[31m', 'b\\nc', 'd', 'e', 'f', \.\.\.\.$"):
        read_ratings(write(buffer.getvalue(), "many.zip"))
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as out:
        out.mkdir("folder")
    with pytest.raises(DataError, match=r"exactly one file, it holds 0\.$"):
        read_ratings(write(empty.getvalue(), "none.zip"))


@given(st.integers(0, 2**32 - 1))
def test_a_damaged_archive_is_a_sentence(tmp_path_factory, seed):
    import random

    rng = random.Random(seed)
    content = bytearray(zipped(HEADER + "1,2,3\n" * 5))
    for _ in range(rng.randint(1, 4)):
        content[rng.randrange(4, len(content))] = rng.randrange(256)
    path = tmp_path_factory.mktemp("damage") / "r.zip"
    path.write_bytes(content)
    told = "r.zip"
    try:
        read_ratings(path, duplicates="last")
    except DataError as error:
        told = str(error)
    assert "r.zip" in told


@pytest.mark.parametrize("tail", [b"garbage", b"\x1f\x8b"])
def test_garbage_behind_a_gzip_file_is_an_error(write, tail):
    with pytest.raises(DataError, match="cannot be"):
        read_ratings(write(gzip.compress(b"1,2,3\n") + tail))


@given(
    st.lists(st.text('ab,\r\n"\u2028', max_size=12), max_size=30),
    st.integers(1, 40),
)
def test_lines_are_those_of_python_wherever_blocks_end(tmp_path_factory, parts, block):
    text = "x" + "".join(parts)
    path = tmp_path_factory.mktemp("lines") / "r.txt"
    path.write_bytes(text.encode())
    stream = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", newline="")
    with TextFile(path) as file:
        lines = [line for lines in file._blocks(stream, block) for line in lines]
    assert lines == list(io.StringIO(text, newline=""))
