import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from kolmogorov import read_ratings
from kolmogorov.data.reading.gathering import gathered
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.text.source import TextSource, read_pairs
from kolmogorov.errors import DataError, ParameterError

EXPECTED = {(1, 10): 0.8, (1, 20): 1.0, (2, 10): 0.0}
ROWS = [("1", "10", "4"), ("1", "20", "5"), ("2", "10", "0")]


def text(sep, header=None, rows=ROWS, end="\n"):
    lines = ([header] if header else []) + [sep.join(row) for row in rows]
    return end.join(lines) + end


@pytest.fixture
def write(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.mark.parametrize("sep", [",", "\t", "::", ";", "|", " ", "   "])
@pytest.mark.parametrize("header", [None, ["userId", "movieId", "rating"], ["a", "b", "c"]])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_and_headers_are_recognised(write, sep, header, end):
    path = write(text(sep, sep.join(header) if header else None, end=end))
    assert naive.cells(read_ratings(path)) == EXPECTED


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("r.csv.gz", gzip.compress),
        ("r.csv.xz", lzma.compress),
        ("r.csv.bz2", bz2.compress),
        ("misnamed", gzip.compress),
    ],
)
def test_compressed_files(write, name, pack):
    assert naive.cells(read_ratings(write(pack(text(",").encode()), name))) == EXPECTED


def test_zip_holds_one_file(write):
    def archive(**members):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as out:
            for name, content in members.items():
                out.writestr(name, content)
        return buffer.getvalue()

    assert naive.cells(read_ratings(write(archive(a=text(",")), "r.zip"))) == EXPECTED
    with pytest.raises(DataError, match="exactly one file, it holds 2: 'a', 'b'"):
        read_ratings(write(archive(a=text(","), b=text(",")), "two.zip"))


def test_parquet(tmp_path):
    path = tmp_path / "ratings.parquet"
    frame = pd.DataFrame({"rating": [4, 5, 0], "movie_id": [10, 20, 10], "user_id": [1, 1, 2]})
    frame.to_parquet(path)
    assert naive.cells(read_ratings(path)) == EXPECTED
    with pytest.raises(DataError, match=r"ratings.parquet has no column 'stars'"):
        read_ratings(path, value="stars")
    frame.assign(rating=[1, -1, 1]).to_parquet(path)
    with pytest.raises(DataError, match=r"ratings.parquet, row 1: value must not be negative"):
        read_ratings(path, maximum=5)
    path.write_text("not parquet")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read_ratings(path)


def test_parquet_without_pyarrow_names_the_command(tmp_path, monkeypatch):
    import kolmogorov._support.optional as optional

    monkeypatch.setattr(optional, "installed", lambda module: False)
    with pytest.raises(ImportError, match=r"pip install '.\[parquet\]'"):
        read_ratings(tmp_path / "x.parquet")


def test_columns_by_name_and_position(write):
    path = write("when,stars,film,who,n\n7,4,10,1,2\n7,5,20,1,1\n7,0,10,2,9\n")
    by_name = read_ratings(path, user="who", item="film", value="stars", weight="n")
    by_place = read_ratings(path, user=3, item=2, value=1, weight=4)
    for obs in (by_name, by_place):
        assert naive.cells(obs) == EXPECTED
        assert obs.weights.tolist() == [2.0, 1.0, 9.0]
    headless = write("7 4 10 1\n7 5 20 1\n7 0 10 2\n", "headless")
    assert naive.cells(read_ratings(headless, user=3, item=2, value=1)) == EXPECTED


def test_ids_are_integers_only_where_all_are(write):
    assert read_ratings(write("1,a,1\n02,b,1\n")).users.ids.tolist() == ["02", "1"]
    assert read_ratings(write("1,a,1\n-2,b,1\n")).users.ids.tolist() == [-2, 1]
    assert read_ratings(write("1,-0,1\n2,0,1\n")).items.ids.tolist() == ["-0", "0"]


