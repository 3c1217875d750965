"""The descent over shards of a table: theta stays with the users' shard, psi travels, normal equations are summed up.

A shard has neighbouring users with all their observations; of Parquet files each row group is read once. A sweep is
made of these tasks, named so in Dask's dashboard:

- ``normal-equations`` of a block of items, from one shard; ``add-equations`` in a tree over the shards that is always
  the same; ``solve-items`` for the block;
- ``broadcast-psi``, the bits of all items;
- ``user-step`` for each shard.

Every task can be made again from the table, the seed and the psis, so Dask rebuilds what a lost worker held.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import attrgetter, getitem, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.cluster.dask import Dask
from kolmogorov.data.columns import refuse_codes
from kolmogorov.data.observations import Observations
from kolmogorov.data.read import Reading, part_of, points_in
from kolmogorov.data.scale import Extent, Scale
from kolmogorov.data.sources import parquet_source, row_groups
from kolmogorov.data.view import Entries, View, duplicate, nothing_there, row_blocks, transposed
from kolmogorov.data.vocabulary import IdColumn, Vocabulary, in_order
from kolmogorov.descent.engine import Engine, HalfStep, State, solved_rows
from kolmogorov.descent.problem import Mass, Partners, Problem, UserTotals
from kolmogorov.errors import DataError, ParameterError

# Numbers by judgement.
#: Blocks of items that are under way at once, for each thread of the cluster, and at most; and items of a block at
#: least.
_WINDOW, _LARGEST_WINDOW = 2, 32
_LEAST_ROWS = 64

#: Normal equations of a block of items.
Equations = tuple[Floats, Floats]
#: The thetas of a shard's users, and what the rest of the world needs to know of them.
UserBlock = tuple[Floats, UserTotals]


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shard:
    """The users from `first` on of a table, counted from there in both orders; `columns` has all items."""

    first: int
    rows: View
    columns: View

    @classmethod
    def of(cls, rows: View, n_items: int, first: int) -> Shard:
        """Make a shard of rows at hand."""
        return cls(first, rows, transposed(rows, n_items))

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value, if there are any."""
        return self.rows.extent()

    def mass(self) -> Mass:
        """Return what the objective needs to know of the values."""
        with one_blas_thread():
            return Mass.of(self.rows)

    def digest(self) -> str:
        """Return a digest of the entries."""
        return hashlib.sha256(str(self.first).encode() + b"".join(self.rows.digests())).hexdigest()

    def __sizeof__(self) -> int:
        # What a scheduler that weighs moving it should know.
        return self.rows.nbytes + self.columns.nbytes


