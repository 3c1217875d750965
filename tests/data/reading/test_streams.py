"""Arrow streams and data frames come in batch by batch, and make the same table as arrays and files do."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import kolmogorov as km
import naive
from kolmogorov import Observations, read_ratings
from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.frames.arrow import ArrowSource
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.frames.sources import FrameSource
from kolmogorov.data.reading.gathering import gathered
from kolmogorov.data.read import Reading
from kolmogorov.errors import DataError

COLUMNS = {"user": ["bo", "ann", "bo", "cy"], "item": [3, 1, 1, 3], "value": [5.0, 0.0, 2.5, 1.0]}
EXPECTED = {("ann", 1): 0.0, ("bo", 1): 0.5, ("bo", 3): 1.0, ("cy", 3): 0.2}


class Relation:
    """Has nothing but what Arrow asks for, as a relation of a database has."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def reader(columns=COLUMNS, rows=1, **more):
    return pa.table(columns | more).to_reader(max_chunksize=rows)


def failing():
    yield pa.record_batch(COLUMNS)
    raise OSError("the connection is lost")


WAYS = {
    "from_frame": lambda stream, folder, **options: Observations.from_frame(stream, **options),
    "read_ratings": lambda stream, folder, **options: read_ratings(stream, **options),
    "pack": lambda stream, folder, **options: km.pack(stream, folder / "t.kmt", **options),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS)


@EVERY_WAY
@pytest.mark.parametrize(
    "make",
    [
        reader,
        lambda: Relation(pa.table(COLUMNS)),
        lambda: Relation(pl.DataFrame(COLUMNS)),
        lambda: pa.RecordBatchReader.from_stream(pl.DataFrame(COLUMNS, schema_overrides={"user": pl.Categorical})),
        lambda: reader(user=pa.array(COLUMNS["user"]).dictionary_encode(), rows=2),
        lambda: reader(item=pa.array(COLUMNS["item"], pa.uint8()).dictionary_encode()),
        lambda: reader(item=pa.array(COLUMNS["item"], pa.float32())),
        lambda: reader(value=pa.array(["5", "0", "2.5", "1"])),
        lambda: pl.DataFrame(COLUMNS).lazy(),
    ],
)
def test_streams_of_every_make(make, way, tmp_path):
    assert naive.cells(WAYS[way](make(), tmp_path, maximum=5)) == EXPECTED


@EVERY_WAY
def test_a_file_of_duckdb(way, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(str(tmp_path / "ratings.duckdb")) as database:
        database.from_arrow(pa.table(COLUMNS)).create("ratings")
        assert naive.cells(WAYS[way](database.sql("from ratings"), tmp_path, maximum=5)) == EXPECTED
        assert naive.cells(WAYS[way](database.execute("from ratings"), tmp_path, maximum=5)) == EXPECTED


@EVERY_WAY
def test_a_cursor_of_adbc(way, tmp_path):
    driver = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="adbc_driver_sqlite is not installed")
    with driver.connect(str(tmp_path / "ratings.db")) as database, database.cursor() as cursor:
        cursor.adbc_ingest("ratings", pa.table(COLUMNS))
        cursor.execute("select * from ratings")
        assert naive.cells(WAYS[way](cursor, tmp_path, maximum=5)) == EXPECTED


def test_a_stream_is_never_there_as_a_whole():
    made = []

    def batches():
        for number in range(5):
            made.append(number)
            yield pa.record_batch({"user": [number], "item": [1], "value": [1.0]})

    schema = pa.schema({"user": pa.int64(), "item": pa.int64(), "value": pa.float64()})
    chunks = ArrowSource(pa.RecordBatchReader.from_batches(schema, batches()), TableForm(Reading())).chunks()
    for number, chunk in enumerate(chunks):
        assert made == list(range(number + 1))
        assert chunk.users.tolist() == [number]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_size_of_batches_does_not_matter(size):
    whole = Observations.from_frame(pd.DataFrame(COLUMNS))
    for source in (
        FrameSource(frame_of(pd.DataFrame(COLUMNS)), TableForm(Reading()), batch=size),
        ArrowSource(pa.table(COLUMNS), TableForm(Reading()), batch=size),
    ):
        assert Observations(*gathered([source], Reading())).fingerprint() == whole.fingerprint()


@EVERY_WAY
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item": [3, 1, None, 3]}, "^row 2: column 'item' is empty"),
        ({"value": [5.0, 1.0, 2.0, 6.0]}, "^row 3: value must be at most the maximum 5, got 6"),
        ({"value": [5.0, float("nan"), 2.0, 6.0]}, "^row 1: value must be finite, got nan"),
        ({"value": ["5", "4", "much", "1"]}, "^row 2: .* got 'much'"),
        ({"value": pa.array([1, 2, 3, 4], pa.timestamp("s"))}, "^row 0: value must be a number"),
        ({"item": [3.0, 1.0, 1.5, 3.0]}, "^row 2: item ids must"),
        ({"item": [b"a", b"b", b"c", b"d"]}, "^row 0: item ids must"),
        ({"item": [3, 1, 3, 3]}, r"^row 2: duplicate rating of user 'bo' and item 3 "),
        ({"user": [[1], [2], [3], [4]]}, "^row 0: user ids must be integers or strings, the column holds list"),
    ],
)
def test_errors_name_the_row_of_the_stream(way, columns, message, tmp_path):
    with pytest.raises(DataError, match=message):
        WAYS[way](reader(COLUMNS | columns), tmp_path, maximum=5)


