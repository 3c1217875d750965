"""A Dask cluster: work as tasks, errors in plain words, and tables whose shards are tasks.

Shards are loaded where they are worked on, and loaded again when they are lost.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import attrgetter, getitem
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import require
from kolmogorov._support.validation import Integer, byte_count, check_parameters
from kolmogorov._support.wording import Message, named
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
from kolmogorov.errors import DataError, ExecutionError, KolmogorovError

#: Seconds between two looks at a cluster without workers; by judgement.
_LOOK = 2.0


class Dask:
    """Run fits on a Dask cluster (extra ``dask``).

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that was made last.
    shard_ratings : int
        Observations in a shard, about: a run of neighbouring users that is loaded, kept and worked on by one worker.
        Results depend on it to rounding, and on nothing else of the cluster. A table with fewer gives the bits of a fit
        without a cluster. There should be some shards for each thread of the cluster.
    block_memory : int or str
        Bytes of the normal equations of items that are under way at once, for each shard. A worker holds at most twice
        this for each of its shards: what the shards made, and what they are summed to.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> execution = Dask(Client("tcp://scheduler:8786"))  # doctest: +SKIP
    """

    #: Seconds after which a cluster without workers is given up; by judgement.
    patience: ClassVar[float] = 60.0

    def __init__(
        self,
        client: Any = None,
        *,
        shard_ratings: int = 1_000_000,
        block_memory: int | str = "64MB",
    ) -> None:
        check_parameters("Dask", {"shard_ratings": shard_ratings}, {"shard_ratings": Integer(1)})
        self.shard_ratings = int(shard_ratings)
        self.block_memory = byte_count(block_memory, "block_memory")
        distributed = require("distributed", extra="dask", purpose="Dask")
        if client is None:
            try:
                client = distributed.get_client()
            except ValueError:
                raise ExecutionError(
                    "There is no Dask client. Make one: distributed.Client('tcp://host:8786')."
                ) from None
        if not isinstance(client, distributed.Client):
            raise ExecutionError(f"Dask takes a distributed.Client, got {type(client).__name__}.")
        if client.asynchronous:
            raise ExecutionError("Dask takes a client that is not asynchronous.")
        self.client = client
        self._token = uuid.uuid4().hex[:12]
        self._numbers = itertools.count()

    def __deepcopy__(self, memo: Any) -> Dask:
        # scikit-learn's clone copies parameters; there is one cluster.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A model that is pickled leaves the cluster behind: what comes out of the pickle is None.
        return type(None), ()

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address if self.client.scheduler else 'closed'!r})"

    def __enter__(self) -> Dask:
        if self.client.status != "running":
            raise ExecutionError(f"The Dask client is {self.client.status}. Make another: distributed.Client(address).")
        self._check_workers()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the client to whoever made it."""

    @property
    def n_threads(self) -> int:
        """Threads of all workers that are there now."""
        with _plain_words(self.client):
            return max(1, sum(self.client.nthreads().values()))

    def submit(self, name: str, function: Callable[..., Any], *args: Any, place: float | None = None) -> Any:
        """Make a task; its name is what the dashboard shows. The function must be importable on the workers.

        A `place` between 0 and 1 asks for a worker at that place in the row of all workers. Neighbours so get the same
        worker and what they make is summed up without travelling; where that worker is gone, any other will do.
        """
        key = f"{name}-{self._token}-{next(self._numbers)}"
        with _plain_words(self.client):
            where: dict[str, Any] = {}
            workers = sorted(self.client.nthreads()) if place is not None else []
            if place is not None and workers:
                where = {"workers": [workers[int(place * len(workers))]], "allow_other_workers": True}
            return self.client.submit(function, *args, key=key, pure=False, **where)

    def compute(self, parts: Sequence[Any]) -> list[Any]:
        """Turn Dask's lazy objects into futures."""
        with _plain_words(self.client):
            return list(self.client.compute(parts))

    def hold(self, name: str, thing: Any) -> Any:
        """Make a task of something at hand, so that it is sent once and can be sent again."""
        return self.submit(name, _same, thing)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for tasks and return what they returned."""
        with _plain_words(self.client):
            self._wait(futures)
            return list(self.client.gather(list(futures)))

    def _wait(self, futures: Sequence[Any]) -> None:
        """Wait, but not for ever: a cluster that has lost its workers, or its scheduler, is an error."""
        import distributed

        alone_since: float | None = None
        while True:
            try:
                # There may be another client, or none, that is the usual one.
                with self.client.as_current():
                    distributed.wait(list(futures), timeout=_LOOK, return_when="ALL_COMPLETED")
                return
            except TimeoutError:
                if self.client.status != "running":
                    raise OSError("the connection to the scheduler is lost") from None
                alone_since = None if self.client.nthreads() else alone_since or time.monotonic()
                if alone_since is not None and time.monotonic() - alone_since > self.patience:
                    raise ExecutionError(
                        f"The cluster has had no workers for {self.patience:.0f} seconds. Start some and fit again; "
                        "with a checkpoint the fit goes on where it was."
                    ) from None

    def _check_workers(self) -> None:
        """Wait for a first worker, and see that all have this library."""
        from kolmogorov import __version__

        with _plain_words(self.client):
            try:
                self.client.wait_for_workers(1, timeout=self.patience)
            except TimeoutError:
                raise ExecutionError(f"No worker came to {self!r} within {self.patience:.0f} seconds.") from None
            found = self.client.run(_version, on_error="return")
        for worker, version in found.items():
            if isinstance(version, Exception):
                raise ExecutionError(
                    f"The worker {worker} cannot import kolmogorov ({version}). Install kolmogorov {__version__} there."
                )
            if version != __version__:
                raise ExecutionError(f"The worker {worker} has kolmogorov {version}, this is {__version__}.")


def _same(thing: Any) -> Any:
    return thing


def _version() -> str:
    from kolmogorov import __version__

    return __version__


@contextmanager
def _plain_words(client: Any) -> Iterator[None]:
    """Say in one sentence what became of the cluster."""
    try:
        yield
    except Exception as error:
        sentence = _sentence(error, client)
        if sentence is None:
            raise
        raise ExecutionError(sentence) from error


def _sentence(error: Exception, client: Any) -> str | Message | None:
    """Word an error of the cluster; None for any other, such as one that a task raised."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    if isinstance(error, KilledWorker):
        return (
            f"A task ended its workers again and again, most likely for lack of memory: {error}. Take "
            "workers with more memory, or less at a time: a smaller " + named("shard_ratings") + "."
        )
    if isinstance(error, KolmogorovError):
        return None
    lost = (CancelledError, FutureCancelledError, CommClosedError)
    # A client that was closed, by whomever, answers with errors of many kinds.
    if isinstance(error, lost) or client.status != "running":
        return (
            "The Dask scheduler went away while the fit was running. With a checkpoint, fitting again on another "
            "cluster goes on where it was."
        )
    return None


# --- tables -----------------------------------------------------------------------------------------------------------


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
