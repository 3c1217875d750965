"""Packed tables: a folder of Arrow files with the entries in both orders, mapped into memory instead of read.

::

    table.json     scale, what was understood, and of each file its size, its digest and where its arrays lie
    users.arrow    a row for each user: id, maybe title, and entries, a list of items, values and maybe weights
    items.arrow    the same by items

Other programs read the files as Arrow. We take the arrays from where `table.json` says that they lie, within the file:
whatever a forged folder says, nothing is unpacked and nothing outside it is touched.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from kolmogorov.data.scale import Scale
from kolmogorov.data.told import Provenance
from kolmogorov.data.view import View, counting_order, ends_of, fingerprint_of
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, FileWriteError, InvariantError, KolmogorovError

#: The arrays of a file in their order: texts are bytes, and where each ends.
_TYPES: dict[str, Any] = {
    "ids_ends": np.int64,
    "ids_bytes": np.uint8,
    "labels_ends": np.int64,
    "labels_bytes": np.uint8,
}
_TYPES |= {"indptr": np.int64, "indices": np.int32, "values": np.float64, "weights": np.float64}


@dataclass(frozen=True, eq=False)
class MappedView(View):
    """A view whose entries lie in a mapped file; pages that were read can be let go again."""

    path: Path
    mapping: mmap.mmap
    offsets: Mapping[str, int]

    def check_intact(self) -> None:
        """Raise where the file has another size than when it was opened: reading past its end would end the process."""
        if self.mapping.size() != len(self.mapping):
            raise FileFormatError(
                f"{self.path} was {len(self.mapping)} bytes long when it was opened and is {self.mapping.size()} "
                "now. Do not change tables that are in use; pack to another name, or open it again."
            )

    def blocks(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows; before each the file is looked at."""
        for first, last in super().blocks(entries):
            self.check_intact()
            yield first, last

    def forget(self, first: int, last: int) -> None:
        """Give back the memory behind the entries of some rows; they are read again when they are needed again."""
        start, end = int(self.indptr[first]), int(self.indptr[last])
        if not hasattr(mmap, "MADV_DONTNEED") or end <= start:
            return
        for name, offset in self.offsets.items():
            size: int = getattr(self, name).itemsize
            low = (offset + start * size) // mmap.PAGESIZE * mmap.PAGESIZE
            self.mapping.madvise(mmap.MADV_DONTNEED, low, offset + end * size - low)


@dataclass(frozen=True, eq=False)
class PackedTable:
    """A packed table, mapped: where it lies, and its parts."""

    path: Path
    users: Vocabulary
    items: Vocabulary
    rows: View
    columns: View
    scale: Scale
    source: Provenance | None
    #: Digest of everything a fit depends on; other processes know the table by it.
    fingerprint: str


def is_table(path: Any) -> bool:
    """Tell the folder of a packed table."""
    try:
        return (Path(path) / "table.json").is_file()
    except (OSError, TypeError, ValueError):
        return False


# --- writing --------------------------------------------------------------------------------------------------------


def check_free(out: Any) -> None:
    """Refuse a name that something else than a packed table has, and a place where nothing can be written."""
    if "\0" in os.fspath(out):
        raise FileWriteError(f"{str(out)!r} cannot be written: a path cannot hold a NUL character.")
    if Path(out).exists() and not is_table(out):
        raise FileWriteError(f"{out} exists and is not a packed table. Choose another name.")
    if not os.access(parent := Path(out).absolute().parent, os.W_OK):
        raise FileWriteError(f"{out} cannot be written: there is no folder {parent} that can be written to.")


def write_table(out: Any, table: Any) -> None:
    """Write observations; they take the name when they are whole.

    What is mapped already is never in memory as a whole.
    """
    target = Path(out)
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name[:40]}.") as scratch:
            new = Path(scratch, "new")
            new.mkdir()
            _fill(new, table, table.rows)
            if target.exists():
                os.replace(target, Path(scratch, "old"))
            os.replace(new, target)
    except OSError as error:
        raise FileWriteError(f"{out} cannot be written: {error.strerror or error}.") from None