def test_quotes_titles_and_unicode(write):
    obs = read_ratings(write('user,title,rating\n"ann","Good, Bad\nand Ugly",5\n"Zoë","Ünï",1\n'))
    assert naive.cells(obs) == {("ann", "Good, Bad\nand Ugly"): 1.0, ("Zoë", "Ünï"): 0.2}
    assert len(read_ratings(write("﻿user,item,rating\nx,y,1\n"))) == 1
    assert len(read_ratings(write("user,item,rating\nx,é,1\n".encode("latin-1")), encoding="latin-1")) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2,3\n1,3,abc\n", r"ratings.csv, line 2: value must be a number, got 'abc'"),
        ("u,i,r\n1,2,3\n\n1,3,4_0\n", r"line 4: value must be a number, got '4_0'"),
        ("1,2,\n", r"line 1: value must be a number, got ''"),
        ("1,2,3\n1,3,nan\n", r"line 2: value must be finite, got nan"),
        ("1,2,3\n1,3,inf\n", r"line 2: value must be finite, got inf"),
        ("1,2,3\n1,3\n", r"line 2: expected 3 fields as in the first line, got 2"),
        ("1,2,3\n\n1,3,1,9\n", r"line 3: expected 3 fields as in the first line, got 4"),
        ("1,2,3\n1,3,4\n1,2,5\n", r"line 3: duplicate rating of user 1 and item 2 \(first at .*line 1\)"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("user,item,rating\n", "holds no ratings below its header"),
        ("1,2\n", "expected at least 3 columns .* If every line is a yes, .* say only_yes=True"),
        (b"\x00\x01\x02binary", "is not a text file"),
        (b"user,item,rating\n\xff\xfe,1,2\n", "is not text in encoding utf-8"),
        (b"1,a\x00b,1\n" * 3, "is not a text file"),
        (b"\x1f\x8b garbage that is not gzip", "cannot be"),
        (gzip.compress(text(",").encode(), mtime=0)[:-12], "cannot be"),
        ('a,"b\n1,3', "expected|at least 3"),
    ],
)
def test_bad_files_are_named_with_their_line(write, content, message):
    with pytest.raises(DataError, match=message):
        read_ratings(write(content))


def test_bad_maximum_weight_and_columns(write, tmp_path):
    path = write("user,item,rating,n\n1,2,3,1\n1,3,6,0\n")
    with pytest.raises(DataError, match="line 3: value must be at most the maximum 5, got 6"):
        read_ratings(path, maximum=5)
    with pytest.raises(DataError, match="line 3: weight must be positive, got 0"):
        read_ratings(path, weight="n")
    with pytest.raises(DataError, match=r"no column 'ratings'.*Did you mean 'rating'\?"):
        read_ratings(path, value="ratings")
    with pytest.raises(DataError, match="columns 0 to 3, but the value is set to column 4"):
        read_ratings(path, value=4)
    with pytest.raises(DataError, match="which column is the user"):
        read_ratings(write("movieId,rating,who\n1,2,3\n"))
    with pytest.raises(ParameterError, match="only where the file has a header"):
        read_ratings(path, user="user", header=False)
    with pytest.raises(DataError, match="There is no file"):
        read_ratings(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="is a directory, and there are no parquet files in it"):
        read_ratings(tmp_path)
    with pytest.raises(DataError, match="no encoding"):
        read_ratings(path, encoding="klingon")


def test_line_numbers_survive_breaks_inside_quotes(write):
    with pytest.raises(DataError, match="line 5: value must be a number, got 'x'"):
        read_ratings(write('user,item,rating\n1,"two\nlines",3\n\n1,b,x\n'))


def test_line_numbers_across_chunks(write):
    body = "".join(f"{k},0,1\n" for k in range(10))
    path = write("user,item,rating\n" + body + "4,0,1\n")
    with pytest.raises(DataError, match=r"line 12: duplicate rating of user 4 and item 0 \(first at .*line 6\)"):
        gathered([TextSource(path, ReadingOptions(), chunk=3)], ReadingOptions())


def test_the_choice_of_maximum_is_reported(write, caplog):
    with caplog.at_level("INFO", logger="kolmogorov"):
        read_ratings(write(text(",")))
    assert "maximum taken as 5, so p = r / 5" in caplog.text
    caplog.clear()
    read_ratings(write(text(",")), maximum=5)
    assert "maximum" not in caplog.text


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


def test_pairs(write):
    assert read_pairs(write("user,item\n1,2\n3,4\n"), ReadingOptions()) == (["1", "3"], ["2", "4"])
    assert read_pairs(write("ann tea\nbob rum\n"), ReadingOptions()) == (["ann", "bob"], ["tea", "rum"])
    with pytest.raises(DataError, match="no pairs"):
        read_pairs(write("user,item\n"), ReadingOptions())


