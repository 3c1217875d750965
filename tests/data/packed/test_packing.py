"""Packed tables hold what `read_ratings` reads, whatever the memory, and nothing half-written passes for one."""

import gzip
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from pyarrow.dataset import dataset

import kolmogorov as km
from helpers.forgery import forged, parts_of
from kolmogorov import Observations, read_ratings
from kolmogorov.data.datasets import planted
from kolmogorov.data.packed import pack_sources, packed_subset
from kolmogorov.data.packed import open_table
from kolmogorov.data.reading.opening import sources_of
from kolmogorov.data.read import Reading
from kolmogorov.data.reading.text.source import TextSource
from kolmogorov.errors import DataError, FileFormatError, FileWriteError, ParameterError


def same(a, b):
    assert a.users == b.users
    assert a.items == b.items
    assert a.scale == b.scale
    assert a.is_binary == b.is_binary
    for order in ("rows", "columns"):
        for part in ("indptr", "indices", "values", "weights"):
            left, right = getattr(getattr(a, order), part), getattr(getattr(b, order), part)
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)
    assert a.fingerprint() == b.fingerprint()


def packed_in_buckets(source, out, limit=3, **options):
    """Pack with buckets of a few records, so that small files go through many."""
    told = Reading(**options)
    pack_sources(sources_of(source, told), out, told, limit)
    return Observations.open(out)


def test_many_files_of_many_kinds_are_one_table(tmp_path):
    table = planted(30, 20, 3, n_observations=200, binary=True).observations
    frame = table.to_frame("pandas")[["user", "item", "rating"]].sample(frac=1.0, random_state=0)
    frame["user"] = "u" + frame["user"].astype(str)
    frame["item"] = "i" + frame["item"].astype(str)
    frame.to_csv(tmp_path / "whole.csv", index=False)
    frame[:50].to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(frame[50:120].to_csv(sep="\t", index=False).encode()))
    frame[120:].to_parquet(tmp_path / "c.parquet", row_group_size=30)
    paths = [tmp_path / name for name in ("a.csv", "b.tsv.gz", "c.parquet")]
    packed = packed_in_buckets(paths, tmp_path / "t.kmt", maximum=1)
    same(packed, read_ratings(tmp_path / "whole.csv", maximum=1))
    same(Observations.open(tmp_path / "t.kmt"), packed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.tsv.gz", "c.parquet", "t.kmt", "whole.csv"]


#: The same records, whatever they come in.
FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "lazy polars": lambda frame: pl.from_pandas(frame).lazy(),
    "table": pa.Table.from_pandas,
    "batches": lambda frame: pa.Table.from_pandas(frame).to_reader(max_chunksize=3),
    "batch": pa.RecordBatch.from_pandas,
    "dataset": lambda frame: dataset(pa.Table.from_pandas(frame)),
    "scanner": lambda frame: dataset(pa.Table.from_pandas(frame)).scanner(batch_size=2),
}


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(-3, 40), st.integers(0, 9), st.integers(0, 5), st.integers(1, 3)), min_size=1),
    st.sampled_from(["mean", "last"]),
    st.booleans(),
    st.integers(1, 9),
)
def test_packing_is_reading(tmp_path_factory, records, duplicates, weighted, limit):
    folder = tmp_path_factory.mktemp("pack")
    (folder / "r.csv").write_text("".join(f"{u},{i},{r},{w}\n" for u, i, r, w in records))
    rules, columns = {"maximum": 5, "duplicates": duplicates}, {"weight": 3} if weighted else {}
    whole = read_ratings(folder / "r.csv", header=False, **rules, **columns)
    same(packed_in_buckets(folder / "r.csv", folder / "t.kmt", limit, header=False, **columns, **rules), whole)
    names = ["user", "item", "value", "weight"]
    frame = pd.DataFrame(records, columns=names)
    named = {"weight": "weight"} if weighted else {}
    for number, form in enumerate(FORMS):
        same(Observations.from_frame(FORMS[form](frame), **rules, **named), whole)
        out = folder / f"{number}.kmt"
        same(packed_in_buckets(FORMS[form](frame), out, limit, **named, **rules), whole)
        same(read_ratings(FORMS[form](frame), **rules, **named), whole)
    arrays = [frame[name].to_numpy() for name in names]
    weights = arrays[3] if weighted else None
    same(Observations.from_arrays(*arrays[:3], weights=weights, **rules), whole)