def _fill(folder: Path, table: Any, rows: View) -> None:
    """Write the files of a table, or of a part of it that has such rows."""
    files = {"users": _write(folder / "users.arrow", table.users, rows)}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        files["items"] = _write(folder / "items.arrow", table.items, _transposed(rows, len(table.items), Path(scratch)))
    source = None if table.source is None else table.source.to_dict()
    fingerprint = fingerprint_of(len(table.users), len(table.items), table.scale, rows)
    about = {"files": files, "scale": asdict(table.scale), "fingerprint": fingerprint, "source": source}
    (folder / "table.json").write_text(json.dumps(about), encoding="utf-8")


def _write(path: Path, ids: Vocabulary, view: View) -> dict[str, Any]:
    """Write one order in one batch; return the size and the digest of the file, and where each array lies."""
    arrays = {name.removeprefix("_"): array for name, array in ids.arrays("").items()}
    columns: dict[str, Any] = {}
    for column, name in (("id", "ids"), ("title", "labels"))[: len(arrays) // 2]:
        ends, content = arrays[f"{name}_ends"], arrays[f"{name}_bytes"]
        texts = pa.py_buffer(np.append(0, ends)), pa.py_buffer(content)
        columns[column] = pa.LargeStringArray.from_buffers(ends.size, *texts)
    arrays |= {"indptr": view.indptr, "indices": view.indices, "values": view.values}
    arrays |= {"weights": view.weights} if view.weights.size else {}
    # What is mapped is not copied on its way.
    parts = {name: pa.array(arrays[name]) for name in ("indices", "values", "weights") if name in arrays}
    entries = pa.StructArray.from_arrays(list(parts.values()), names=list(parts))
    columns["entries"] = pa.LargeListArray.from_arrays(pa.array(view.indptr), entries)
    batch = pa.RecordBatch.from_pydict(columns)
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    with pa.memory_map(str(path)) as mapped:
        whole = mapped.read_buffer()
        written = ipc.open_file(whole).get_batch(0).columns
        buffers = [buffer for column in written for buffer in column.buffers() if buffer is not None]
        offsets = [buffer.address - whole.address for buffer in buffers]
        # Arrow puts a 0 before the ends of texts.
        places = {
            name: (offset + 8 * name.endswith("_ends") if array.size else 0, array.size)
            for (name, array), offset in zip(arrays.items(), offsets, strict=True)
        }
        return {"size": whole.size, "digest": digest, "arrays": places}


def _room(folder: Path, n: int, *, weighted: bool) -> dict[str, Any]:
    """Make room on disk for so many entries, all of it at once: a full disk would end the process later."""
    found: dict[str, Any] = {"weights": np.empty(0)}
    for name in ("indices", "values", "weights")[: 2 + weighted]:
        size = n * np.dtype(_TYPES[name]).itemsize
        with open(folder / name, "wb") as stream:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, size)
            stream.truncate(size)
        found[name] = np.memmap(folder / name, _TYPES[name], "r+", shape=(n,))
    return found


def _transposed(rows: View, n_items: int, scratch: Path) -> View:
    """Order the entries by items on disk, block by block: each entry goes behind those that its item has already."""
    parts = _room(scratch, rows.indices.size, weighted=bool(rows.weights.size))
    counts = np.zeros(n_items, dtype=np.int64)
    for first, last in rows.blocks():
        counts += np.bincount(rows.indices[rows.indptr[first] : rows.indptr[last]], minlength=n_items)
    indptr = ends_of(counts)
    filled = indptr[:-1].copy()
    for first, last in rows.blocks():
        block = slice(rows.indptr[first], rows.indptr[last])
        order = counting_order(rows.indices[block], n_items)
        items = rows.indices[block][order]
        here = np.bincount(items, minlength=n_items)
        places = np.arange(items.size) + np.repeat(filled - ends_of(here)[:-1], here)
        parts["indices"][places] = rows.owners(first, last)[order]
        for name in ("values", "weights")[: 1 + bool(rows.weights.size)]:
            parts[name][places] = getattr(rows, name)[block][order]
        filled += here
        rows.forget(first, last)
    return View(indptr, **parts)


