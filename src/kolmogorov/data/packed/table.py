"""Packed tables: entries in a file that is mapped into memory instead of read; `file` says what is in it."""

from __future__ import annotations

import mmap
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support import container
from kolmogorov._support.container import PAGE, Contents, Growing, Section, Writer
from kolmogorov._support.invariants import check_between, check_indices, check_indptr
from kolmogorov._support.seeds import mixed
from kolmogorov.data.entries.view import View, fingerprint_of
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import LARGEST_WEIGHT, LEAST_WEIGHT, Scale
from kolmogorov.data.reading.provenance import Provenance
from kolmogorov.errors import FileFormatError, InvariantError, KolmogorovError

KIND = "table"
#: The arrays of a view, with the type of each.
VIEW = {"indptr": "int64", "indices": "int32", "values": "float64", "weights": "float64"}


class TableWriter:
    """Writes a packed table to a stream: both orders in any order, then `finish`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._writer = Writer(stream, PAGE)

    def reserve_view(self, order: str, n_rows: int, n_entries: int, *, weighted: bool) -> dict[str, Growing]:
        """Make room for the four arrays of one order."""
        sizes = {"indptr": n_rows + 1, "indices": n_entries, "values": n_entries, "weights": n_entries * weighted}
        return {part: self._writer.reserve(f"{order}_{part}", VIEW[part], size) for part, size in sizes.items()}

    def finish(
        self, users: Vocabulary, items: Vocabulary, scale: Scale, source: Provenance | None, *, binary: bool
    ) -> None:
        """Write the ids and the footer; from here on the file is a table."""
        for name, array in (users.arrays("users") | items.arrays("items")).items():
            self._writer.reserve(name, array.dtype.name, array.size).append(array)
        parts = [self._writer.sections[f"rows_{part}"].digest for part in VIEW]
        meta = {
            "n_users": len(users),
            "n_items": len(items),
            "scale": asdict(scale),
            "binary": binary,
            "fingerprint": fingerprint_of(len(users), len(items), scale, parts),
            "source": None if source is None else source.to_dict(),
        }
        self._writer.finish(KIND, meta)


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as our files do. A pipe is not looked into: what is read of it is gone."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as stream:
            return stream.read(5) == container.MAGIC[:5]
    except (OSError, ValueError):
        return False


@dataclass(frozen=True)
class TableHeader:
    """What the footer of a table says, checked: sizes against the file, parts against each other."""

    n_users: int
    n_items: int
    scale: Scale
    #: Whether every value is 0 or 1.
    binary: bool
    #: Digest of everything a fit depends on; workers and checkpoints know a table by it.
    fingerprint: str
    #: What was understood of the files that it was packed from.
    source: Provenance | None
    #: The sections are ``rows_indptr``, ``columns_values``, ..., and the ids.
    contents: Contents

    @property
    def sections(self) -> dict[str, Section]:
        """Where the arrays lie."""
        return self.contents.sections

    def shape(self, order: str) -> tuple[int, int]:
        """Return the numbers of rows and of partners in one order."""
        return (self.n_users, self.n_items) if order == "rows" else (self.n_items, self.n_users)


def read_header(stream: BinaryIO, path: Any) -> TableHeader:
    """Read what a table's footer says."""
    contents = container.contents_of(stream, path)
    if contents.kind != KIND:
        raise FileFormatError(
            f"{path} holds a {contents.kind[:40]!r}, not a packed table. Make one with `kolmogorov data pack`."
        )
    try:
        return _header(contents)
    except (*container.DAMAGE, KolmogorovError) as error:
        container.malformed(path, str(error).removesuffix("."))


