"""Tables whose shards are tasks of a cluster: loaded where they are worked on, and loaded again when they are lost.

A shard has neighbouring users with all their observations.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import attrgetter, getitem
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import require
from kolmogorov.data.entries.entries import Duplicates, Entries, duplicate, nothing_there
from kolmogorov.data.entries.view import View, row_blocks, transposed
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Extent, Scale
from kolmogorov.data.packed.table import read_rows
from kolmogorov.data.reading.columns import TableForm, pick_columns
from kolmogorov.data.reading.frames.arrow import ParquetSource, is_parquet, opened_parquet
from kolmogorov.data.reading.gathering import Intake
from kolmogorov.data.reading.options import ReadingOptions, TableKeywords, taking
from kolmogorov.data.reading.source import Source
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError
from kolmogorov.execution.dask import Dask

#: All users and all items of a table.
Names = tuple[Vocabulary, Vocabulary]


@dataclass(frozen=True, eq=False)
class Shard:
    """The users from `first` on of a table, counted from there in both orders; `columns` has all items."""

    first: int
    rows: View
    columns: View

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.rows.indptr.size - 1

    def __sizeof__(self) -> int:
        # What a scheduler that weighs moving it should know.
        return self.rows.nbytes + self.columns.nbytes

    def fingerprint(self) -> str:
        """Return a digest of the entries."""
        return hashlib.sha256(str(self.first).encode() + b"".join(self.rows.digests())).hexdigest()


@dataclass(frozen=True, eq=False)
class DistributedTable:
    """Observations in a cluster. Every one of them is in one shard, in both orders.

    Attributes
    ----------
    users, items : Vocabulary
    scale : Scale
    bounds : list of (int, int)
        The users of each shard.
    shards : list of Future
        Of `Shard`.
    source : Observations or None
        Where the same observations are at hand, or mapped.
    """

    users: Vocabulary
    items: Vocabulary
    scale: Scale
    bounds: list[tuple[int, int]]
    shards: list[Any]
    seen_users: NDArray[np.bool_]
    source: Observations | None
    digest: str
    dask: Dask

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def fingerprint(self) -> str:
        """Return a digest of everything a fit depends on."""
        return self.digest

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value in [0, 1], or None where there are no entries."""
        if self.source is not None:
            return self.source.extent()
        found = self.dask.gather([self.dask.submit("measure-shard", _extent, shard) for shard in self.shards])
        ends = [end for extent in found if extent for end in extent]
        return (min(ends), max(ends)) if ends else None

    def collected(self) -> Observations:
        """Return the observations, here."""
        if self.source is not None:
            return self.source
        views = self.dask.gather([self.dask.submit("collect-rows", attrgetter("rows"), shard) for shard in self.shards])
        ends = np.cumsum([view.indices.size for view in views])
        starts = [0, *ends[:-1].tolist()]
        indptr = [np.zeros(1, dtype=np.int64)]
        indptr += [view.indptr[1:] + start for view, start in zip(views, starts, strict=True)]
        parts = (np.concatenate([getattr(view, name) for view in views]) for name in ("indices", "values", "weights"))
        return Observations(self.users, self.items, View(np.concatenate(indptr), *parts), self.scale)


def is_distributed(source: Any) -> bool:
    """Whether workers can load a table themselves, or it is cut up as it is; others are made observations of first."""
    if isinstance(source, (str, os.PathLike, Observations, DistributedTable)):
        return True
    return isinstance(source, (list, tuple)) and any(isinstance(part, (str, os.PathLike)) for part in source)