@dataclass(frozen=True, eq=False)
class DistributedTable:
    """Observations in a cluster: `shards` are futures, of the users between their `bounds`.

    The `source` are the same observations where they are at hand.
    """

    users: Vocabulary
    items: Vocabulary
    scale: Scale
    bounds: list[tuple[int, int]]
    shards: list[Any]
    seen_users: NDArray[np.bool_]
    source: Observations | None
    dask: Dask

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def of_shards(self, name: str, function: Any) -> list[Any]:
        """Return what a function says of each shard."""
        return self.dask.gather([self.dask.submit(name, function, shard) for shard in self.shards])

    def fingerprint(self) -> str:
        """Return a digest of everything a fit depends on."""
        if self.source is not None:
            return self.source.fingerprint()
        digests = self.of_shards("digest-shard", Shard.digest)
        return hashlib.sha256(repr((self.n_users, self.n_items, str(self.scale), digests)).encode()).hexdigest()

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value in [0, 1], or None where there are no entries."""
        if self.source is not None:
            return self.source.extent()
        ends = [end for extent in self.of_shards("measure-shard", Shard.extent) if extent for end in extent]
        return (min(ends), max(ends)) if ends else None

    def collected(self) -> Observations:
        """Return the observations, here."""
        if self.source is not None:
            return self.source
        views = self.of_shards("collect-rows", attrgetter("rows"))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([view.counts for view in views]))]).astype(np.int64)
        parts = (np.concatenate([getattr(view, name) for view in views]) for name in ("indices", "values", "weights"))
        return Observations(self.users, self.items, View(indptr, *parts), self.scale)


def is_distributed(source: Any) -> bool:
    """Whether workers can load a table themselves, or it is cut up as it is; others are made observations of first."""
    if isinstance(source, (str, os.PathLike, Observations, DistributedTable)):
        return True
    return isinstance(source, (list, tuple)) and any(isinstance(part, (str, os.PathLike)) for part in source)


def distributed_table(dask: Dask, source: Any, **options: Any) -> DistributedTable:
    """Shard a table.

    Parameters
    ----------
    dask : Dask
    source : Observations, or parquet file or files
        Observations are sent to the workers. Parquet files, which must be lists, are read by them, each row group once;
        they must see them under the same path.
    **options
        Of files, as in `read_ratings`, but for `wide` and `titles`.

    Notes
    -----
    After a fit the ratings of files are brought to the client, where the model keeps them. A checkpoint of files goes
    with one size of shards.
    """
    told = Reading(**options)
    if told.wide or told.titles is not None:
        raise ParameterError("Parquet files on a cluster are lists without titles. Leave out wide= and titles=.")
    if isinstance(source, DistributedTable):
        if source.dask.client is not dask.client:
            raise DataError("This table is in another cluster.")
        return source
    if isinstance(source, Observations):
        bounds = list(source.rows.blocks(dask.shard_ratings))
        cuts = [(source.rows.cut(first, last), source.n_items, first) for first, last in bounds]
        shards = _loaded(dask, Shard.of, cuts)
        seen = source.rows.counts > 0
        return DistributedTable(source.users, source.items, source.scale, bounds, shards, seen, source, dask)
    paths = list(source) if isinstance(source, (list, tuple)) else [source]
    if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise DataError(f"On a cluster a fit takes Observations or parquet files, got {type(source).__name__}.")
    if other := [path for path in paths if not str(path).endswith((".parquet", ".pq"))]:
        raise DataError(f"On a cluster files must be parquet, got {other[0]}. Convert it to Parquet first.")
    return _of_files(dask, [str(path) for path in paths], told)


def _loaded(dask: Dask, function: Any, given: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Have shards made, neighbours by the same worker."""
    return [dask.submit("load-shard", function, *each, place=k / len(given)) for k, each in enumerate(given)]


def _of_files(dask: Dask, paths: Sequence[str], told: Reading) -> DistributedTable:
    """Read every row group once, see what there is together, then deal the entries to the shards."""
    sizes = dask.gather([dask.submit("look-at-parquet", _row_groups, path) for path in paths])
    parts = [(path, k) for path, groups in zip(paths, sizes, strict=True) for k, n in enumerate(groups) if n]
    read = [dask.submit("read-part", _read, part, told) for part in parts]
    found: list[PartSummary] = dask.gather([dask.submit("look-at-part", itemgetter(0), part) for part in read])
    if not any(summary.user_counts.size for summary in found):
        raise nothing_there("here")
    if told.is_open and all(s.points.size or not s.user_counts.size for s in found):
        points, where = np.unique(np.concatenate([summary.points for summary in found]), return_inverse=True)
        times = np.bincount(where, np.concatenate([summary.times for summary in found])).astype(np.int64)
        first = dict(
            reversed([(code, part) for part, summary in zip(parts, found, strict=True) for code in summary.points])
        )
        refuse_codes(points, times, lambda code: "{}, row group {}".format(*first[code]))
    users, items = (
        Vocabulary(in_order(set().union(*(summary.ids[side] for summary in found)), what))
        for side, what in enumerate(("user", "item"))
    )
    counts = np.zeros(len(users), dtype=np.int64)
    for summary in found:
        counts[users.rows_of(summary.ids[0])] += summary.user_counts
    scale = told.scale_between(reduce(Extent.joined, (summary.extent for summary in found)))
    bounds = list(row_blocks(np.concatenate(([0], np.cumsum(counts))), dask.shard_ratings))
    names, starts = dask.hold("share-ids", (users, items)), np.array([first for first, _ in bounds])
    heaps = [dask.submit("deal-part", _dealt, part, names, starts, scale) for part in read]
    pieces = [[dask.submit("pick-piece", getitem, heap, k) for heap in heaps] for k in range(len(bounds))]
    given = [(*ends, names, told.merging, *own) for ends, own in zip(bounds, pieces, strict=True)]
    return DistributedTable(users, items, scale, bounds, _loaded(dask, _joined, given), counts > 0, None, dask)


@dataclass(frozen=True, eq=False)
class PartSummary:
    """What one row group holds: ids, how often each user occurs, how far ratings reach, and which if few how often."""

    ids: list[list[str]]
    user_counts: NDArray[np.int64]
    extent: Extent
    points: Floats
    times: NDArray[np.int64]


