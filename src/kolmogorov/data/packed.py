"""Packed tables: a folder of Arrow files with the entries in both orders, mapped into memory instead of read.

::

    table.json                 sizes, scale, what was understood, a digest of everything a fit depends on
    users.arrow, items.arrow   ids, and titles if there are any
    rows.arrow, columns.arrow  indices, values and maybe weights, in one batch each
    rows_ends.arrow, columns_ends.arrow    where each row begins
"""

from __future__ import annotations

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
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from kolmogorov._support.seeds import mixed
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import check_between, check_indices, check_indptr
from kolmogorov.data.provenance import Provenance
from kolmogorov.data.scale import LARGEST_WEIGHT, LEAST_WEIGHT, Scale
from kolmogorov.data.view import View, counting_order, fingerprint_of
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, FileWriteError, InvariantError, KolmogorovError

_TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "indptr": (pa.int64(), np.int64),
    "indices": (pa.int32(), np.int32),
    "values": (pa.float64(), np.float64),
    "weights": (pa.float64(), np.float64),
    "id": (pa.large_string(), None),
    "title": (pa.large_string(), None),
}
#: What `table.json` says, by type.
_FIELDS: dict[str, type] = {
    "n_users": int,
    "n_items": int,
    "n_entries": int,
    "binary": bool,
    "fingerprint": str,
    "names": str,
}