@taking(TableKeywords)
def distributed_table(dask: Dask, source: Any, **options: Unpack[TableKeywords]) -> DistributedTable:
    """Shard a table; nothing is loaded before it is needed, but for the ids of files.

    Parameters
    ----------
    dask : Dask
    source : Observations, or parquet file or files
        A packed table is read by the workers, which must see it under the same path; other observations are sent to
        them. Parquet files are read by the workers, a row group at a time.
    **options
        Of files: `user`, `item`, `value`, `weight`, `map`, `missing`, `decimal`, `thousands`, `minimum`,
        `maximum`, `scaling` and `duplicates`, as in `read_ratings`.

    Notes
    -----
    After a fit the ratings of files are brought to the client, where the model keeps them; those of a packed table stay
    in it. A checkpoint of files goes with one size of shards.
    """
    told = ReadingOptions(**options)
    if isinstance(source, DistributedTable):
        if source.dask.client is not dask.client:
            raise DataError("This table is in another cluster.")
        return source
    if isinstance(source, Observations):
        return _of_observations(dask, source)
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, (list, tuple)) and source and all(isinstance(p, (str, os.PathLike)) for p in source):
        return _of_parts(dask, _parquet_parts(dask, source, told), told)
    raise DataError(f"On a cluster a fit takes Observations or parquet files, got {type(source).__name__}.")


def _of_observations(dask: Dask, table: Observations) -> DistributedTable:
    bounds = list(table.rows.blocks(dask.shard_ratings))
    digest = table.fingerprint()
    shards = []
    for k, (first, last) in enumerate(bounds):
        if table.path is not None:
            task: tuple[Any, ...] = (_of_packed, str(table.path), digest, first, last)
        else:
            task = (_of_rows, table.rows.cut(first, last), table.n_items, first)
        shards.append(dask.submit("load-shard", *task, place=k / len(bounds)))
    seen = table.rows.counts > 0
    return DistributedTable(table.users, table.items, table.scale, bounds, shards, seen, table, digest, dask)


def _of_parts(dask: Dask, parts: Sequence[ParquetSource], options: ReadingOptions) -> DistributedTable:
    """Count the ids of all parts, then deal every part to the shards."""
    if not parts:
        raise nothing_there("here")
    found = dask.gather([dask.submit("count-ids", part_summary, part, options) for part in parts])
    users, items = _union([c.users for c in found], "user"), _union([c.items for c in found], "item")
    counts = np.zeros(len(users), dtype=np.int64)
    for c in found:
        counts[users.encode(c.users.ids)] += c.user_counts
    scale = options.scale_request.scale_between(reduce(Extent.joined, (c.extent for c in found)))
    bounds = list(row_blocks(np.concatenate(([0], np.cumsum(counts))), dask.shard_ratings))
    starts = np.array([first for first, _ in bounds])
    names = dask.hold("share-ids", (users, items))
    heaps = [dask.submit("deal-part", dealt_part, part, names, starts, scale) for part in parts]
    shards = []
    for number, (first, last) in enumerate(bounds):
        pieces = [dask.submit("pick-piece", getitem, heap, number) for heap in heaps]
        task = (_of_pieces, first, last, names, options.duplicates, *pieces)
        shards.append(dask.submit("load-shard", *task, place=number / len(bounds)))
    digests = dask.gather([dask.submit("digest-shard", Shard.fingerprint, shard) for shard in shards])
    digest = hashlib.sha256(repr((len(users), len(items), str(scale), digests)).encode()).hexdigest()
    return DistributedTable(users, items, scale, bounds, shards, counts > 0, None, digest, dask)


def _parquet_parts(dask: Dask, paths: Sequence[Any], options: ReadingOptions) -> list[ParquetSource]:
    """Return a source for each row group; the columns are those of the first file."""
    require("pyarrow", extra="parquet", purpose="Reading parquet files")
    for path in paths:
        if not is_parquet(path):
            raise DataError(f"On a cluster files must be parquet, got {path}. Pack others with kolmogorov.pack first.")
    files = dask.gather([dask.submit("look-at-parquet", _layout, str(path)) for path in paths])
    names = files[0][0]
    columns: dict[str, Any] = {role: names[at] for role, at in pick_columns(names, options, str(paths[0])).items()}
    exact = replace(options, **columns)
    for path, (held, _) in zip(paths, files, strict=True):
        for name in columns.values():
            if name not in held:
                raise DataError(f"{path} has no column {name!r}, which {paths[0]} has.")
    return [
        ParquetSource(str(path), TableForm(exact, str(path), exact=True), number)
        for path, (_, counts) in zip(paths, files, strict=True)
        for number, count in enumerate(counts)
        if count
    ]