def test_observations_can_be_packed(tmp_path, zoo):
    packed = km.pack(zoo, tmp_path / "zoo.kmt")
    same(packed, zoo)
    same(pickle.loads(pickle.dumps(packed)), zoo)


# --- errors --------------------------------------------------------------------------------------------------


def test_errors_name_file_and_line(tmp_path):
    good, bad, twice = tmp_path / "good.csv", tmp_path / "bad.csv", tmp_path / "twice.csv"
    good.write_text("user,item,rating\na,x,1\nb,x,2\nc,y,3\nd,z,4\n")
    bad.write_text("user,item,rating\nb,y,2\n\nc,x,much\n")
    twice.write_text("user,item,rating\nd,y,1\nc,y,4\n")
    out = tmp_path / "t.kmt"
    with pytest.raises(DataError, match=r"bad.csv, line 4: value must be a number, got 'much'"):
        km.pack([good, bad], out)
    with pytest.raises(DataError, match=r"twice.csv, line 3: duplicate .*good.csv, line 4\)"):
        packed_in_buckets([good, twice], out)
    with pytest.raises(DataError, match=r"good.csv, line 5: value must be at most the maximum 3, got 4"):
        km.pack([good], out, maximum=3)
    for nothing in ([], [tmp_path / "nowhere.csv"]):
        with pytest.raises(DataError, match="no file"):
            km.pack(nothing, out)
    with pytest.raises(ParameterError, match="'memory' must be a number of bytes .* got 'lots'"):
        km.pack([good], out, memory="lots")
    with pytest.raises(FileWriteError):
        km.pack([good], tmp_path / "no" / "t.kmt")
    assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "good.csv", "twice.csv"]


def test_a_killed_packing_leaves_nothing_that_opens(tmp_path):
    fifo, out = tmp_path / "endless.csv", tmp_path / "t.kmt"
    os.mkfifo(fifo)
    code = f"import kolmogorov as km; km.pack({str(fifo)!r}, {str(out)!r})"
    child = subprocess.Popen([sys.executable, "-c", code])
    with open(fifo, "w") as pipe:
        # A pipe holds far less: when all is written, the child is in the middle.
        pipe.write("user,item,rating\n" + "".join(f"{k},{k % 7},1\n" for k in range(50_000)))
        pipe.flush()
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not out.exists()
    assert not any(path.suffix == ".kmt" and path.is_file() for path in tmp_path.rglob("*"))


def test_ids_of_parquet_columns_are_those_of_read_ratings(tmp_path):
    columns = {
        "digits": ["1", "2", "3"],
        "blanks": [" a", "a", ""],
        "categories": pd.Categorical(["x", "y", "x"], categories=["", "x", "y"]),
        "floats": [1.0, 2.0, 5.0],
        "large": pa.array(["p", "q", "r"], pa.large_string()),
        "unsigned": np.array([1, 2, 3], dtype=np.uint64),
    }
    for ids in columns.values():
        table = pa.table({"user": ids, "item": [1, 2, 3], "value": [0.0, 1.0, 1.0]})
        parquet.write_table(table, tmp_path / "r.parquet")
        same(km.pack(tmp_path / "r.parquet", tmp_path / "t.kmt"), read_ratings(tmp_path / "r.parquet"))
    for ids in (np.array([1, 2**63 + 5], dtype=np.uint64), [1.5, 2.0], [b"a", b"b"]):
        parquet.write_table(pa.table({"user": ids, "item": [1, 2], "value": [0.0, 1.0]}), tmp_path / "r.parquet")
        for read in (read_ratings, lambda path: km.pack(path, tmp_path / "t.kmt")):
            with pytest.raises(DataError, match="ids must"):
                read(tmp_path / "r.parquet")


