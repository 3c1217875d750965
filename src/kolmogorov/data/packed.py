"""Packed tables: a folder of Arrow files with the entries in both orders, mapped into memory instead of read.

::

    table.json     scale, what was understood, and a digest of the entries
    users.arrow    a row for each user: id, maybe title, and entries, a list of items, values and maybe weights
    items.arrow    the same by items

Whatever a forged folder says, arrays are only taken from where they lie in the mapped files as they are.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from kolmogorov.data.observations import Observations
from kolmogorov.data.scale import Scale
from kolmogorov.data.told import Provenance
from kolmogorov.data.view import View
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import FileFormatError, FileWriteError, InvariantError, KolmogorovError

#: The arrays of entries and their types.
_ENTRIES: dict[str, Any] = {"indices": np.int32, "values": np.float64, "weights": np.float64}


@dataclass(frozen=True, eq=False)
class MappedView(View):
    """A view whose entries lie in a mapped file; pages that were read can be let go again."""

    folder: Path
    mapping: mmap.mmap
    #: Digest of the entries by users.
    entries: str
    #: The same entries in the other order.
    other: MappedView | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process maps the same file.
        return _rows_again, (self.folder, self.entries, self.other is None)

    def check_intact(self) -> None:
        """Raise where the file has another size than when it was opened: reading past its end would end the process."""
        if self.mapping.size() != len(self.mapping):
            said = "is no longer as long as when it was opened. Pack to another name instead of changing it in use."
            raise FileFormatError(f"A file in {self.folder} {said}")

    def blocks(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows; before each the file is looked at, and after it let go."""
        for first, last in super().blocks(entries):
            self.check_intact()
            yield first, last
            self.forget(first, last)

    def forget(self, first: int, last: int) -> None:
        """Give back the memory behind the entries of some rows; they are read again when they are needed again."""
        start, end = int(self.indptr[first]), int(self.indptr[last])
        whole = pa.py_buffer(self.mapping).address
        for array in (self.indices, self.values, self.weights):
            if hasattr(mmap, "MADV_DONTNEED") and start < end <= array.size:
                begin = array.ctypes.data - whole
                low = (begin + start * array.itemsize) // mmap.PAGESIZE * mmap.PAGESIZE
                self.mapping.madvise(mmap.MADV_DONTNEED, low, begin + end * array.itemsize - low)

    def transposed(self, n_columns: int) -> View:
        """Return the entries in the other order, which the table holds as well."""
        return super().transposed(n_columns) if self.other is None else self.other

    def digest(self) -> str:
        """Return the digest that was stored; of the entries by users."""
        return self.entries


def is_table(path: Any) -> bool:
    """Tell the folder of a packed table."""
    try:
        return (Path(path) / "table.json").is_file()
    except (OSError, TypeError, ValueError):
        return False


# --- writing --------------------------------------------------------------------------------------------------------


def check_free(out: Any) -> None:
    """Refuse a name that something else than a packed table has, and a place where nothing can be written."""
    if "\0" in os.fspath(out) or not os.access(Path(out).absolute().parent, os.W_OK):
        raise FileWriteError(f"{os.fspath(out)!r} cannot be written: there is no folder for it that can be written to.")
    if Path(out).exists() and not is_table(out):
        raise FileWriteError(f"{out} exists and is not a packed table. Choose another name.")


def write_table(out: Any, table: Observations) -> None:
    """Write observations; they take the name when they are whole."""
    target, rows = Path(out), table.rows
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name[:40]}.") as scratch:
            new = Path(scratch, "new")
            new.mkdir()
            _write(new / "users.arrow", table.users, rows)
            _write(new / "items.arrow", table.items, rows.transposed(table.n_items))
            source = None if table.source is None else table.source.to_dict()
            about = {"scale": asdict(table.scale), "entries": rows.digest(), "source": source}
            (new / "table.json").write_text(json.dumps(about), encoding="utf-8")
            if target.exists():
                os.replace(target, Path(scratch, "old"))
            os.replace(new, target)
    except OSError as error:
        raise FileWriteError(f"{out} cannot be written: {error.strerror or error}.") from None