def _header(contents: Contents) -> TableHeader:
    meta, sections = contents.meta, contents.sections
    for name, kind in (("n_users", int), ("n_items", int), ("binary", bool), ("fingerprint", str)):
        if type(meta[name]) is not kind:
            raise InvariantError(f"its {name} is no {kind.__name__}")
    ends = [meta["scale"][name] for name in ("minimum", "maximum")]
    if not all(type(end) in (int, float) for end in ends):
        raise InvariantError("its scale is not valid")
    # Ends are taken as they were written: the fingerprint tells 5 from 5.0.
    source = None if meta["source"] is None else Provenance.from_dict(meta["source"])
    sizes = meta["n_users"], meta["n_items"]
    header = TableHeader(*sizes, Scale(*ends), meta["binary"], meta["fingerprint"], source, contents)
    n_entries = sections["rows_indices"].size
    for order in ("rows", "columns"):
        parts = {"indptr": header.shape(order)[0] + 1, "indices": n_entries, "values": n_entries}
        parts["weights"] = n_entries if sections["rows_weights"].size else 0
        for part, size in parts.items():
            section = sections[f"{order}_{part}"]
            if section.shape != (size,) or section.dtype != VIEW[part] or n_entries < 1:
                raise InvariantError(f"the arrays of the {order} do not belong together")
    digests = [bytes.fromhex(sections[f"rows_{part}"].sha256) for part in VIEW]
    if fingerprint_of(header.n_users, header.n_items, header.scale, digests) != header.fingerprint:
        raise InvariantError("its fingerprint does not match")
    return header


def check_checksums(stream: BinaryIO, header: TableHeader, path: Any) -> None:
    """Read the file once in small blocks and compare every checksum."""
    container.check_gaps(stream, header.contents, path)
    for section in header.sections.values():
        for _ in container.blocks_of(stream, section, path, verify=True):
            pass


def check_order(view: View, header: TableHeader, order: str, *, numbers: bool) -> None:
    """Check one order of a mapped table in blocks; kernels do not check bounds, so indices are always looked at."""
    n_rows, n_partners = header.shape(order)
    if view.indptr.size != n_rows + 1:
        raise InvariantError(f"{order}_indptr has the wrong length")
    check_indptr(f"{order}_indptr", view.indptr, view.indices.size)
    for first, last in view.blocks():
        part = slice(int(view.indptr[first]), int(view.indptr[last]))
        begins = view.indptr[first : last + 1] - view.indptr[first]
        check_indices(f"{order}_indices", begins, view.indices[part], n_partners)
        if numbers:
            check_between(f"{order}_values", view.values[part], 0.0, 1.0)
            if view.weights.size:
                check_between(f"{order}_weights", view.weights[part], LEAST_WEIGHT, LARGEST_WEIGHT)
        view.forget(first, last)


