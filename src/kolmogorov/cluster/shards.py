"""The descent over shards of a table: theta stays with the users' shard, psi travels, normal equations are summed up.

A shard has neighbouring users with all their observations. A row group of a Parquet file is read once, by one task,
`read_group`; its entries are `dealt` to the shards of their users, and `joined` there in the order of the files.

A sweep is made of `normal_equations` of a block of items, from one shard; `added` in a tree over the shards that is
always the same; `solved_items` for the block; `at_hand`, the bits of all items; `stepped_users` of each shard.

Every task can be made again from the table, the seed and the psis, so Dask rebuilds what a lost worker held.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.cluster.dask import Dask
from kolmogorov.data.observations import Observations
from kolmogorov.data.read import Entries, GroupSummary, read_group, row_groups, understood
from kolmogorov.data.told import Reading
from kolmogorov.data.view import View, counting_order, duplicate, ends_of, sorted_view
from kolmogorov.descent.engine import Engine, HalfStep, State, solved_rows
from kolmogorov.descent.problem import Partners, Problem, UserTotals
from kolmogorov.errors import DataError, ParameterError

#: By judgement: blocks of items under way at once, for each thread of the cluster and at most; items of one at least.
_WINDOW, _LARGEST_WINDOW, _LEAST_ROWS = 2, 32, 64

#: Normal equations of a block of items: Gram matrices and moments.
Equations = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Shard:
    """The users from `first` on of a table, counted from there in both orders; `columns` has all items."""

    first: int
    rows: View
    columns: View

    def __sizeof__(self) -> int:
        # What a scheduler that weighs moving it should know.
        return self.rows.nbytes + self.columns.nbytes


def loaded_shards(dask: Dask, table: Observations) -> list[tuple[int, int, Any]]:
    """Have shards made of rows that are sent, unless workers have read them."""
    rows = table.rows
    if isinstance(rows, SpreadView) and rows.dask is dask:
        return rows.shards
    given = (made_shard, table.n_items)
    return _shards(dask, rows, lambda _, first, last: (*given, first, rows.picked(np.arange(first, last))))


def _shards(dask: Dask, rows: View, task: Callable[..., tuple[Any, ...]]) -> list[tuple[int, int, Any]]:
    """Have a shard made of each run of rows; return the first user of each, the one past the last, and its future.

    Neighbours get the same worker, so that what they make is summed up without travelling.
    """
    workers, bounds, shards = sorted(dask.client.nthreads()), list(rows.blocks(dask.shard_ratings)), []
    for k, (first, last) in enumerate(bounds):
        at = k * len(workers) // len(bounds)
        where: dict[str, Any] = {"workers": workers[at : at + 1], "allow_other_workers": True}
        shards.append((first, last, dask.submit(*task(k, first, last), **where)))
    return shards


def made_shard(n_items: int, first: int, rows: View) -> Shard:
    """Make a shard of rows at hand."""
    return Shard(first, rows, rows.transposed(n_items))


def of_shards(dask: Dask, shards: Sequence[tuple[int, int, Any]], name: str) -> list[Any]:
    """Bring here what the rows of each shard have under a name."""
    return dask.gather([dask.submit(attrgetter(f"rows.{name}"), shard) for *_, shard in shards])


class SpreadView(View):
    """Rows that lie in shards; their entries are brought here when somebody asks for them, and kept."""

    def __init__(self, dask: Dask, shards: list[tuple[int, int, Any]]) -> None:
        counts = of_shards(dask, shards, "counts")
        vars(self).update(dask=dask, shards=shards, indptr=ends_of(np.concatenate(counts)))

    def __getattr__(self, name: str) -> Any:
        if name not in ("indices", "values", "weights"):
            raise AttributeError(name)
        vars(self)[name] = found = np.concatenate(of_shards(self.dask, self.shards, name))
        found.setflags(write=False)
        return found

    @property
    def extent(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        ends = [end for extent in of_shards(self.dask, self.shards, "extent") if extent for end in extent]
        return min(ends), max(ends)


# --- Parquet files ----------------------------------------------------------------------------------------------------


def spread_table(dask: Dask, source: Any, told: Reading) -> Observations:
    """Read files on the workers; see `Dask.read`."""
    if told.wide:
        raise ParameterError("Workers read lists of ratings. A wide table is for read_ratings, on one machine.")
    paths = [os.path.abspath(path) for path in (source if isinstance(source, (list, tuple)) else [source])]
    (groups,) = dask.gather([dask.submit(row_groups, paths)])
    read = [dask.submit(read_group, *group, told) for group in groups]
    summaries: list[GroupSummary] = dask.gather([dask.submit(getitem, group, 0) for group in read])
    table, places = understood(summaries, told), [summary.place for summary in summaries]
    outline, starts = dask.hold(table), [first for first, _ in table.rows.blocks(dask.shard_ratings)]
    heaps = [dask.submit(dealt, group, outline, starts) for group in read]

    def task(k: int, first: int, last: int) -> tuple[Any, ...]:
        pieces = [dask.submit(getitem, heap, k) for heap in heaps]
        return joined, first, last, outline, told.merging, places, pieces

    return table.over(rows=SpreadView(dask, _shards(dask, table.rows, task)))


def dealt(group: tuple[GroupSummary, Entries], table: Observations, starts: list[int]) -> list[Entries]:
    """Deal the entries of a row group to the shards that begin at the users `starts`."""
    summary, (user, item, ratings, weights) = group
    own, partner = table.users.rows_of(summary.ids[0])[user], table.items.rows_of(summary.ids[1])[item]
    shard = np.searchsorted(starts, own, side="right") - 1
    order, ends = counting_order(shard, len(starts)), np.cumsum(np.bincount(shard, minlength=len(starts)))
    arrays = (own, partner, table.scale.probability(ratings), weights)
    parts = [np.split(each[order], ends[:-1]) if each.size else [each] * len(starts) for each in arrays]
    return list(zip(*parts, strict=True))


def joined(
    first: int, last: int, table: Observations, duplicates: str, places: list[str], pieces: list[Entries]
) -> Shard:
    """Put together what all row groups have for a shard."""
    own, partner, values, weights = map(np.concatenate, zip(*pieces, strict=True))
    ends = np.cumsum([piece[0].size for piece in pieces])

    def complain(a: int, b: int) -> DataError:
        found = (places[int(np.searchsorted(ends, at, side="right"))] for at in (a, b))
        return duplicate(table.users.ids[own[a]], table.items.ids[partner[a]], *found)

    shape = last - first, table.n_items
    rows = sorted_view(shape, own - first, partner, values, weights, duplicates, complain)
    return made_shard(table.n_items, first, rows)


# --- the descent ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SpreadState:
    """A state whose thetas are where their users are: `blocks` are futures of pairs that begin with a shard's theta."""

    blocks: Sequence[Any]
    psi: Floats
    centre: Floats
    total: Floats
    duals: Floats