def test_what_pack_does_not_take(tmp_path, zoo):
    source = tmp_path / "r.csv"
    source.write_text("a,x,1\nb,y,0\n")
    content = source.read_text()
    with pytest.raises(FileWriteError, match="one of the files"):
        km.pack(source, source)
    assert source.read_text() == content
    for wrong in (5, b"path", [zoo], None):
        with pytest.raises(DataError, match="got (int|bytes|Observations|NoneType)"):
            km.pack(wrong, tmp_path / "t.kmt")
    with pytest.raises(ParameterError, match="these options are for files"):
        km.pack(zoo, tmp_path / "t.kmt", maximum=10)
    with pytest.raises(DataError, match="once only"):
        km.pack(["-", "-"], tmp_path / "t.kmt")
    assert len(km.pack(source, tmp_path / "t.kmt", memory="1000TB")) == 2


# --- damage --------------------------------------------------------------------------------------------------


@pytest.fixture
def packed_file(tmp_path, zoo):
    km.pack(zoo, tmp_path / "zoo.kmt")
    return tmp_path / "zoo.kmt"


def test_damage_is_noticed_wherever_it_is(packed_file):
    whole = packed_file.read_bytes()
    _, footer, _ = parts_of(whole)
    used = [section["offset"] for section in footer["sections"].values() if section["shape"] != [0]]
    for place in [0, 9, 100, len(whole) - 1, len(whole) - 60, *used]:
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        packed_file.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            Observations.open(packed_file)
    for size in (0, 5, 20, 5000, len(whole) - 1):
        packed_file.write_bytes(whole[:size])
        with pytest.raises(FileFormatError):
            Observations.open(packed_file)


def _moved(name, other):
    return lambda f: f["sections"][name].update(offset=f["sections"][other]["offset"])


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f["meta"].update(n_items=3),
        lambda f: f["meta"].update(n_users=10**9),
        lambda f: f["sections"]["rows_indices"].update(offset=10**12),
        lambda f: f["sections"]["rows_indices"].update(shape=[-1]),
        lambda f: f["sections"]["rows_indices"].update(dtype="object"),
        _moved("rows_indptr", "rows_values"),
        _moved("users_ids_ends", "rows_indptr"),
        lambda f: f["sections"].pop("columns_values"),
        lambda f: f["meta"].update(scale={"minimum": 2.0, "maximum": 1.0}),
        lambda f: f["meta"].update(scale=None),
        lambda f: f["meta"].update(scale={"minimum": [0], "maximum": [5]}),
        lambda f: f["meta"].update(n_users=float(f["meta"]["n_users"])),
        lambda f: f["meta"].update(fingerprint="0" * 64),
        lambda f: f.update(sections=[]),
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_a_hostile_footer_is_refused(packed_file, change, verify):
    packed_file.write_bytes(forged(packed_file.read_bytes(), change_footer=lambda f: change(f) and None))
    with pytest.raises(FileFormatError):
        Observations.open(packed_file, verify)


@pytest.mark.parametrize("lie", [{"words": {"yes": 10**400}}, {"n_records": None}, {"columns": []}, {"header": 3}])
def test_a_hostile_source_is_refused(tmp_path, lie):
    (tmp_path / "r.csv").write_text("who;film;stars\n1;a;3,5\n2;a;5\n")
    packed = km.pack(tmp_path / "r.csv", tmp_path / "t.kmt")
    changed = forged((tmp_path / "t.kmt").read_bytes(), lambda meta, arrays: meta["source"].update(lie))
    (tmp_path / "u.kmt").write_bytes(changed)
    with pytest.raises(FileFormatError, match="malformed"):
        Observations.open(tmp_path / "u.kmt")
    assert packed.source.decimal == ","


def test_a_packed_table_knows_what_was_understood(tmp_path):
    text = "who;film;stars;day\n" + "".join(f"{k};{k % 3};{1 + k % 5},0;7\n" for k in range(30)) + "0;0;1,0;7\n"
    (tmp_path / "r.csv").write_text(text)
    read = read_ratings(tmp_path / "r.csv", duplicates="last")
    packed = km.pack(tmp_path / "r.csv", tmp_path / "t.kmt", duplicates="last")
    assert packed.source == read.source
    assert packed.source.n_repeats == 1
    assert "Not used: day." in repr(packed)
    for part in packed.split(0.5, random_state=0):
        assert part.source == read.source
    assert km.pack(read, tmp_path / "u.kmt").source == read.source
    assert pickle.loads(pickle.dumps(packed)).source == read.source