class MappedView(View):
    """A view whose entries lie in a mapped file; pages that were read can be let go again."""

    def __init__(self, path: Path, mapping: mmap.mmap, indptr: NDArray[np.int64], parts: Mapping[str, Any]) -> None:
        super().__init__(indptr, **{name: parts.get(name, np.empty(0)) for name in ("indices", "values", "weights")})
        start = np.frombuffer(mapping, np.uint8).ctypes.data
        offsets = {name: array.ctypes.data - start for name, array in parts.items()}
        if any(offset % 8 for offset in offsets.values()):
            raise InvariantError(f"{path.name} is not aligned")
        self.__dict__.update(_path=path, _mapping=mapping, _offsets=offsets)

    _path: Path
    _mapping: mmap.mmap
    _offsets: dict[str, int]

    def check_intact(self) -> None:
        """Raise where the file has another size than when it was opened: reading past its end would end the process."""
        if self._mapping.size() != len(self._mapping):
            raise FileFormatError(
                f"{self._path} was {len(self._mapping)} bytes long when it was opened and is {self._mapping.size()} "
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
        for name, offset in self._offsets.items():
            size: int = getattr(self, name).itemsize
            low = (offset + start * size) // mmap.PAGESIZE * mmap.PAGESIZE
            self._mapping.madvise(mmap.MADV_DONTNEED, low, offset + end * size - low)


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
    binary: bool
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
    check_free(out)
    target = Path(out)
    folder, old = (target.parent / f".{target.name[:40]}.{secrets.token_hex(6)}.part" for _ in range(2))
    try:
        folder.mkdir()
        _fill(folder, users, items, rows, scale, source)
        if target.exists():
            os.replace(target, old)
        os.replace(folder, target)
    except OSError as error:
        raise FileWriteError(f"{out} cannot be written: {error.strerror or error}.") from None
    except UnicodeEncodeError as error:
        raise FileWriteError(f"{out} cannot be written: {error.object!r} is not valid text.") from None
    finally:
        if old.exists() and not target.exists():
            os.replace(old, target)
        for left in (folder, old):
            shutil.rmtree(left, ignore_errors=True)


def _fill(folder: Path, users: Vocabulary, items: Vocabulary, rows: View, scale: Scale, source: Any) -> None:
    for name, vocabulary in (("users", users), ("items", items)):
        titles = {} if vocabulary.labels is None else {"title": vocabulary.labels.tolist()}
        _write(folder / f"{name}.arrow", {"id": vocabulary.ids.tolist(), **titles})
    _write_view(folder, "rows", rows)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        _write_view(folder, "columns", _transposed(rows, len(items), Path(scratch)))
    about = {
        "n_users": len(users),
        "n_items": len(items),
        "n_entries": int(rows.indptr[-1]),
        "scale": asdict(scale),
        "binary": rows.is_binary(),
        "fingerprint": fingerprint_of(len(users), len(items), scale, rows.digests()),
        "names": _names_digest(folder),
        "source": None if source is None else source.to_dict(),
    }
    (folder / "table.json").write_text(json.dumps(about), encoding="utf-8")


def _names_digest(folder: Path) -> str:
    return sha256(b"".join((folder / f"{side}.arrow").read_bytes() for side in ("users", "items"))).hexdigest()


def _write_view(folder: Path, name: str, view: View) -> None:
    _write(folder / f"{name}_ends.arrow", {"indptr": view.indptr})
    weights = {"weights": view.weights} if view.weights.size else {}
    _write(folder / f"{name}.arrow", {"indices": view.indices, "values": view.values, **weights})


def _write(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns in one batch; an array that is mapped is not copied on its way."""
    arrays = []
    for name, column in columns.items():
        kind, dtype = _TYPES[name]
        if dtype is None:
            arrays.append(pa.array(column, kind))
            continue
        array = np.ascontiguousarray(column, dtype=dtype)
        arrays.append(pa.Array.from_buffers(kind, array.size, [None, pa.py_buffer(array)]))
    batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _scratch(folder: Path, n: int, *, weighted: bool) -> dict[str, Any]:
    """Make room on disk for so many entries, all of it at once: a full disk would end the process later."""
    found: dict[str, Any] = {"weights": np.empty(0)}
    for name in ("indices", "values", "weights") if weighted else ("indices", "values"):
        dtype = np.dtype(_TYPES[name][1])
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
        parts["values"][places] = rows.values[block][order]
        if rows.weights.size:
            parts["weights"][places] = rows.weights[block][order]
        filled += here
        rows.forget(first, last)
    return View(indptr, **parts)


def packed_subset(table: PackedTable, chosen: NDArray[np.bool_]) -> PackedTable:
    """Write the chosen entries to another table in a temporary folder, which goes when nobody uses it any more."""
    folder = Path(tempfile.gettempdir(), f"kolmogorov-{secrets.token_hex(8)}")
    try:
        folder.mkdir(0o700)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            rows, n = table.rows, int(chosen.sum())
            parts = _scratch(Path(scratch), n, weighted=bool(rows.weights.size))
            counts, done = np.zeros(rows.indptr.size, dtype=np.int64), 0
            for first, last in rows.blocks():
                block = slice(rows.indptr[first], rows.indptr[last])
                mask = chosen[block]
                kept = np.concatenate(([0], np.cumsum(mask)))
                counts[first + 1 : last + 1] = np.diff(kept[rows.indptr[first : last + 1] - rows.indptr[first]])
                for name in ("indices", "values", *(("weights",) if rows.weights.size else ())):
                    parts[name][done : done + kept[-1]] = getattr(rows, name)[block][mask]
                done += int(kept[-1])
                rows.forget(first, last)
            view = View(np.cumsum(counts), **parts)
            _fill(folder, table.users, table.items, view, table.scale, table.source)
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
def _refused(path: Any) -> Iterator[None]:
    """Word whatever is wrong with a table in one sentence."""
    if not is_table(path):
        raise FileFormatError(f"{path} is not a packed table. Make one with kolmogorov.pack.")
    try:
        yield
    except FileFormatError:
        raise
    except (KolmogorovError, pa.ArrowException, ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise FileFormatError(f"{path} is not a packed table that can be used: {str(error).rstrip('.')}.") from None


def open_table(path: Any, verify: bool = True, fingerprint: str | None = None) -> PackedTable:
    """Map a packed table; see `Observations.open`. Where a fingerprint is given, no other table will do."""
    with _refused(path):
        folder = Path(path).absolute()
        about = _about(folder, fingerprint)
        users, items = (_vocabulary(folder, name, about[f"n_{name}"]) for name in ("users", "items"))
        sizes = about["n_users"], about["n_items"]
        rows = _view(folder, "rows", sizes, about["n_entries"], numbers=verify)
        columns = _view(folder, "columns", sizes[::-1], about["n_entries"], numbers=verify)
        scale = Scale(*(about["scale"][name] for name in ("minimum", "maximum")))
        if verify:
            if fingerprint_of(*sizes, scale, rows.digests()) != about["fingerprint"]:
                raise InvariantError("its fingerprint does not match")
            if _names_digest(folder) != about["names"]:
                raise InvariantError("its ids or titles were changed")
            _check_same_entries(rows, columns)
            # Models choose their likelihood by it.
            if rows.is_binary() != about["binary"]:
                raise InvariantError("what it says of its values is not true")
        source = None if about["source"] is None else Provenance.from_dict(about["source"])
        return PackedTable(folder, users, items, rows, columns, scale, source, about["binary"], about["fingerprint"])


def read_rows(path: Any, fingerprint: str, first: int, last: int) -> tuple[View, int]:
    """Read some users' rows of a packed table into memory, and say how many items there are."""
    with _refused(path):
        about = _about(Path(path), fingerprint)
        sizes = about["n_users"], about["n_items"]
        found = _view(Path(path), "rows", sizes, about["n_entries"], checked=False).cut(first, last)
        found.validate(last - first, about["n_items"])
        return found, about["n_items"]


def _about(folder: Path, fingerprint: str | None) -> dict[str, Any]:
    about = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    for name, kind in _FIELDS.items():
        if type(about[name]) is not kind:
            raise InvariantError(f"its {name} is no {kind.__name__}")
    if not all(type(about["scale"][end]) in (int, float) for end in ("minimum", "maximum")):
        raise InvariantError("its scale is not valid")
    if fingerprint not in (None, about["fingerprint"]):
        raise FileFormatError(f"{folder} is another table than the one that was opened.")
    return dict(about)


def _batch(path: Path, columns: tuple[str, ...], n: int) -> tuple[mmap.mmap, pa.RecordBatch]:
    """Map a file of one batch that has these columns, of which the last may be absent.

    It is read from its beginning; what its directory at the end says does not matter.
    """
    with open(path, "rb") as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    messages = list(islice(ipc.MessageReader.open_stream(pa.BufferReader(pa.py_buffer(mapping)[8:])), 2))
    if [message.type for message in messages] != ["schema", "record batch"]:
        raise InvariantError(f"{path.name} does not begin with a schema and a batch")
    schema = ipc.read_schema(messages[0])
    if tuple(schema.names) not in (columns, columns[:-1]) or any(f.type != _TYPES[f.name][0] for f in schema):
        raise InvariantError(f"{path.name} has other columns")
    if _is_compressed(messages[1].metadata.to_pybytes()):
        raise InvariantError(f"{path.name} is compressed")
    batch = ipc.read_record_batch(messages[1], schema)
    batch.validate(full=True)
    if batch.num_rows != n or any(column.null_count for column in batch.columns):
        raise InvariantError(f"{path.name} does not have {n:,} rows")
    return mapping, batch


def _is_compressed(head: bytes) -> bool:
    """Look into the head of a batch, since little that is compressed could become more than there is memory.

    It is a table of flatbuffers: the third field of the message is the batch, the fourth field of the batch says how.
    """

    def number(at: int, size: int = 4) -> int:
        return int.from_bytes(head[at : at + size], "little")

    def field(table: int, which: int) -> int:
        names = table - int.from_bytes(head[table : table + 4], "little", signed=True)
        at = 4 + 2 * which
        return number(names + at, 2) if at < number(names, 2) else 0

    message = number(0)
    batch = message + field(message, 2)
    return field(batch + number(batch), 3) != 0


def _view(
    folder: Path, name: str, sizes: tuple[int, int], n: int, *, numbers: bool = False, checked: bool = True
) -> MappedView:
    """Map one order; kernels do not check bounds, so indices are looked at unless only a part is used."""
    _, ends = _batch(folder / f"{name}_ends.arrow", ("indptr", ""), sizes[0] + 1)
    mapping, batch = _batch(folder / f"{name}.arrow", ("indices", "values", "weights"), n)
    indptr = ends.column(0).to_numpy(zero_copy_only=False).copy()
    check_indptr(f"{name}_ends", indptr, n)
    parts = {field: batch.column(field).to_numpy() for field in batch.schema.names}
    view = MappedView(folder / f"{name}.arrow", mapping, indptr, parts)
    for first, last in view.blocks() if checked else ():
        part = slice(int(indptr[first]), int(indptr[last]))
        check_indices(f"{name}.indices", indptr[first : last + 1] - indptr[first], view.indices[part], sizes[1])
        if numbers:
            check_between(f"{name}.values", view.values[part], 0.0, 1.0)
            if view.weights.size:
                check_between(f"{name}.weights", view.weights[part], LEAST_WEIGHT, LARGEST_WEIGHT)
        view.forget(first, last)
    return view


def _vocabulary(folder: Path, name: str, n: int) -> Vocabulary:
    _, batch = _batch(folder / f"{name}.arrow", ("id", "title"), n)
    columns = [column.to_pylist() for column in batch.columns]
    if len(set(columns[0])) != n:
        raise InvariantError(f"the ids of the {name} are not distinct")
    return Vocabulary(*columns)


def _check_same_entries(rows: View, columns: View) -> None:
    """Check that both orders hold the same entries: sums over a keyed hash of each, whatever the order.

    The key is new for every check, so nobody can choose entries that collide.
    """
    key = np.frombuffer(secrets.token_bytes(32), dtype=np.uint64)
    if _digest(rows, key, by_users=True) != _digest(columns, key, by_users=False):
        raise InvariantError("the entries by items are not those by users")


def _digest(view: View, key: NDArray[np.uint64], *, by_users: bool) -> int:
    """Sum up, modulo 2**64, a hash of every (user, item, value, weight)."""
    total = 0
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        own, partner = view.owners(first, last).astype(np.uint64), view.indices[part].astype(np.uint64)
        hashed = mixed((own if by_users else partner) ^ key[0])
        hashed = mixed((hashed + (partner if by_users else own)) ^ key[1])
        for number, array in enumerate((view.values, view.weights), start=2):
            if array.size:
                hashed = mixed((hashed + _bits(array[part])) ^ key[number])
        total = (total + int(hashed.sum())) % 2**64
        view.forget(first, last)
    return total


def _bits(values: Floats) -> NDArray[np.uint64]:
    return values.view(np.uint64)