@EVERY_WAY
def test_a_stream_without_content_and_one_that_breaks(way, tmp_path):
    with pytest.raises(DataError, match="There are no observations here"):
        WAYS[way](pa.table(COLUMNS)[:0], tmp_path)
    schema = pa.table(COLUMNS).schema
    with pytest.raises(DataError, match="The stream cannot be read: .*the connection is lost"):
        WAYS[way](pa.RecordBatchReader.from_batches(schema, failing()), tmp_path)
    with pytest.raises(DataError, match="which column is the (user|item). It has: 'a'"):
        WAYS[way](pa.table({"a": [1]}), tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_pyarrow_the_command_is_named(monkeypatch):
    import kolmogorov._support.optional as optional

    monkeypatch.setattr(optional, "installed", lambda module: False)
    with pytest.raises(ImportError, match=r"pip install '.\[parquet\]'"):
        Observations.from_frame(Relation(pa.table(COLUMNS)))
    assert len(Observations.from_frame(pd.DataFrame(COLUMNS))) == 4


def test_several_sources_are_one_table(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,rating\nbo,x,5\nann,y,1\n")
    parquet.write_table(pa.table({"user": ["cy"], "item": ["x"], "rating": [4.0]}), tmp_path / "b.parquet")
    frame = pd.DataFrame({"user": ["ann"], "item": ["x"], "rating": [2]})
    relation = Relation(pa.Table.from_pandas(frame.assign(item="z")))
    sources = [tmp_path / "a.csv", tmp_path / "b.parquet", frame, relation]
    whole = read_ratings(sources)
    cells = {("bo", "x"): 1.0, ("ann", "y"): 0.2, ("cy", "x"): 0.8, ("ann", "x"): 0.4, ("ann", "z"): 0.4}
    assert naive.cells(whole) == cells
    assert km.pack(sources, tmp_path / "t.kmt").fingerprint() == whole.fingerprint()
    again = pd.DataFrame({"user": ["ann"], "item": ["y"], "rating": [2]})
    for read in (read_ratings, lambda given: km.pack(given, tmp_path / "t.kmt")):
        with pytest.raises(DataError, match=r"^row 0: duplicate rating .* \(first at .*a.csv, line 3\)"):
            read([*sources, again])
        with pytest.raises(DataError, match="^row 0: the user ids are integers here and texts in what came before"):
            read([*sources, pd.DataFrame({"user": [1], "item": ["y"], "rating": [2]})])


def test_what_cannot_be_read():
    for wrong in (5, b"ratings.csv", None, {"user": [1]}, [3], [None]):
        with pytest.raises(DataError, match="Expected paths, data frames, Arrow streams or cursors of a database, got"):
            read_ratings(wrong)
    with pytest.raises(DataError, match="There are no files"):
        read_ratings([])


def test_rows_of_parquet_files_are_counted_over_row_groups(tmp_path):
    values = np.ones(10)
    values[7] = -1
    table = pa.table({"user": range(10), "item": range(10), "value": values})
    parquet.write_table(table, tmp_path / "r.parquet", row_group_size=3)
    with pytest.raises(DataError, match=r"r.parquet, row 7: value must not be negative, got -1"):
        read_ratings(tmp_path / "r.parquet", maximum=1)


def test_observations_in_memory_travel():
    table = Observations.from_frame(pd.DataFrame(COLUMNS))
    for twin in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert twin.fingerprint() == table.fingerprint()
        assert twin.path is None
        assert naive.cells(twin) == naive.cells(table)
        with pytest.raises(AttributeError, match="immutable"):
            twin.rows = None


@pytest.mark.parametrize("form", ["views", "runs", "gaps"])
def test_columns_in_odd_forms_of_arrow(form):
    columns = {name: pa.array(cells) for name, cells in COLUMNS.items()}
    if form == "views":
        columns["user"] = columns["user"].cast(pa.string_view())
        columns["value"] = columns["value"].cast(pa.string()).cast(pa.string_view())
    elif form == "runs":
        ends = pa.array([1, 2, 3, 4], pa.int32())
        columns = {name: pa.RunEndEncodedArray.from_arrays(ends, cells) for name, cells in columns.items()}
    else:
        texts = pa.array(["bo", None, "ann", "cy"])
        columns["user"] = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0, 3]), texts)
    assert naive.cells(read_ratings(pa.table(columns), maximum=5)) == EXPECTED


def test_a_dictionary_whose_text_is_missing_is_refused():
    users = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2]), pa.array(["bo", None, "cy"]))
    with pytest.raises(DataError, match="empty"):
        read_ratings(pa.table({name: pa.array(cells) for name, cells in COLUMNS.items()} | {"user": users}))


@pytest.mark.parametrize("role", ["user", "value"])
def test_texts_that_are_no_unicode_are_refused(role):
    ends = pa.py_buffer(np.arange(5, dtype=np.int32).tobytes())
    columns = {name: pa.array(cells) for name, cells in COLUMNS.items()}
    columns[role] = pa.StringArray.from_buffers(4, ends, pa.py_buffer(b"\xff" * 4))
    with pytest.raises(DataError, match="cannot be read"):
        read_ratings(pa.table(columns))


def test_damaged_parquet_is_refused_or_read(tmp_path):
    parquet.write_table(pa.table(COLUMNS), tmp_path / "whole.parquet")
    whole, path = (tmp_path / "whole.parquet").read_bytes(), tmp_path / "damaged.parquet"
    outcomes = set()
    for seed in range(150):
        rng, content = np.random.default_rng(seed), bytearray(whole)
        for _ in range(rng.integers(1, 5)):
            content[rng.integers(len(content))] = int(rng.integers(256))
        path.write_bytes(bytes(content))
        try:
            outcomes.add(len(read_ratings(path)) > 0)
        except DataError as error:
            outcomes.add(bool(str(error)))
    assert outcomes == {True}