def test_standard_input(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(text(",").encode()))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert naive.cells(read_ratings("-")) == EXPECTED


def test_many_distinct_values(write):
    numbers = np.random.default_rng(0).random(2000)
    path = write("".join(f"{k},0,{value!r}\n" for k, value in enumerate(numbers.tolist())))
    assert np.array_equal(read_ratings(path, maximum=1).values, numbers)


def test_blank_ids_are_refused_with_their_line(write):
    with pytest.raises(DataError, match="line 3: the item must be an id, got nothing"):
        read_ratings(write("user,item,rating\n1,10,3\n1,,4\n"))
    with pytest.raises(DataError, match="line 1: the user must be an id, got nothing"):
        read_ratings(write(" ,10,3\n1,2,4\n"), header=False)


def test_lines_of_blanks_are_blank_lines(write):
    assert naive.cells(read_ratings(write("   \nuser,item,rating\n1,10,4\n  \n1,20,5\n2,10,0\n"))) == EXPECTED
    with pytest.raises(DataError, match="line 4: value must be a number"):
        read_ratings(write("user,item,rating\n1,10,4\n  \n1,20,x\n"))


def test_columns_by_position_where_names_repeat(write):
    assert (
        naive.cells(read_ratings(write("id,id,rating\n1,10,4\n1,20,5\n2,10,0\n"), user=0, item=1, value=2)) == EXPECTED
    )


def test_an_id_column_is_preferred_to_a_title(write):
    obs = read_ratings(write("userId,title,movieId,rating\n1,Alien,10,4\n"))
    assert obs.items.ids.tolist() == [10]


def test_unbalanced_quotes_do_not_swallow_lines(write):
    with pytest.raises(DataError, match="line 3: .*quote"):
        read_ratings(write('1,x,2\n1,"abc,3\n2,"d,4\n'))


def test_undecodable_text_names_its_line_and_utf_16_is_recognised(write):
    with pytest.raises(DataError, match=r"ratings.csv, line 3002, is not text in encoding utf-8"):
        read_ratings(write(b"user,item,rating\n" + b"".join(b"%d,1,1\n" % k for k in range(3000)) + b"\xff,1,1\n"))
    found = read_ratings(write("user,item,rating\nZoë,2,3\n".encode("utf-16")))
    assert (found.users.ids.tolist(), found.source.layout.encoding) == (["Zoë"], "utf-16")
    with pytest.raises(DataError, match="not a text file in this encoding"):
        read_ratings(write("user,item,rating\n1,2,3\n".encode("utf-16")), encoding="utf-8")


def test_what_windows_writes_is_recognised(write):
    text = "user,item,rating\nJosé,Fräulein Müller’s Café – ½,3\nÄnne,Crème brûlée,5\n"
    for content in (text.encode("cp1252"), gzip.compress(text.encode("cp1252"))):
        found = read_ratings(write(content))
        assert found.users.ids.tolist() == ["José", "Änne"]
        assert found.source.layout.encoding == "cp1252"
    assert read_ratings(write(text)).source.layout.encoding == "utf-8"
    # Far down is told as well as at the top.
    late = "user,item,rating\n" + "".join(f"{k},1,1\n" for k in range(50_000)) + "José,1,1\n"
    assert "José" in read_ratings(write(late.encode("latin-1"))).users.ids


@pytest.mark.parametrize(
    ("text", "encoding"), [("Привет", "cp1251"), ("Καλημέρα", "cp1253"), ("こんにちは", "shift_jis")]
)
def test_other_alphabets_are_not_guessed(text, encoding, write):
    path = write(f"user,item,rating\n{text},a,1\nbob,a,0\n".encode(encoding))
    with pytest.raises(DataError, match="name its encoding with encoding="):
        read_ratings(path)
    assert text in read_ratings(path, encoding=encoding).users.ids


def test_a_tab_can_be_typed_in_a_shell(write):
    assert naive.cells(read_ratings(write(text("\t")), sep="\\t")) == EXPECTED
    with pytest.raises(ParameterError, match="'sep' must be"):
        read_ratings(write(text(",")), sep=None)
