"""Tables whose shards are tasks of a cluster: loaded where they are worked on, and loaded again when they are lost."""

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
from kolmogorov.data.entries.entries import Entries, nothing_there
from kolmogorov.data.entries.view import View, row_blocks
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.numbers.scaling import Extent
from kolmogorov.data.packed.shards import (
    Names,
    PartSummary,
    Shard,
    dealt_part,
    part_summary,
    shard_of_pieces,
    shard_of_rows,
    shard_of_table,
)
from kolmogorov.data.reading.columns import TableForm, pick_columns
from kolmogorov.data.reading.frames.arrow import ParquetSource, is_parquet, opened_parquet
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.frames.sources import FrameSource
from kolmogorov.data.reading.options import ReadingOptions, TableKeywords, taking
from kolmogorov.data.reading.source import Source
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError
from kolmogorov.execution.dask import Dask


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
    if isinstance(source, (str, os.PathLike, Observations, DistributedTable)) or hasattr(source, "to_delayed"):
        return True
    return isinstance(source, (list, tuple)) and any(isinstance(part, (str, os.PathLike)) for part in source)


@taking(TableKeywords)
def distributed_table(dask: Dask, source: Any, **options: Unpack[TableKeywords]) -> DistributedTable:
    """Shard a table; nothing is loaded before it is needed, but for the ids of frames.

    Parameters
    ----------
    dask : Dask
    source : Observations, parquet file or files, or Dask DataFrame
        A packed table is read by the workers, which must see it under the same path; other observations are sent to
        them. Parquet files are read by the workers, a row group at a time.
    **options
        Of files and frames: `user`, `item`, `value`, `weight`, `map`, `missing`, `decimal`, `thousands`, `minimum`,
        `maximum`, `scaling` and `duplicates`, as in `read_ratings`.

    Notes
    -----
    After a fit the ratings of files and frames are brought to the client, where the model keeps them; those of a packed
    table stay in it. A checkpoint of files or frames goes with one size of shards.
    """
    told = ReadingOptions(**options)
    if isinstance(source, DistributedTable):
        if source.dask.client is not dask.client:
            raise DataError("This table is in another cluster.")
        return source
    if isinstance(source, Observations):
        return _of_observations(dask, source)
    form = None
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, (list, tuple)) and source and all(isinstance(p, (str, os.PathLike)) for p in source):
        parts = _parquet_parts(dask, source, told)
    elif hasattr(source, "to_delayed") and hasattr(source, "columns"):
        columns = _columns(list(source.columns), told, "The frame")
        form = TableForm(replace(told, **columns), "The frame", exact=True)
        parts = dask.compute(source[list(dict.fromkeys(columns.values()))].to_delayed())
    else:
        raise DataError(
            f"On a cluster a fit takes Observations, a Dask DataFrame or parquet files, got {type(source).__name__}."
        )
    return _of_parts(dask, parts, form, told)


def _of_observations(dask: Dask, table: Observations) -> DistributedTable:
    bounds = list(table.rows.blocks(dask.shard_ratings))
    digest = table.fingerprint()

    def task(first: int, last: int) -> tuple[Any, ...]:
        if table.path is not None:
            return shard_of_table, str(table.path), digest, first, last
        return shard_of_rows, table.rows.cut(first, last), table.n_items, first

    shards = [dask.submit("load-shard", *task(*ends), place=k / len(bounds)) for k, ends in enumerate(bounds)]
    seen = table.rows.counts > 0
    return DistributedTable(table.users, table.items, table.scale, bounds, shards, seen, table, digest, dask)


def _of_parts(dask: Dask, parts: Sequence[Any], form: TableForm | None, options: ReadingOptions) -> DistributedTable:
    """Count the ids of all parts, then deal every part to the shards."""
    counted = dask.gather([dask.submit("count-ids", _summary, part, form, options) for part in parts])
    parts = [part for part, summary in zip(parts, counted, strict=True) if summary is not None]
    found: list[PartSummary] = [summary for summary in counted if summary is not None]
    if not found:
        raise nothing_there("here")
    users, items = _union([c.users for c in found], "user"), _union([c.items for c in found], "item")
    counts = np.zeros(len(users), dtype=np.int64)
    for c in found:
        counts[users.encode(c.users.ids)] += c.user_counts
    scale = options.scale_request.scale_between(reduce(Extent.joined, (c.extent for c in found)))
    bounds = list(row_blocks(np.concatenate(([0], np.cumsum(counts))), dask.shard_ratings))
    starts = np.array([first for first, _ in bounds])
    names = dask.hold("share-ids", (users, items))
    heaps = [dask.submit("deal-part", _dealt, part, form, names, starts, scale) for part in parts]
    shards = []
    for number, (first, last) in enumerate(bounds):
        pieces = [dask.submit("pick-piece", getitem, heap, number) for heap in heaps]
        task = (shard_of_pieces, first, last, names, options.duplicates, *pieces)
        shards.append(dask.submit("load-shard", *task, place=number / len(bounds)))
    digests = dask.gather([dask.submit("digest-shard", Shard.fingerprint, shard) for shard in shards])
    digest = hashlib.sha256(repr((len(users), len(items), str(scale), digests)).encode()).hexdigest()
    return DistributedTable(users, items, scale, bounds, shards, counts > 0, None, digest, dask)


def _columns(names: list[Any], options: ReadingOptions, origin: str) -> dict[str, Any]:
    """Return the name of the column of each role."""
    found = pick_columns([str(name) for name in names], options, origin)
    return {role: names[at] for role, at in found.items()}


def _parquet_parts(dask: Dask, paths: Sequence[Any], options: ReadingOptions) -> list[ParquetSource]:
    """Return a source for each row group; the columns are those of the first file."""
    require("pyarrow", extra="parquet", purpose="Reading parquet files")
    for path in paths:
        if not is_parquet(path):
            raise DataError(f"On a cluster files must be parquet, got {path}. Pack others with kolmogorov.pack first.")
    files = dask.gather([dask.submit("look-at-parquet", _layout, str(path)) for path in paths])
    columns = _columns(files[0][0], options, str(paths[0]))
    exact = replace(options, **columns)
    for path, (names, _) in zip(paths, files, strict=True):
        for name in columns.values():
            if name not in names:
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


def _source(part: Any, form: TableForm | None) -> Source:
    """Return a part as a source: row groups of files are some already, parts of frames know the names of their rows."""
    if isinstance(part, ParquetSource) or form is None:
        return part  # type: ignore[no-any-return]
    return FrameSource(frame_of(part), form, part.index)


def _summary(part: Any, form: TableForm | None, options: ReadingOptions) -> PartSummary | None:
    """Return what a part holds; None where it is empty."""
    if not isinstance(part, ParquetSource) and not len(part):
        return None
    return part_summary(_source(part, form), options)


def _dealt(part: Any, form: TableForm | None, names: Names, starts: NDArray[np.int64], scale: Scale) -> list[Entries]:
    return dealt_part(_source(part, form), names, starts, scale)


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
