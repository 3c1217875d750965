"""Packed tables hold what `read_ratings` reads, and nothing half-written, damaged or forged passes for one."""

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

import kolmogorov as km
from kolmogorov import Observations, read_ratings
from kolmogorov.data.datasets import planted
from kolmogorov.errors import DataError, FileFormatError, FileWriteError, KolmogorovError, ParameterError


def same(a, b):
    assert (a.users, a.items, a.scale, a.is_binary) == (b.users, b.items, b.scale, b.is_binary)
    for names, others in ((a.users, b.users), (a.items, b.items)):
        assert (names.labels is None and others.labels is None) or (names.labels == others.labels).all()
    for order in ("rows", "columns"):
        for part in ("indptr", "indices", "values", "weights"):
            left, right = getattr(getattr(a, order), part), getattr(getattr(b, order), part)
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)
    assert a.fingerprint() == b.fingerprint()


def rated(weighted=True):
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, 24).astype(float) if weighted else None
    users, items = np.repeat(np.arange(6), 4), np.tile([3, 5, 8, 11], 6)
    table = Observations.from_arrays(users, items, rng.integers(1, 6, 24), weights=weights, maximum=5)
    return table.with_titles(items={3: "Three", 5: "<script>"})


@pytest.fixture
def packed(tmp_path):
    return km.pack(rated(), tmp_path / "table").path


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_packed_table_is_the_table(tmp_path, zoo, weighted):
    for number, table in enumerate((rated(weighted), zoo)):
        packed = km.pack(table, tmp_path / str(number))
        same(packed, table)
        same(Observations.open(packed.path), table)
        same(km.pack(packed, tmp_path / f"again {number}"), table)
        for a, b in zip(table.split(0.3, random_state=1), packed.split(0.3, random_state=1), strict=True):
            same(a, b)


def test_many_files_are_one_table_that_knows_what_was_understood(tmp_path):
    lines = [f"{k};{k % 3};{1 + k % 5},0;7\n" for k in range(30)]
    header, paths = "who;film;stars;day\n", [tmp_path / "a.csv", tmp_path / "b.csv"]
    paths[0].write_text(header + "".join(lines[:20]))
    paths[1].write_text(header + "".join(lines[20:]) + "0;0;1,0;7\n")
    read, packed = read_ratings(paths, duplicates="last"), km.pack(paths, tmp_path / "t", duplicates="last")
    same(packed, read)
    assert packed.source == read.source == pickle.loads(pickle.dumps(packed)).source
    assert "1 repeated" in str(packed.source)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv", "t"]


def test_what_is_not_packed(tmp_path, zoo):
    good, twice, out = tmp_path / "good.csv", tmp_path / "twice.csv", tmp_path / "t"
    good.write_text("user,item,rating\na,x,1\nb,x,2\nc,y,3\nd,z,4\n")
    twice.write_text("user,item,rating\nd,y,1\nc,y,4\n")
    for nothing, words in (
        (5, None),
        ([zoo], None),
        ([], None),
        ([good, twice], r"twice.csv, line 3: .*good.csv, line 4"),
    ):
        with pytest.raises(DataError, match=words):
            km.pack(nothing, out)
    with pytest.raises(ParameterError):
        km.pack(zoo, out, maximum=10)
    for taken in (good, tmp_path, tmp_path / "no" / "t"):
        with pytest.raises(FileWriteError, match=str(taken)):
            km.pack(good, taken)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.csv", "twice.csv"]