def _write(path: Path, ids: Vocabulary, view: View) -> None:
    """Write one order in one batch."""
    columns: dict[str, Any] = {"id": pa.array(ids.ids.tolist(), pa.large_string())}
    if ids.labels is not None:
        columns["title"] = pa.array(ids.labels.tolist(), pa.large_string())
    # What is mapped is not copied on its way.
    parts = {name: pa.array(array) for name in _ENTRIES if (array := getattr(view, name)).size}
    entries = pa.StructArray.from_arrays(list(parts.values()), names=list(parts))
    columns["entries"] = pa.LargeListArray.from_arrays(pa.array(view.indptr), entries)
    batch = pa.RecordBatch.from_pydict(columns)
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)


# --- reading --------------------------------------------------------------------------------------------------------


def open_table(path: Any, entries: str | None = None) -> Observations:
    """Map a packed table; see `Observations.open`. Where a digest of entries is given, no other table will do."""
    if not is_table(path):
        raise FileFormatError(f"{path} is not a packed table. Make one with kolmogorov.pack.")
    folder = Path(path).absolute()
    try:
        about = json.loads((folder / "table.json").read_text(encoding="utf-8"))
        found, scale = str(about["entries"]), about["scale"]
        if entries not in (None, found):
            raise InvariantError("it is another table than the one that was opened")
        items, columns = _read(folder / "items.arrow", found, None)
        users, rows = _read(folder / "users.arrow", found, columns)
        if rows.weights.size != columns.weights.size or rows.indices.size != columns.indices.size:
            raise InvariantError("the entries by items are not those by users")
        rows.validate(len(users), len(items))
        columns.validate(len(items), len(users))
        ends = Scale(float(scale["minimum"]), float(scale["maximum"]))
        source = None if about["source"] is None else Provenance.from_dict(about["source"])
        return Observations(users, items, rows, ends, source)
    except (
        KolmogorovError,
        pa.ArrowException,
        AttributeError,
        ValueError,
        LookupError,
        TypeError,
        OSError,
        RecursionError,
    ) as error:
        raise FileFormatError(f"{path} is not a packed table that can be used: {str(error).rstrip('.')}.") from None


def _rows_again(folder: Path, entries: str, turned: bool) -> View:
    table = open_table(folder, entries)
    return table.columns if turned else table.rows


def _read(path: Path, entries: str, other: MappedView | None) -> tuple[Vocabulary, MappedView]:
    """Map a file, and find its arrays; those that do not lie in it, as after compression, are refused."""
    with open(path, "rb") as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    whole = pa.py_buffer(mapping)
    batch = ipc.open_file(whole).get_batch(0)
    batch.validate(full=True)
    lists = batch["entries"]
    arrays = {"indptr": lists.offsets.to_numpy(), "weights": np.empty(0)}
    arrays |= {kind.name: lists.values.field(k).to_numpy() for k, kind in enumerate(lists.values.type)}
    mapped = [array for array in arrays.values() if array.size]
    end = whole.address + whole.size
    inside = all(whole.address <= array.ctypes.data <= end - array.nbytes and array.flags.aligned for array in mapped)
    if not inside or any(arrays[name].dtype != kind for name, kind in _ENTRIES.items()):
        raise InvariantError(f"{path.name} does not hold entries as they are written")
    ids: list[Any] = batch["id"].to_pylist()
    titles = batch["title"].to_pylist() if "title" in batch.schema.names else None
    if len(set(ids)) < len(ids) or not all(isinstance(text, str) for text in (*ids, *(titles or ()))):
        raise InvariantError(f"the ids in {path.name} are not distinct texts")
    arrays["indptr"] = arrays["indptr"].copy()
    return Vocabulary(ids, titles), MappedView(
        **arrays, folder=path.parent, mapping=mapping, entries=entries, other=other
    )