def check_same_entries(rows: View, columns: View) -> None:
    """Check that both orders hold the same entries, whatever the order: sums over a keyed hash of each.

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
        hashed = mixed((hashed + view.values[part].view(np.uint64)) ^ key[2])
        if view.weights.size:
            hashed = mixed((hashed + view.weights[part].view(np.uint64)) ^ key[3])
        total = (total + int(hashed.sum())) % 2**64
        view.forget(first, last)
    return total


class MappedView(View):
    """A view whose entries lie in a mapped file; pages that were read can be let go again."""

    def __init__(self, mapping: mmap.mmap, parts: dict[str, NDArray[Any]], offsets: dict[str, int]) -> None:
        super().__init__(**parts)
        object.__setattr__(self, "_mapping", mapping)
        object.__setattr__(self, "_offsets", offsets)

    _mapping: mmap.mmap
    _offsets: dict[str, int]

    def check_intact(self) -> None:
        """Raise where the file has another size than when it was opened: reading past its end would end the process."""
        if self._mapping.size() != len(self._mapping):
            raise FileFormatError(
                f"A packed table was {len(self._mapping)} bytes long when it was opened and is {self._mapping.size()} "
                "now. Do not change tables that are in use; pack to another name, or open it again."
            )

    def blocks(self, entries: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows; before each the file is looked at."""
        for first, last in super().blocks(entries):
            self.check_intact()
            yield first, last

    def forget(self, first: int, last: int) -> None:
        """Give back the memory behind the entries of some rows; they are read again when they are needed again."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        start, end = int(self.indptr[first]), int(self.indptr[last])
        for name, offset in self._offsets.items():
            array: NDArray[Any] = getattr(self, name)
            if array.size and end > start:
                low = (offset + start * array.itemsize) // mmap.PAGESIZE * mmap.PAGESIZE
                high = offset + end * array.itemsize
                self._mapping.madvise(mmap.MADV_DONTNEED, low, high - low)


@dataclass(frozen=True, eq=False)
class PackedTable:
    """A packed table, mapped: where it lies, what its footer says, and its parts."""

    path: Path
    header: TableHeader
    users: Vocabulary
    items: Vocabulary
    rows: MappedView
    columns: MappedView


def _changed(path: Any) -> FileFormatError:
    return FileFormatError(f"{path} is another table than the one that was opened.")


def open_table(path: str | os.PathLike[str], verify: bool = True, fingerprint: str | None = None) -> PackedTable:
    """Map a packed table; see `Observations.open`. Where a fingerprint is given, no other table will do."""
    container.check_path(path)
    target = Path(path).absolute()
    with container.opened(target) as stream:
        header = read_header(stream, path)
        if fingerprint is not None and header.fingerprint != fingerprint:
            raise _changed(path)
        if verify:
            check_checksums(stream, header, path)
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def array(name: str) -> NDArray[Any]:
        section = header.sections[name]
        return np.frombuffer(mapping, container.DTYPES[section.dtype], section.size, section.offset)

    try:
        views = []
        for order in ("rows", "columns"):
            parts = {part: array(f"{order}_{part}") for part in VIEW}
            parts["indptr"] = parts["indptr"].copy()
            offsets = {part: header.sections[f"{order}_{part}"].offset for part in ("indices", "values", "weights")}
            views.append(MappedView(mapping, parts, offsets))
            check_order(views[-1], header, order, numbers=verify)
        if verify:
            check_same_entries(*views)
            # Models choose their likelihood by it.
            if views[0].is_binary() != header.binary:
                raise InvariantError("what its footer says of its values is not true")
        small = {name: array(name).copy() for name in header.sections if name.startswith(("users", "items"))}
        users, items = Vocabulary.from_arrays("users", small), Vocabulary.from_arrays("items", small)
        if (len(users), len(items)) != (header.n_users, header.n_items):
            raise InvariantError("the number of ids is wrong")
        return PackedTable(target, header, users, items, *views)
    except (*container.DAMAGE, KolmogorovError) as error:
        container.malformed(path, str(error).removesuffix("."))


def read_rows(path: str | os.PathLike[str], fingerprint: str, first: int, last: int) -> tuple[View, int]:
    """Read some users' rows of a packed table into memory, and say how many items there are.

    A table with another fingerprint is refused: it was packed again in the meantime.
    """
    with container.opened(path) as stream:
        header = read_header(stream, path)
        if header.fingerprint != fingerprint:
            raise _changed(path)

        def read(part: str, start: int, end: int) -> NDArray[Any]:
            section = header.sections[f"rows_{part}"]
            kind = np.dtype(container.DTYPES[section.dtype])
            stream.seek(section.offset + start * kind.itemsize)
            content = np.frombuffer(stream.read((end - start) * kind.itemsize), kind)
            if content.size != end - start:
                container.malformed(path, "it became shorter while it was read")
            return content

        indptr = read("indptr", first, last + 1)
        start, end = int(indptr[0]), int(indptr[-1])
        if not 0 <= start <= end <= header.sections["rows_indices"].size:
            container.malformed(path, "rows_indptr does not increase")
        weights = read("weights", start, end) if header.sections["rows_weights"].size else np.empty(0)
        view = View(indptr - start, read("indices", start, end), read("values", start, end), weights)
        try:
            view.validate(last - first, header.n_items)
        except InvariantError as error:
            container.malformed(path, str(error))
    return view, header.n_items