def test_a_killed_packing_leaves_nothing_that_opens(tmp_path):
    """It is killed when all is written but what says that it is whole."""
    code = (
        "import os, signal, kolmogorov as km, kolmogorov.data.packed as packed\n"
        "packed.asdict = lambda scale: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"km.pack(km.datasets.load('zoo'), {str(tmp_path / 't')!r})"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with pytest.raises(FileFormatError):
        Observations.open(left)


def test_a_table_takes_the_place_of_another(tmp_path, zoo, monkeypatch):
    table, other = km.pack(zoo, tmp_path / "t"), planted(5, 4, 2).observations
    pickled = pickle.dumps(table.with_titles(items={"milk": "Milch"}))
    same(again := pickle.loads(pickled), zoo.with_titles(items={"milk": "Milch"}))
    assert again.path == table.path
    same(km.pack(other, tmp_path / "t"), other)
    same(table, zoo)
    with pytest.raises(FileFormatError, match="another table"):
        pickle.loads(pickled)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kolmogorov.data.packed._write", full)
    with pytest.raises(FileWriteError, match="No space left"):
        km.pack(zoo, tmp_path / "t")
    same(Observations.open(tmp_path / "t"), other)
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


# --- use -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_fits_have_the_bits_of_the_table_in_memory(tmp_path, monkeypatch, weighted):
    monkeypatch.setattr("kolmogorov.data.view.BLOCK", 100)
    table = planted(80, 30, 3, n_observations=1200, noise=0.05).observations
    if weighted:
        weights = np.random.default_rng(0).integers(1, 5, len(table)).astype(float)
        table = Observations.from_arrays(table.user_rows(), table.item_rows(), table.values, weights=weights)
    packed = km.pack(table, tmp_path / "t")
    for model in (
        lambda: km.KolmogorovModel(3, random_state=0, max_iter=5, learn_from="ratings"),
        lambda: km.BayesianKolmogorovModel(3, n_chains=1, burn_in=3, n_samples=2, random_state=0),
    ):
        here, there = model().fit(table), model().fit(packed)
        assert (here.fitted_.theta == there.fitted_.theta).all()
        assert (here.fitted_.psi == there.fitted_.psi).all()
        assert here.evaluate(table) == there.evaluate(packed)
        np.testing.assert_array_equal(here.predict(table), there.predict(packed))
    there.save(tmp_path / "m.km")
    same(km.load(tmp_path / "m.km").fitted_.training, table)


def test_a_table_that_changes_its_size_while_it_is_used(tmp_path):
    """Reading a mapped page that is no longer there would end the process with a signal."""
    table = km.pack(planted(300, 60, 3, n_observations=6000, noise=0.05).observations, tmp_path / "t")

    def cut(sweep):
        os.truncate(tmp_path / "t" / "users.arrow", 5000)

    with pytest.raises(FileFormatError, match="when it was opened"):
        km.KolmogorovModel(3, random_state=0, learn_from="ratings", max_iter=4, callback=cut).fit(table)
    with pytest.raises(FileFormatError, match="when it was opened"):
        km.BayesianKolmogorovModel(3, n_features=0).fit(table)


@pytest.mark.long("large tables")
def test_pages_that_were_used_are_let_go(tmp_path):
    """After a pass over it, the mapping takes no memory."""
    table = km.pack(planted(2000, 1000, 2, n_observations=500_000).observations, tmp_path / "t")

    def resident():
        text = Path("/proc/self/smaps").read_text()
        lines = text[text.index(str(table.path / "users.arrow")) :].splitlines()
        return int(next(line for line in lines if line.startswith("Rss")).split()[1])

    table.rows.values.sum()
    assert resident() > 3000
    assert table.rows.extent is not None
    assert resident() < 500


# --- damage and forgery ---------------------------------------------------------------------------------------------


def told(change):
    """Change what `table.json` says."""

    def forge(folder):
        path = folder / "table.json"
        about = json.loads(path.read_text())
        change(about)
        path.write_text(json.dumps(about))

    return forge


def put(side, array, place, *found):
    """Write other numbers into an array."""

    def forge(folder):
        path = folder / f"{side}.arrow"
        whole = pa.py_buffer(path.read_bytes())
        batch = ipc.open_file(whole).get_batch(0)
        entries = batch["entries"]
        arrays = {"indptr": entries.offsets, "ids": batch["id"], "titles": batch["title"] if side == "items" else None}
        arrays |= {kind.name: entries.values.field(k) for k, kind in enumerate(entries.values.type)}
        buffer = arrays[array].buffers()[-1]
        kind = {"ids": np.uint8, "titles": np.uint8, "indptr": np.int64, "indices": np.int32}.get(array, np.float64)
        changed, size = np.array(found, kind), len(entries) + 1 if array == "indptr" else 24
        with open(path, "r+b") as stream:
            stream.seek(buffer.address - whole.address + (place % size) * changed.itemsize)
            stream.write(changed.tobytes())

    return forge


def again(change, **options):
    """Write the users' file again with other columns."""

    def forge(folder):
        batch = ipc.open_file(folder / "users.arrow").get_batch(0)
        columns = change({name: batch[name] for name in batch.schema.names})
        batch = pa.RecordBatch.from_pydict(columns)
        with ipc.new_file(folder / "users.arrow", batch.schema, options=ipc.IpcWriteOptions(**options)) as writer:
            writer.write_batch(batch)

    return forge


def entries(change):
    """Write the users' file again with other arrays of entries."""

    def changed(columns):
        lists = columns["entries"]
        arrays = {kind.name: lists.values.field(k) for k, kind in enumerate(lists.values.type)}
        arrays = change(arrays)
        inner = pa.StructArray.from_arrays(list(arrays.values()), names=list(arrays))
        return columns | {"entries": pa.LargeListArray.from_arrays(lists.offsets, inner)}

    return again(changed)


#: What would crash a process, or hold more than it says.
HOSTILE = {
    "no columns": lambda folder: (folder / "items.arrow").unlink(),
    "an empty file": lambda folder: (folder / "users.arrow").write_bytes(b""),
    "a shorter file": lambda folder: os.truncate(folder / "users.arrow", 1000),
    "a folder": lambda folder: ((folder / "users.arrow").unlink(), (folder / "users.arrow").mkdir()),
    "no JSON": lambda folder: (folder / "table.json").write_text("{"),
    "deep JSON": lambda folder: (folder / "table.json").write_text("[" * 100_000),
    "no scale": told(lambda about: about.update(scale=None)),
    "a source of another kind": told(lambda about: about.update(source=[])),
    "compressed": again(lambda columns: columns, compression="zstd"),
    "numbers for ids": again(lambda columns: columns | {"id": pa.array(range(6))}),
    "no entries": again(lambda columns: columns | {"entries": pa.array(range(6))}),
    "short offsets": again(
        lambda columns: columns | {"entries": columns["entries"].cast(pa.list_(columns["entries"].type.value_type))}
    ),
    "fewer users": again(lambda columns: {name: column[:4] for name, column in columns.items()}),
    "no weights": entries(lambda arrays: {name: arrays[name] for name in ("indices", "values")}),
    "no values": entries(lambda arrays: {name: arrays[name] for name in ("indices", "weights")}),
    "other values": entries(lambda arrays: arrays | {"values": arrays["values"].cast(pa.float32())}),
    "missing values": entries(lambda arrays: arrays | {"values": pa.array([None] * 24, pa.float64())}),
    "more arrays": entries(lambda arrays: arrays | {"more": arrays["values"]}),
    "an id twice": put("users", "ids", 0, *b"000000"),
    "no text": put("users", "ids", 0, 0xFF),
    # Differences of neighbours overflow to what a rising sequence would have.
    "overflow": put("users", "indptr", 1, 2**63 - 1, -(2**63), -1),
    "falling ends": put("users", "indptr", 2, 0),
    "early end": put("items", "indptr", -1, 5),
    "too large": put("users", "indices", 0, 10**6),
    "a pair twice": put("users", "indices", 1, 0),
    "no weight": put("users", "weights", 0, 0.0),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_folder_is_refused(packed, name):
    before = {path: path.read_bytes() for path in packed.iterdir()}
    HOSTILE[name](packed)
    assert {path: path.read_bytes() for path in packed.iterdir() if path.is_file()} != before
    with pytest.raises(FileFormatError, match=str(packed)):
        Observations.open(packed)


def test_what_is_no_table_at_all(tmp_path):
    (tmp_path / "file").write_text("user,item\n")
    for other in (tmp_path, tmp_path / "file", tmp_path / "nowhere", "a\0b", 5):
        with pytest.raises(FileFormatError):
            Observations.open(other)
    with pytest.raises(DataError, match="Observations.open"):
        read_ratings(km.pack(rated(), tmp_path / "t").path)


def test_other_programs_read_the_files(packed):
    found = ipc.open_file(packed / "items.arrow").read_all().to_pylist()
    assert [row["id"] for row in found] == ["3", "5", "8", "11"]
    assert found[0]["title"] == "Three"
    columns = Observations.open(packed).columns
    for part in ("values", "indices"):
        assert [entry[part] for row in found for entry in row["entries"]] == getattr(columns, part).tolist()


def test_damaged_tables_are_refused_or_whole(packed):
    """Bytes at random are others; where a table opens nevertheless, it is a table."""
    files, rng, refused = sorted(packed.iterdir()), np.random.default_rng(0), 0
    whole = {path: path.read_bytes() for path in files}
    for trial in range(400):
        path = files[trial % len(files)]
        content = bytearray(whole[path])
        for at in rng.integers(len(content), size=rng.integers(1, 4)):
            content[at] = rng.integers(256)
        path.write_bytes(content[: rng.integers(len(content))] if trial % 5 == 0 else content)
        try:
            table = Observations.open(packed)
            table.rows.validate(table.n_users, table.n_items)
            table.columns.validate(table.n_items, table.n_users)
        except FileFormatError:
            refused += 1
        except KolmogorovError:
            raise AssertionError("another error") from None
        path.write_bytes(whole[path])
    assert refused > 100