def _put(name, place, number):
    def change(meta, arrays):
        arrays[name][place] = number

    return change


def _wrapped(meta, arrays):
    """Differences of neighbours overflow to what a rising sequence would have."""
    arrays["rows_indptr"][1:4] = [2**63 - 1, -(2**63), -1]


#: What compiled code relies on.
PLACES = [
    _wrapped,
    _put("rows_indptr", 2, 0),
    _put("rows_indptr", 0, 1),
    _put("columns_indptr", -1, 5),
    _put("rows_indices", 0, 10**6),
    _put("columns_indices", 0, -1),
    _put("rows_indices", 1, 0),
]
VALUES = [
    _put("columns_values", 3, 0.25),
    _put("rows_values", 0, np.nan),
    _put("rows_values", 0, 0.5),
    lambda meta, arrays: meta.update(binary=False),
]


@pytest.mark.parametrize(
    ("change", "verify"), [*((change, True) for change in PLACES + VALUES), *((change, False) for change in PLACES)]
)
def test_a_forged_table_is_refused_and_its_places_even_unverified(packed_file, change, verify):
    packed_file.write_bytes(forged(packed_file.read_bytes(), change))
    with pytest.raises(FileFormatError, match="malformed"):
        Observations.open(packed_file, verify)


def test_a_table_that_is_only_put_together_again_opens(packed_file, zoo):
    packed_file.write_bytes(forged(packed_file.read_bytes(), lambda meta, arrays: None))
    same(Observations.open(packed_file), zoo)


def test_a_table_that_changes_its_size_while_it_is_used(tmp_path):
    """Reading a mapped page that is no longer there would end the process with a signal."""
    table = km.pack(planted(300, 60, 3, n_observations=6000, noise=0.05).observations, tmp_path / "t.kmt")
    model = km.KolmogorovModel(3, random_state=0, max_iter=4)

    def cut(sweep):
        os.truncate(tmp_path / "t.kmt", 5000)

    with pytest.raises(FileFormatError, match="bytes long when it was opened and is 5000 now"):
        model.set_params(callback=cut).fit(table)
    with pytest.raises(FileFormatError, match="when it was opened"):
        km.BayesianKolmogorovModel(3, n_features=0).fit(table)


# --- use -----------------------------------------------------------------------------------------------------


def test_everything_works_on_a_packed_table(tmp_path):
    table = planted(80, 30, 3, n_observations=1200, noise=0.05).observations
    packed = km.pack(table, tmp_path / "t.kmt")
    options = {"n_events": 3, "random_state": 0, "max_iter": 5}
    here, there = km.KolmogorovModel(**options).fit(table), km.KolmogorovModel(**options).fit(packed)
    assert (here.theta_ == there.theta_).all()
    assert (here.psi_ == there.psi_).all()
    assert [s.objective for s in here.history_] == [s.objective for s in there.history_]
    assert here.evaluate(table) == there.evaluate(packed)
    grid = {"n_events": 3, "user_reg": (1.0, 10.0), "item_reg": 0.0, "refit": False}
    assert km.tune(table, **grid).trials == km.tune(packed, **grid).trials
    there.save(tmp_path / "m.km")
    assert (km.load(tmp_path / "m.km").theta_ == here.theta_).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_of_a_packed_table_are_packed_tables(tmp_path, weighted):
    table = planted(50, 20, 3, n_observations=300, noise=0.1).observations
    if weighted:
        weights = np.random.default_rng(0).integers(1, 5, len(table)).astype(float)
        table = Observations.from_arrays(table.user_rows(), table.item_rows(), table.values, weights=weights)
    packed = km.pack(table, tmp_path / "t.kmt")
    parts = packed.split(0.3, random_state=1)
    paths = [part.path for part in parts]
    for a, b in zip(table.split(0.3, random_state=1), parts, strict=True):
        same(a, b)
    for (a, b), (c, d) in zip(table.folds(3, random_state=2), packed.folds(3, random_state=2), strict=True):
        same(a, c)
        same(b, d)
    assert all(path.exists() for path in paths)
    del parts, b
    assert not any(path.exists() for path in paths)
    mask = np.random.default_rng(3).random(len(table)) < 0.5
    few_at_a_time = packed_subset(open_table(tmp_path / "t.kmt"), mask, limit=40)
    same(Observations.open(few_at_a_time.path), table.subset(mask))
    with pytest.raises(DataError, match="boolean mask"):
        packed.subset(np.ones(3, dtype=bool))