class ShardedEngine(Engine):
    """The engine on a table in a cluster."""

    def __init__(self, problem: Problem, table: Observations, dask: Dask) -> None:
        self._dask, self._shards = dask, loaded_shards(dask, table)
        super().__init__(problem, table, Threads(1))

    def spread(self, state: State) -> SpreadState:
        """Send the thetas of the users of every shard."""
        parts = [slice(first, last) for first, last, _ in self._shards]
        blocks = [self._dask.hold((state.theta[part].copy(), None)) for part in parts]
        # Summed up shard by shard, as after a sweep.
        total: Floats = sum(state.theta[part][self.seen_users[part]].sum(axis=0) for part in parts)
        return SpreadState(blocks, state.psi, state.centre, total, state.duals)

    def collect(self, state: SpreadState) -> State:
        """Bring all thetas here, a shard at a time."""
        theta = np.empty((self.shape[0], state.centre.size))
        for block, (first, last, _) in zip(state.blocks, self._shards, strict=True):
            (theta[first:last],) = self._dask.gather([self._dask.submit(getitem, block, 0)])
        return State(theta, state.psi, state.centre, duals=state.duals)

    def _sums(self) -> Floats:
        sums: Floats = sum(of_shards(self._dask, self._shards, "sums"))
        return sums

    def _theta_total(self, state: SpreadState) -> Floats:
        return state.total

    def _users(self, state: SpreadState, psi: Floats, step: HalfStep) -> tuple[SpreadState, UserTotals]:
        dask, bits = self._dask, self._dask.hold(_packed(psi))
        blocks = [
            dask.submit(stepped_users, shard, block, bits, step)
            for (_, _, shard), block in zip(self._shards, state.blocks, strict=True)
        ]
        first, *others = dask.gather([dask.submit(getitem, block, 1) for block in blocks])
        totals: UserTotals = sum(others, start=first)
        return SpreadState(blocks, psi, step.centre, totals.total, state.duals), totals

    def _items(self, state: SpreadState, step: HalfStep) -> Floats:
        """Sum up normal equations block by block of items, and solve each block where its sum is."""
        psi, dask, duals, step = state.psi, self._dask, step.duals, replace(step, duals=None)
        n_items, size = psi.shape
        window = min(_WINDOW * max(1, sum(dask.client.nthreads().values())), _LARGEST_WINDOW)
        fitting = dask.block_memory // (window * 8 * size * (size + 1))
        rows = max(1, min(fitting, max(_LEAST_ROWS, -(-n_items // window))))
        solved: list[Any] = []
        for first in range(0, n_items, rows):
            last = min(first + rows, n_items)
            if len(solved) >= window:
                dask.gather([solved[len(solved) - window]])
            sums = [
                # The ridge counts once.
                dask.submit(normal_equations, shard, block, first, last, replace(step, ridge=0.0) if k else step)
                for k, ((_, _, shard), block) in enumerate(zip(self._shards, state.blocks, strict=True))
            ]
            here = replace(step, offset=first, duals=None if duals is None else duals[first:last])
            solved.append(dask.submit(solved_items, self._summed(sums), _packed(psi[first:last]), here))
        found = dask.gather(solved)
        if duals is not None:
            duals[:] = np.concatenate([ended for _, ended in found])
        return np.concatenate([_unpacked(block, size) for block, _ in found])

    def _summed(self, parts: list[Any]) -> Any:
        """Add up in a tree that depends on the number of parts alone, neighbours first: they share a worker."""
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return self._dask.submit(added, self._summed(parts[:half]), self._summed(parts[half:]))


# What tasks call. Arrays that come from elsewhere are read-only and copied: kernels are compiled for writable ones.


def _packed(psi: Floats) -> NDArray[Any]:
    """Return psi for travelling: a bit for each event where it is bits."""
    bits = bool(((psi == 0.0) | (psi == 1.0)).all())
    return np.packbits(psi.astype(np.uint8), axis=1) if bits else psi


def _unpacked(content: NDArray[Any], n_events: int) -> Floats:
    if content.dtype != np.uint8:
        return np.array(content)
    return np.unpackbits(content, axis=1, count=n_events).astype(np.float64)


def stepped_users(
    shard: Shard, block: tuple[Floats, Any], psi: NDArray[Any], step: HalfStep
) -> tuple[Floats, UserTotals]:
    """Return new thetas of a shard, and what the rest of the world needs to know of them."""
    here = replace(step, offset=shard.first, centre=np.array(step.centre))
    with one_blas_thread(), Threads(1) as dealer:
        theta, values = here.run(shard.rows, _unpacked(psi, here.centre.size), np.array(block[0]), dealer)
    return theta, UserTotals.of(theta, values, here.centre, (shard.rows.counts > 0) | (step.unobserved != 0.0))


def normal_equations(shard: Shard, block: tuple[Floats, Any], first: int, last: int, step: HalfStep) -> Equations:
    """Return what a shard adds to the normal equations of some items."""
    partners = Partners.of(np.array(block[0]), shard.columns, step.unobserved)
    with one_blas_thread():
        return partners.equations(shard.columns, first, last, step.ridge, np.array(step.centre))


def added(a: Equations, b: Equations) -> Equations:
    """Add up two sums."""
    return a[0] + b[0], a[1] + b[1]


def solved_items(equations: Equations, start: NDArray[Any], step: HalfStep) -> tuple[NDArray[Any], Floats | None]:
    """Solve a block of items; return psi, and where the solver's dual points ended."""
    with one_blas_thread():
        gram, moment = map(np.array, equations)
        psi = _unpacked(start, step.centre.size)

        def rows(first: int, last: int) -> Equations:
            return gram[first:last], moment[first:last]

        seeds = step.seeds(len(psi))
        how: dict[str, Any] = {"keeping": step.keep_better, "duals": None if step.duals is None else step.duals.copy()}
        return _packed(solved_rows(step.solver, rows, psi, seeds, Threads(1), **how)[0]), how["duals"]