# What tasks call.


def _row_groups(path: str) -> list[int]:
    if not os.path.exists(path):
        raise DataError(f"There is no file {path}. Workers must see files under the same path.")
    parquet_source(path)
    return row_groups(path)


def _read(part: tuple[str, int], told: Reading) -> tuple[PartSummary, tuple[Any, ...]]:
    """Read a row group and check its ratings and weights; its entries have numbers of its own ids."""
    users, items = (IdColumn(what, told.missing) for what in ("user", "item"))
    found = part_of(parquet_source(*part), told, users, items, empty=True)
    weights = found.weights if found.weights.size else None
    extent = told.check(found.ratings, weights, found.place) if found.ratings.size else Extent()
    ids, entries = [], []
    for keys, side in ((found.users, users), (found.items, items)):
        # Ids of missing ratings are none of the table's.
        present, numbers = np.unique(keys, return_inverse=True)
        every = list(side.texts)
        ids.append([every[key] for key in present.tolist()])
        entries.append(numbers.astype(np.int32))
    summary = PartSummary(ids, np.bincount(entries[0]), extent, *points_in(found.ratings))
    return summary, (*entries, found.ratings, found.weights)


def _dealt(
    part: tuple[PartSummary, tuple[Any, ...]],
    names: tuple[Vocabulary, Vocabulary],
    starts: NDArray[np.int64],
    scale: Scale,
) -> list[Entries]:
    """Deal the entries of a part to the shards that begin at the users `starts`."""
    summary, (user, item, ratings, weights) = part
    own = names[0].rows_of(summary.ids[0])[user]
    partner = names[1].rows_of(summary.ids[1]).astype(np.int32)[item]
    found = Entries(own, partner, scale.probability(ratings), weights)
    return list(found.dealt(np.searchsorted(starts, own, side="right") - 1, len(starts)))


def _joined(first: int, last: int, names: tuple[Vocabulary, Vocabulary], duplicates: Any, *pieces: Entries) -> Shard:
    """Put together what all parts have for one shard."""
    users, items = names
    entries = Entries.joined(pieces)
    entries = replace(entries, own=entries.own - first)

    def complain(a: int, b: int) -> DataError:
        pair = users.ids.item(int(entries.own[a]) + first), items.ids.item(int(entries.partner[a]))
        return duplicate(*pair, "a row before it", "A row of the frame")

    found = entries.sorted(last - first, len(items), duplicates, complain)
    return Shard.of(found.view(last - first), len(items), first)


# --- the descent ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SpreadState:
    """A state whose thetas are where their users are: futures of a `UserBlock` of each shard; `total` sums them up."""

    blocks: Sequence[Any]
    psi: Floats
    centre: Floats
    total: Floats