def test_another_table_under_the_same_name(tmp_path, zoo):
    table = km.pack(zoo, tmp_path / "t.kmt")
    pickled = pickle.dumps(table)
    km.pack(planted(5, 4, 2).observations, tmp_path / "t.kmt")
    with pytest.raises(FileFormatError, match="another table"):
        pickle.loads(pickled)


@pytest.mark.long("large tables")
def test_tables_are_gone_through_in_blocks(tmp_path):
    """Of a million entries, when values are summed, and of a quarter of that, when they are checked."""
    table = planted(9000, 160, 3, n_observations=1_200_000, noise=0.1).observations
    options = {"n_events": 3, "learn_from": "ratings", "random_state": 0, "max_iter": 3}
    whole = km.KolmogorovModel(**options).fit(table)
    scores = whole.evaluate(table)
    mapped = km.pack(table, tmp_path / "t.kmt")
    assert len(list(mapped.rows.blocks())) > 1
    same(mapped, table)
    model = km.KolmogorovModel(**options).fit(mapped)
    assert (model.theta_ == whole.theta_).all()
    assert model.history_[-1].objective == pytest.approx(whole.history_[-1].objective, rel=1e-12)
    assert model.evaluate(mapped) == pytest.approx(scores, rel=1e-12)
    np.testing.assert_array_equal(model.predict(mapped), whole.predict(table))
    model.save(tmp_path / "m.km")
    again = km.load(tmp_path / "m.km")
    np.testing.assert_array_equal(again.fitted_.training.values, table.values)
    same(Observations.open(tmp_path / "t.kmt"), table)


def test_a_chunk_with_one_rating_only(tmp_path):
    """The scale is that of the whole table, not of what is read at a time."""
    path, out = tmp_path / "r.csv", tmp_path / "t.kmt"
    path.write_text("a,x,5\nb,x,5\nc,x,1\nd,y,2\n")

    def packed(**rules):
        pack_sources([TextSource(path, Reading(), chunk=2)], out, Reading(**rules), 1000)
        return Observations.open(out)

    for options in ({"maximum": 5}, {}, {"minimum": 0}):
        options = {"scaling": "minmax", **options}
        same(packed(**options), read_ratings(path, **options))
    with pytest.raises(DataError, match="line 1: value must be at most the maximum 4, got 5"):
        packed(maximum=4, scaling="minmax")
    with pytest.raises(ParameterError):
        km.pack(path, out, maximum="5")


def test_a_forked_process_leaves_the_parts_alone(tmp_path, zoo):
    code = (
        "import os, sys, kolmogorov as km\n"
        f"train, test = km.Observations.open({str(tmp_path / 't.kmt')!r}).split(0.2, random_state=0)\n"
        "if os.fork() == 0:\n    sys.exit(0)\n"
        "os.wait()\nassert train.path.exists() and test.path.exists()\n"
    )
    km.pack(zoo, tmp_path / "t.kmt")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.long("large tables")
def test_pages_that_were_used_are_let_go(tmp_path):
    """After a pass that forgets, the mapping takes no memory."""
    table = km.pack(planted(2000, 1000, 2, n_observations=500_000).observations, tmp_path / "t.kmt")
    view = table.rows

    def resident():
        text = Path("/proc/self/smaps").read_text()
        lines = text[text.index("t.kmt") :].splitlines()
        return int(next(line for line in lines if line.startswith("Rss")).split()[1])

    for first, last in view.blocks():
        view.values[view.indptr[first] : view.indptr[last]].sum()
    assert resident() > 3000
    for first, last in view.blocks(1 << 16):
        view.forget(first, last)
    assert resident() < 500
