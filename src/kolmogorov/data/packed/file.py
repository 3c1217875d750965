"""The file of a packed table: a container with the observations in both orders, written and read block by block."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support import container
from kolmogorov._support.container import PAGE, Contents, Growing, Section, Writer
from kolmogorov._support.invariants import check_between, check_indices, check_indptr
from kolmogorov._support.seeds import mixed
from kolmogorov.data.entries.view import View, fingerprint_of
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.numbers.weights import LARGEST_WEIGHT, LEAST_WEIGHT
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