class ShardedEngine(Engine):
    """The engine on a table in a cluster."""

    def __init__(self, problem: Problem, table: DistributedTable) -> None:
        super().__init__(problem, table)
        self._dask = table.dask

    def _mass_of(self, table: DistributedTable) -> Mass:
        first, *others = table.of_shards("sum-squares", Shard.mass)
        mass: Mass = sum(others, start=first)
        return mass

    def _counts_of(self, table: DistributedTable) -> NDArray[np.int64]:
        return table.seen_users.astype(np.int64)

    def spread(self, state: State) -> SpreadState:
        """Send every shard the thetas of its users."""
        thetas = [state.theta[first:last] for first, last in self.table.bounds]
        return self._on_shards("given-theta", _given, [(theta.copy(),) for theta in thetas], state.psi, state.centre)[0]

    def collect(self, state: SpreadState) -> State:
        """Bring all thetas here, a shard at a time."""
        theta = np.empty((self.table.n_users, state.centre.size))
        for block, (first, last) in zip(state.blocks, self.table.bounds, strict=True):
            theta[first:last] = self._dask.gather([self._dask.submit("collect-theta", itemgetter(0), block)])[0]
        return State(theta, state.psi, state.centre)

    def _theta_total(self, state: SpreadState) -> Floats:
        return state.total

    def _users(self, state: SpreadState, psi: Floats, step: HalfStep) -> tuple[SpreadState, UserTotals]:
        bits = self._dask.hold("broadcast-psi", _packed(psi))
        given = [(block, bits, step) for block in state.blocks]
        return self._on_shards("user-step", _stepped, given, psi, step.centre)

    def _on_shards(
        self, name: str, function: Any, given: list[tuple[Any, ...]], psi: Floats, centre: Floats
    ) -> tuple[SpreadState, UserTotals]:
        """Have every shard make thetas, and sum up what the objective needs to know of them."""
        dask, everybody = self._dask, self.unobserved != 0.0
        blocks = [
            dask.submit(name, function, shard, everybody, *own)
            for shard, own in zip(self.table.shards, given, strict=True)
        ]
        first, *others = dask.gather([dask.submit("total", itemgetter(1), block) for block in blocks])
        totals: UserTotals = sum(others, start=first)
        return SpreadState(blocks, psi, centre, totals.total), totals

    def _items(self, state: SpreadState, step: HalfStep) -> Floats:
        """Sum up normal equations block by block of items, and solve each block where its sum is."""
        psi, dask = state.psi, self._dask
        n_items, size = psi.shape
        window = min(_WINDOW * dask.n_threads, _LARGEST_WINDOW)
        fitting = dask.block_memory // (window * 8 * size * (size + 1))
        rows = max(1, min(fitting, max(_LEAST_ROWS, -(-n_items // window))))
        solved: list[Any] = []
        for first in range(0, n_items, rows):
            last = min(first + rows, n_items)
            if len(solved) >= window:
                dask.gather([solved[len(solved) - window]])
            sums = [
                # The ridge counts once.
                dask.submit("normal-equations", _equations, *held, first, last, replace(step, ridge=0.0) if k else step)
                for k, held in enumerate(zip(self.table.shards, state.blocks, strict=True))
            ]
            here = replace(step, offset=first)
            solved.append(dask.submit("solve-items", _solved, self._summed(sums), _packed(psi[first:last]), here))
        return np.concatenate([_unpacked(block, size) for block in dask.gather(solved)])

    def _summed(self, parts: list[Any]) -> Any:
        """Add up in a tree that depends on the number of parts alone, neighbours first: they share a worker."""
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self._dask.submit("add-equations", _added, self._summed(parts[:half]), self._summed(parts[half:]))


# What tasks call. Arrays that come from elsewhere are read-only and copied: kernels are compiled for writable ones.


def _packed(psi: Floats) -> NDArray[Any]:
    """Return psi for travelling: a bit for each event where it is bits."""
    bits = bool(((psi == 0.0) | (psi == 1.0)).all())
    return np.packbits(psi.astype(np.uint8), axis=1) if bits else psi


def _unpacked(content: NDArray[Any], n_events: int) -> Floats:
    if content.dtype != np.uint8:
        return np.array(content)
    return np.unpackbits(content, axis=1, count=n_events).astype(np.float64)


def _given(shard: Shard, everybody: bool, theta: Floats) -> UserBlock:
    theta, counted = np.array(theta), (shard.rows.counts > 0) | everybody
    return theta, UserTotals.of(theta, np.zeros(1), theta[0], counted)


def _stepped(shard: Shard, everybody: bool, block: UserBlock, psi: NDArray[Any], step: HalfStep) -> UserBlock:
    here = replace(step, offset=shard.first, centre=np.array(step.centre))
    with one_blas_thread(), Threads(1) as dealer:
        theta, values = here.run(shard.rows, _unpacked(psi, here.centre.size), np.array(block[0]), dealer)
    return theta, UserTotals.of(theta, values, here.centre, (shard.rows.counts > 0) | everybody)


def _equations(shard: Shard, block: UserBlock, first: int, last: int, step: HalfStep) -> Equations:
    partners = Partners.of(np.array(block[0]), shard.columns, step.unobserved)
    with one_blas_thread():
        return partners.equations(shard.columns, first, last, step.ridge, np.array(step.centre))


def _added(a: Equations, b: Equations) -> Equations:
    return a[0] + b[0], a[1] + b[1]


def _solved(equations: Equations, start: NDArray[Any], step: HalfStep) -> NDArray[Any]:
    with one_blas_thread():
        gram, moment = map(np.array, equations)
        psi = _unpacked(start, step.centre.size)

        def rows(first: int, last: int) -> Equations:
            return gram[first:last], moment[first:last]

        seeds = step.seeds(len(psi))
        return _packed(solved_rows(step.solver, rows, psi, seeds, Threads(1), keeping=step.keep_better)[0])