def packed_subset(table: PackedTable, chosen: NDArray[np.bool_]) -> PackedTable:
    """Write the chosen entries to another table in a temporary folder, which goes when nobody uses it any more."""
    folder = Path(tempfile.gettempdir(), f"kolmogorov-{secrets.token_hex(8)}")
    try:
        folder.mkdir(0o700)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            rows, done = table.rows, 0
            parts = _room(Path(scratch), int(chosen.sum()), weighted=bool(rows.weights.size))
            for first, last in rows.blocks():
                block = slice(rows.indptr[first], rows.indptr[last])
                kept = np.flatnonzero(chosen[block])
                for name in ("indices", "values", "weights")[: 2 + bool(rows.weights.size)]:
                    parts[name][done : done + kept.size] = getattr(rows, name)[block][kept]
                done += kept.size
                rows.forget(first, last)
            _fill(folder, table, View(ends_of(chosen)[rows.indptr], **parts))
        found = open_table(folder, verify=False)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            reason = f"{error.strerror or error}. TMPDIR names another directory"
            raise FileWriteError(f"A part of the table cannot be written to {folder}: {reason}.") from None
        raise
    weakref.finalize(found, _deleted, folder, os.getpid())
    return found


def _deleted(folder: Path, owner: int) -> None:
    """Delete a temporary table; a forked process leaves its parent's alone."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


# --- reading --------------------------------------------------------------------------------------------------------


def open_table(path: Any, verify: bool = True, fingerprint: str | None = None) -> PackedTable:
    """Map a packed table; see `Observations.open`. Where a fingerprint is given, no other table will do."""
    if not is_table(path):
        raise FileFormatError(f"{path} is not a packed table. Make one with kolmogorov.pack.")
    folder = Path(path).absolute()
    try:
        about = json.loads((folder / "table.json").read_text(encoding="utf-8"))
        found, scale = str(about["fingerprint"]), about["scale"]
        if fingerprint not in (None, found):
            raise InvariantError("it is another table than the one that was opened")
        (users, rows), (items, columns) = (
            _read(folder / f"{side}.arrow", about["files"][side], verify) for side in ("users", "items")
        )
        if rows.weights.size != columns.weights.size or rows.indices.size != columns.indices.size:
            raise InvariantError("the entries by items are not those by users")
        rows.validate(len(users), len(items))
        columns.validate(len(items), len(users))
        ends = Scale(float(scale["minimum"]), float(scale["maximum"]))
        source = None if about["source"] is None else Provenance.from_dict(about["source"])
        return PackedTable(folder, users, items, rows, columns, ends, source, found)
    except (KolmogorovError, ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a packed table that can be used: {str(error).rstrip('.')}.") from None


def _read(path: Path, said: Mapping[str, Any], verify: bool) -> tuple[Vocabulary, MappedView]:
    """Map a file, and find its arrays; NumPy refuses what does not lie in it."""
    with open(path, "rb") as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        if said["size"] != len(mapping):
            raise InvariantError(f"{path.name} has another size")
        if verify and hashlib.file_digest(stream, "sha256").hexdigest() != said["digest"]:
            raise InvariantError(f"{path.name} was changed")
    arrays: dict[str, NDArray[Any]] = {"weights": np.empty(0)}
    for name, (offset, count) in said["arrays"].items():
        if offset % 8 or count < 0:
            raise InvariantError(f"{path.name} is not aligned")
        arrays[name] = np.frombuffer(mapping, _TYPES[name], count, offset)
    ids = Vocabulary.from_arrays("", {f"_{name}": array for name, array in arrays.items()})
    parts = {name: arrays[name] for name in ("indices", "values", "weights")}
    offsets = {name: said["arrays"][name][0] for name in parts if name in said["arrays"]}
    return ids, MappedView(arrays["indptr"].copy(), **parts, path=path, mapping=mapping, offsets=offsets)
