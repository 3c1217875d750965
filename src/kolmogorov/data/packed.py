"""Packed tables: a folder of Arrow files with the entries in both orders, mapped into memory instead of read.

::

    table.json                 scale, what was understood, where in the files each array lies, digests
    users.arrow, items.arrow   ids, and titles if there are any
    rows.arrow, columns.arrow  indices, values and maybe weights, in one batch each
    rows_ends.arrow, columns_ends.arrow    where each row begins

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
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, ipc

from kolmogorov._support.validation import check_between, check_indices, check_indptr
from kolmogorov.data.scale import LARGEST_WEIGHT, LEAST_WEIGHT, Scale
from kolmogorov.data.told import Provenance
from kolmogorov.data.view import View, counting_order, fingerprint_of
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, FileWriteError, InvariantError, KolmogorovError

#: The numbers of the files; texts are bytes, and where each ends.
_TYPES = {"indptr": np.int64, "indices": np.int32, "values": np.float64, "weights": np.float64}
_TYPES |= {"ids_ends": np.int64, "ids_bytes": np.uint8, "labels_ends": np.int64, "labels_bytes": np.uint8}

#: What the columns of texts are called in a vocabulary.
_TEXTS = {"id": "ids", "title": "labels"}


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
    #: Digest of everything a fit depends on; workers and checkpoints know a table by it.
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
    parent = Path(out).absolute().parent
    if not os.access(parent, os.W_OK):
        raise FileWriteError(f"{out} cannot be written: there is no folder {parent} that can be written to.")
    if Path(out).exists() and not is_table(out):
        raise FileWriteError(f"{out} exists and is not a packed table. Choose another name.")


def write_table(
    out: Any, users: Vocabulary, items: Vocabulary, rows: View, scale: Scale, source: Provenance | None
) -> None:
    """Write a table; it takes its name when it is whole. What is mapped already is never in memory as a whole."""
    target = Path(out)
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name[:40]}.") as scratch:
            new, old = Path(scratch, "new"), Path(scratch, "old")
            new.mkdir()
            _fill(new, users, items, rows, scale, source)
            if target.exists():
                os.replace(target, old)
            try:
                os.replace(new, target)
            except OSError:
                if old.exists():
                    os.replace(old, target)
                raise
    except OSError as error:
        raise FileWriteError(f"{out} cannot be written: {error.strerror or error}.") from None
    except UnicodeEncodeError as error:
        raise FileWriteError(f"{out} cannot be written: {error.object!r} is not valid text.") from None


def _fill(folder: Path, users: Vocabulary, items: Vocabulary, rows: View, scale: Scale, source: Any) -> None:
    files = {name: _write_texts(folder / f"{name}.arrow", side) for name, side in (("users", users), ("items", items))}
    files |= _write_view(folder, "rows", rows)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        files |= _write_view(folder, "columns", _transposed(rows, len(items), Path(scratch)))
    about = {
        "files": files,
        "scale": asdict(scale),
        "fingerprint": fingerprint_of(len(users), len(items), scale, rows.digests()),
        "digest": _digest(folder),
        "source": None if source is None else source.to_dict(),
    }
    (folder / "table.json").write_text(json.dumps(about), encoding="utf-8")


def _digest(folder: Path) -> str:
    """Return the digest of all that the fingerprint leaves out: ids, titles, and the entries by items."""
    found = hashlib.sha256()
    for name in ("users", "items", "columns_ends", "columns"):
        with open(folder / f"{name}.arrow", "rb") as stream:
            found.update(hashlib.file_digest(stream, "sha256").digest())
    return found.hexdigest()


def _write_texts(path: Path, side: Vocabulary) -> dict[str, Any]:
    columns = {"id": side.ids} if side.labels is None else {"id": side.ids, "title": side.labels}
    return _write(path, {name: pa.array(texts.tolist(), pa.large_string()) for name, texts in columns.items()})


def _write_view(folder: Path, name: str, view: View) -> dict[str, Any]:
    arrays = {"indices": view.indices, "values": view.values} | ({"weights": view.weights} if view.weights.size else {})
    found = {}
    for file, columns in ((name, arrays), (f"{name}_ends", {"indptr": view.indptr})):
        # An array that is mapped is not copied on its way.
        plain = {part: np.ascontiguousarray(array, dtype=_TYPES[part]) for part, array in columns.items()}
        found[file] = _write(folder / f"{file}.arrow", {part: pa.array(array) for part, array in plain.items()})
    return found


def _write(path: Path, columns: Mapping[str, pa.Array]) -> dict[str, Any]:
    """Write columns in one batch; return the size of the file, and where each array begins and how long it is."""
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pa.memory_map(str(path)) as mapped:
        whole = mapped.read_buffer()
        batch, places = ipc.open_file(whole).get_batch(0), {}
        for name, column in zip(columns, batch.columns, strict=True):
            offsets = [buffer.address - whole.address if buffer else 0 for buffer in column.buffers()[1:]]
            if len(offsets) == 1:
                places[name] = offsets[0], len(column)
            else:
                # Texts are as many ends as there are texts, behind a 0, and the bytes of all.
                texts = _TEXTS[name]
                places[f"{texts}_ends"] = offsets[0] + 8, len(column)
                places[f"{texts}_bytes"] = offsets[1], compute.sum(compute.binary_length(column)).as_py() or 0
        return {"size": whole.size, "arrays": places}


def _scratch(folder: Path, n: int, *, weighted: bool) -> dict[str, Any]:
    """Make room on disk for so many entries, all of it at once: a full disk would end the process later."""
    found: dict[str, Any] = {"weights": np.empty(0)}
    for name in ("indices", "values", "weights") if weighted else ("indices", "values"):
        dtype = np.dtype(_TYPES[name])
        with open(folder / name, "wb") as stream:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, max(n, 1) * dtype.itemsize)
            stream.truncate(max(n, 1) * dtype.itemsize)
        found[name] = np.memmap(folder / name, dtype, "r+", shape=(max(n, 1),))[:n]
    return found


def _transposed(rows: View, n_items: int, scratch: Path) -> View:
    """Order the entries by items on disk, block by block: each entry goes behind those that its item has already."""
    n = int(rows.indptr[-1])
    parts = _scratch(scratch, n, weighted=bool(rows.weights.size))
    counts = np.zeros(n_items, dtype=np.int64)
    for first, last in rows.blocks():
        counts += np.bincount(rows.indices[rows.indptr[first] : rows.indptr[last]], minlength=n_items)
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    filled = indptr[:-1].copy()
    for first, last in rows.blocks():
        block = slice(rows.indptr[first], rows.indptr[last])
        order = counting_order(rows.indices[block], n_items)
        items = rows.indices[block][order]
        here = np.bincount(items, minlength=n_items)
        places = np.arange(items.size) + np.repeat(filled - (np.cumsum(here) - here), here)
        parts["indices"][places] = rows.owners(first, last)[order]
        for name in ("values", "weights") if rows.weights.size else ("values",):
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
            rows = table.rows
            parts = _scratch(Path(scratch), int(chosen.sum()), weighted=bool(rows.weights.size))
            indptr, done = np.zeros(rows.indptr.size, dtype=np.int64), 0
            for first, last in rows.blocks():
                block = slice(rows.indptr[first], rows.indptr[last])
                kept = np.concatenate(([0], np.cumsum(chosen[block])))
                indptr[first + 1 : last + 1] = done + kept[rows.indptr[first + 1 : last + 1] - rows.indptr[first]]
                for name in ("indices", "values", "weights") if rows.weights.size else ("indices", "values"):
                    parts[name][done : done + kept[-1]] = getattr(rows, name)[block][chosen[block]]
                done += int(kept[-1])
                rows.forget(first, last)
            _fill(folder, table.users, table.items, View(indptr, **parts), table.scale, table.source)
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


@contextmanager
def _opened(path: Any, fingerprint: str | None) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Read what a table says of itself; whatever is wrong with it then is one sentence."""
    if not is_table(path):
        raise FileFormatError(f"{path} is not a packed table. Make one with kolmogorov.pack.")
    try:
        folder = Path(path).absolute()
        about = json.loads((folder / "table.json").read_text(encoding="utf-8"))
        if type(about["fingerprint"]) is not str:
            raise InvariantError("its fingerprint is not valid")
        if fingerprint not in (None, about["fingerprint"]):
            raise FileFormatError(f"{folder} is another table than the one that was opened.")
        yield folder, about
    except FileFormatError:
        raise
    except (KolmogorovError, ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a packed table that can be used: {str(error).rstrip('.')}.") from None


def open_table(path: Any, verify: bool = True, fingerprint: str | None = None) -> PackedTable:
    """Map a packed table; see `Observations.open`. Where a fingerprint is given, no other table will do."""
    with _opened(path, fingerprint) as (folder, about):
        users, items = (
            Vocabulary.from_arrays("", {f"_{name}": array for name, array in _arrays(folder, side, about)[1].items()})
            for side in ("users", "items")
        )
        rows, columns = _view(folder, "rows", about), _view(folder, "columns", about)
        if (rows.indptr.size, columns.indptr.size) != (len(users) + 1, len(items) + 1):
            raise InvariantError("it does not have an id for each row")
        if (rows.indices.size, rows.weights.size) != (columns.indices.size, columns.weights.size):
            raise InvariantError("the entries by items are not those by users")
        for view, n_partners in ((rows, len(items)), (columns, len(users))):
            _check(view, n_partners, numbers=verify)
        ends = about["scale"]["minimum"], about["scale"]["maximum"]
        if not all(type(end) in (int, float) for end in ends):
            raise InvariantError("its scale is not valid")
        scale = Scale(*ends)
        if verify:
            if fingerprint_of(len(users), len(items), scale, rows.digests()) != about["fingerprint"]:
                raise InvariantError("its fingerprint does not match")
            if _digest(folder) != about["digest"]:
                raise InvariantError("its ids, its titles or its entries by items were changed")
        source = None if about["source"] is None else Provenance.from_dict(about["source"])
        return PackedTable(folder, users, items, rows, columns, scale, source, about["fingerprint"])


def read_rows(path: Any, fingerprint: str, first: int, last: int) -> tuple[View, int]:
    """Read some users' rows of a packed table into memory, and say how many items there are."""
    with _opened(path, fingerprint) as (folder, about):
        n_items = _indptr(folder, "columns", about).size - 1
        found = _view(folder, "rows", about).cut(first, last)
        found.validate(last - first, n_items)
        return found, n_items


def _arrays(folder: Path, name: str, about: Mapping[str, Any]) -> tuple[mmap.mmap, dict[str, NDArray[Any]]]:
    """Map a file, and find its arrays; NumPy refuses what does not lie in it."""
    with open(folder / f"{name}.arrow", "rb") as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    said, found = about["files"][name], {}
    if said["size"] != len(mapping):
        raise InvariantError(f"{name}.arrow has another size")
    for part, (offset, count) in said["arrays"].items():
        if offset % 8 or count < 0:
            raise InvariantError(f"{name}.arrow is not aligned")
        found[part] = np.frombuffer(mapping, _TYPES[part], count, offset)
    return mapping, found


def _indptr(folder: Path, name: str, about: Mapping[str, Any]) -> NDArray[np.int64]:
    return _arrays(folder, f"{name}_ends", about)[1]["indptr"].copy()


def _view(folder: Path, name: str, about: Mapping[str, Any]) -> MappedView:
    """Map one order; its rows lie within its entries."""
    indptr = _indptr(folder, name, about)
    mapping, arrays = _arrays(folder, name, about)
    if arrays.keys() - {"weights"} != {"indices", "values"} or len({array.size for array in arrays.values()}) > 1:
        raise InvariantError(f"{name}.arrow has other columns, or not the same number of rows in each")
    check_indptr(f"{name}_ends", indptr, arrays["indices"].size)
    offsets = {part: offset for part, (offset, _) in about["files"][name]["arrays"].items()}
    return MappedView(
        indptr, **({"weights": np.empty(0)} | arrays), path=folder / f"{name}.arrow", mapping=mapping, offsets=offsets
    )


def _check(view: View, n_partners: int, *, numbers: bool) -> None:
    """Check the indices, since kernels do not look at bounds, and the `numbers` where digests are compared."""
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        check_indices("indices", view.indptr[first : last + 1] - view.indptr[first], view.indices[part], n_partners)
        if numbers:
            check_between("values", view.values[part], 0.0, 1.0)
            check_between("weights", view.weights[part], LEAST_WEIGHT, LARGEST_WEIGHT)
        view.forget(first, last)
