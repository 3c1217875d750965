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

from kolmogorov.data.columns import pick_columns
from kolmogorov.data.observations import Observations
from kolmogorov.data.packed import read_rows
from kolmogorov.data.read import IdColumn, Part, Reading, part_of
from kolmogorov.data.scale import Extent, Scale
from kolmogorov.data.sources import parquet_source, row_groups
from kolmogorov.data.view import Duplicates, Entries, View, duplicate, nothing_there, row_blocks, transposed
from kolmogorov.data.vocabulary import Vocabulary, in_order
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


def distributed_table(dask: Dask, source: Any, **options: Any) -> DistributedTable:
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
    told = Reading(**options)
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
    """Count the ids of all parts, then deal every part to the shards."""
    if not parts:
        raise nothing_there("here")
    found = dask.gather([dask.submit("count-ids", part_summary, part, told) for part in parts])
    users, items = (Vocabulary(in_order(set().union(*(c.ids[side] for c in found)))) for side in (0, 1))
    counts = np.zeros(len(users), dtype=np.int64)
    for c in found:
        counts[users.rows_of(c.ids[0])] += c.user_counts
    scale = told.request.scale_between(reduce(Extent.joined, (c.extent for c in found)))
    bounds = list(row_blocks(np.concatenate(([0], np.cumsum(counts))), dask.shard_ratings))
    starts = np.array([first for first, _ in bounds])
    names = dask.hold("share-ids", (users, items))
    heaps = [dask.submit("deal-part", dealt_part, part, told, names, starts, scale) for part in parts]
    shards = []
    for number, (first, last) in enumerate(bounds):
        pieces = [dask.submit("pick-piece", getitem, heap, number) for heap in heaps]
        task = (_of_pieces, first, last, names, told.duplicates, *pieces)
        shards.append(dask.submit("load-shard", *task, place=number / len(bounds)))
    digests = dask.gather([dask.submit("digest-shard", Shard.fingerprint, shard) for shard in shards])
    digest = hashlib.sha256(repr((len(users), len(items), str(scale), digests)).encode()).hexdigest()
    return DistributedTable(users, items, scale, bounds, shards, counts > 0, None, digest, dask)


def _parquet_parts(dask: Dask, paths: Sequence[Any], told: Reading) -> tuple[list[tuple[str, int]], Reading]:
    """Return the row groups of all files, and how to read them: the columns are those of the first file."""
    for path in paths:
        if not str(path).endswith((".parquet", ".pq")):
            raise DataError(f"On a cluster files must be parquet, got {path}. Pack others with kolmogorov.pack first.")
    files = dask.gather([dask.submit("look-at-parquet", _layout, str(path)) for path in paths])
    names = files[0][0]
    found = pick_columns(names, told.asked, str(paths[0]), by_place=False)
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
    """What one part of a table holds: its ids with how often users occur, and how far its ratings reach."""

    ids: tuple[list[str], list[str]]
    user_counts: NDArray[np.int64]
    extent: Extent


def _read(part: tuple[str, int], told: Reading) -> tuple[Part, IdColumn, IdColumn]:
    """Read a row group."""
    users, items = IdColumn("user"), IdColumn("item")
    return part_of(parquet_source(*part), told, users, items), users, items


def part_summary(part: tuple[str, int], told: Reading) -> PartSummary:
    """Look at one part of a table, and check its ratings and weights."""
    found, users, items = _read(part, told)
    extent = told.request.check(found.ratings, found.weights if found.weights.size else None, found.place)
    counts = np.bincount(found.users, minlength=len(users.texts))
    return PartSummary((list(users.texts), list(items.texts)), counts, extent)


def dealt_part(
    part: tuple[str, int], told: Reading, names: Names, starts: NDArray[np.int64], scale: Scale
) -> list[Entries]:
    """Deal one part of a table, which was looked at before, to the shards that begin at the users `starts`."""
    found, users, items = _read(part, told)
    own = names[0].rows_of(users.texts)[found.users]
    partner = names[1].rows_of(items.texts).astype(np.int32)[found.items]
    entries = Entries(own, partner, scale.probability(found.ratings), found.weights)
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
    return parquet_source(path).names, row_groups(path)
