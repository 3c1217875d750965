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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.cluster.dask import Dask
from kolmogorov.data.cells import IdColumn, ids_in_order
from kolmogorov.data.columns import pick_columns
from kolmogorov.data.doubts import refuse_codes
from kolmogorov.data.observations import Observations
from kolmogorov.data.options import Reading
from kolmogorov.data.packed import read_rows
from kolmogorov.data.read import part_of, points_in
from kolmogorov.data.scale import Extent, Scale
from kolmogorov.data.sources import parquet_source, row_groups
from kolmogorov.data.view import Entries, View, duplicate, nothing_there, row_blocks, transposed
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.errors import DataError, ParameterError

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


def distributed_table(dask: Dask, source: Any, **options: Any) -> DistributedTable:
    """Shard a table; nothing is loaded before it is needed, but for the ids of files.

    Parameters
    ----------
    dask : Dask
    source : Observations, or parquet file or files
        A packed table is read by the workers, which must see it under the same path; other observations are sent to
        them. Parquet files, which must be lists, are read by the workers, each row group once.
    **options
        Of files, as in `read_ratings`, but for `wide` and `titles`.

    Notes
    -----
    After a fit the ratings of files are brought to the client, where the model keeps them; those of a packed table stay
    in it. A checkpoint of files goes with one size of shards.
    """
    told = Reading(**options)
    if told.wide or told.titles is not None:
        raise ParameterError("Parquet files on a cluster are lists without titles. Leave out wide= and titles=.")
    if isinstance(source, DistributedTable):
        if source.dask.client is not dask.client:
            raise DataError("This table is in another cluster.")
        return source
    if isinstance(source, Observations):
        return _of_observations(dask, source)
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, (list, tuple)) and source and all(isinstance(p, (str, os.PathLike)) for p in source):
        return _of_parts(dask, *_parquet_parts(dask, source, told))
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


def _of_parts(dask: Dask, parts: Sequence[tuple[str, int]], told: Reading) -> DistributedTable:
    """Read every part once, see what there is together, then deal the parts to the shards."""
    read = [dask.submit("read-part", read_part, part, told) for part in parts]
    found = dask.gather([dask.submit("count-ids", attrgetter("summary"), part) for part in read])
    if not any(summary.user_counts.size for summary in found):
        raise nothing_there("here")
    if told.request.is_open and all(s.points.size or not s.user_counts.size for s in found):
        _refuse_codes_of(parts, found)
    users, items = (
        Vocabulary(ids_in_order(set().union(*(summary.ids[side] for summary in found)), what))
        for side, what in enumerate(("user", "item"))
    )
    counts = np.zeros(len(users), dtype=np.int64)
    for summary in found:
        counts[users.rows_of(summary.ids[0])] += summary.user_counts
    scale = told.request.scale_between(reduce(Extent.joined, (summary.extent for summary in found)))
    bounds = list(row_blocks(np.concatenate(([0], np.cumsum(counts))), dask.shard_ratings))
    starts = np.array([first for first, _ in bounds])
    names = dask.hold("share-ids", (users, items))
    heaps = [dask.submit("deal-part", dealt_part, part, names, starts, scale) for part in read]
    shards = []
    for number, (first, last) in enumerate(bounds):
        pieces = [dask.submit("pick-piece", getitem, heap, number) for heap in heaps]
        task = (_of_pieces, first, last, names, told.merging, *pieces)
        shards.append(dask.submit("load-shard", *task, place=number / len(bounds)))
    digests = dask.gather([dask.submit("digest-shard", Shard.fingerprint, shard) for shard in shards])
    digest = hashlib.sha256(repr((len(users), len(items), str(scale), digests)).encode()).hexdigest()
    return DistributedTable(users, items, scale, bounds, shards, counts > 0, None, digest, dask)


def _refuse_codes_of(parts: Sequence[tuple[str, int]], found: Sequence[PartSummary]) -> None:
    """Refuse a value such as 99 beside 1 to 5, as where a table is read here."""
    points, where = np.unique(np.concatenate([summary.points for summary in found]), return_inverse=True)
    counts = np.bincount(where, np.concatenate([summary.counts for summary in found])).astype(np.int64)

    def place_of(code: float) -> str:
        path, group = next(part for part, s in zip(parts, found, strict=True) if code in s.points)
        return f"{path}, row group {group}"

    refuse_codes(points, counts, place_of)


def _parquet_parts(dask: Dask, paths: Sequence[Any], told: Reading) -> tuple[list[tuple[str, int]], Reading]:
    """Return the row groups of all files, and how to read them: the columns are those of the first file."""
    for path in paths:
        if not str(path).endswith((".parquet", ".pq")):
            raise DataError(f"On a cluster files must be parquet, got {path}. Pack others with kolmogorov.pack first.")
    files = dask.gather([dask.submit("look-at-parquet", _layout, str(path)) for path in paths])
    names = files[0][0]
    found = pick_columns(names, told.asked, str(paths[0]), by_place=False, implicit=told.implicit)
    columns: dict[str, Any] = {role: names[at] for role, at in found.items()}
    for path, (held, _) in zip(paths, files, strict=True):
        for name in columns.values():
            if name not in held:
                raise DataError(f"{path} has no column {name!r}, which {paths[0]} has.")
    parts = [(str(p), k) for p, (_, counts) in zip(paths, files, strict=True) for k, n in enumerate(counts) if n]
    return parts, replace(told, **columns)


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
    """What one part of a table holds: ids, how often each user occurs, how far ratings reach, and which if few."""

    ids: tuple[list[str], list[str]]
    user_counts: NDArray[np.int64]
    extent: Extent
    points: Floats
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadPart:
    """A part that was read and checked; its entries have numbers of its own ids, and ratings as they were given."""

    summary: PartSummary
    entries: Entries

    def __sizeof__(self) -> int:
        return sum(array.nbytes for array in vars(self.entries).values())


def read_part(part: tuple[str, int], told: Reading) -> ReadPart:
    """Read a row group, and check its ratings and weights."""
    users, items = IdColumn("user"), IdColumn("item")
    found = part_of(parquet_source(*part), told, users, items, empty=True)
    weights = found.weights if found.weights.size else None
    extent = told.request.check(found.ratings, weights, found.place) if found.ratings.size else Extent()
    ids, entries = [], []
    for keys, side in ((found.users, users), (found.items, items)):
        # Ids of missing ratings are none of the table's.
        present, numbers = np.unique(keys, return_inverse=True)
        every = list(side.texts)
        ids.append([every[key] for key in present.tolist()])
        entries.append(numbers.astype(np.int32))
    summary = PartSummary((ids[0], ids[1]), np.bincount(entries[0]), extent, *points_in(found.ratings))
    return ReadPart(summary, Entries(entries[0], entries[1], found.ratings, found.weights))


def dealt_part(part: ReadPart, names: Names, starts: NDArray[np.int64], scale: Scale) -> list[Entries]:
    """Deal the entries of a part to the shards that begin at the users `starts`."""
    (users, items), entries = part.summary.ids, part.entries
    own = names[0].rows_of(users)[entries.own]
    partner = names[1].rows_of(items).astype(np.int32)[entries.partner]
    found = Entries(own, partner, scale.probability(entries.values), entries.weights)
    return list(found.dealt(np.searchsorted(starts, own, side="right") - 1, len(starts)))


def _of_pieces(first: int, last: int, names: Names, duplicates: Any, *pieces: Entries) -> Shard:
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
    return parquet_source(path).names, row_groups(path)