# --- what tasks call ---------------------------------------------------------------------------------------------


def _extent(shard: Shard) -> tuple[float, float] | None:
    return shard.rows.extent()


def _of_packed(path: str, fingerprint: str, first: int, last: int) -> Shard:
    """Read some users of a packed table, which must be the one with this fingerprint."""
    return _of_rows(*read_rows(path, fingerprint, first, last), first)


def _of_rows(rows: View, n_items: int, first: int) -> Shard:
    """Make a shard of rows at hand."""
    return Shard(first, rows, transposed(rows, n_items))


@dataclass(frozen=True, eq=False)
class PartSummary:
    """What one part of a table holds: its ids with how often users occur, and how far its ratings reach."""

    users: Vocabulary
    user_counts: NDArray[np.int64]
    items: Vocabulary
    extent: Extent


def part_summary(part: Source, options: ReadingOptions) -> PartSummary:
    """Look at one part of a table, and check its ratings and weights."""
    intake = Intake([part], options)
    entries = Entries.joined(intake)
    users, items = intake.finish()
    counts = np.bincount(intake.encoded(entries).own, minlength=len(users))
    return PartSummary(users, counts, items, intake.extent)


def dealt_part(part: Source, names: Names, starts: NDArray[np.int64], scale: Scale) -> list[Entries]:
    """Deal one part of a table, which was looked at before, to the shards that begin at the users `starts`."""
    intake = Intake([part], ReadingOptions(scaling="minmax"))
    entries = Entries.joined(intake)
    own_users, own_items = intake.finish()
    entries = intake.encoded(entries)
    own = names[0].encode(own_users.ids)[entries.own]
    partner = names[1].encode(own_items.ids).astype(np.int32)[entries.partner]
    entries = Entries(own, partner, scale.probability(entries.values), entries.weights)
    return list(entries.dealt(np.searchsorted(starts, own, side="right") - 1, len(starts)))


def _of_pieces(first: int, last: int, names: Names, duplicates: Duplicates, *pieces: Entries) -> Shard:
    """Put together what all parts have for one shard."""
    users, items = names
    entries = Entries.joined(pieces)
    entries = replace(entries, own=entries.own - first)

    def complain(a: int, b: int) -> DataError:
        pair = users.ids.item(int(entries.own[a]) + first), items.ids.item(int(entries.partner[a]))
        return duplicate(*pair, "a row before it", "A row of the frame")

    found = entries.sorted(last - first, len(items), duplicates, complain)
    return _of_rows(found.view(last - first), len(items), first)


def _layout(path: str) -> tuple[list[str], list[int]]:
    """Return the names of the columns, and the number of rows of each row group."""
    if not os.path.exists(path):
        raise DataError(f"There is no file {path}. Workers must see files under the same path.")
    with opened_parquet(path) as file:
        about = file.metadata
        return list(file.schema_arrow.names), [about.row_group(k).num_rows for k in range(file.num_row_groups)]


def _union(parts: list[Vocabulary], what: str) -> Vocabulary:
    if len({part.holds_strings for part in parts}) > 1:
        raise DataError(f"The {what} ids are integers in some parts of the table and texts in others.")
    if not parts[0].holds_strings:
        return Vocabulary(np.unique(np.concatenate([part.ids for part in parts])))
    return Vocabulary(np.array(sorted(set().union(*(part.ids.tolist() for part in parts))), dtype=object))
