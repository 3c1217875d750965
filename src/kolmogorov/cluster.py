"""The descent over shards of a table, and whatever else runs as tasks, on a Dask cluster.

A shard has neighbouring users with all their observations; theta stays with it, psi travels, and normal equations are
summed up. A row group of a Parquet file is read once, by one task, `read_group`; its entries are `dealt` to the shards
of their users, and `joined` there in the order of the files.

A sweep is made of `normal_equations` of a block of items, from one shard; `added` in a tree over the shards that is
always the same; `solved_items` for the block; `at_hand`, the bits of all items; `stepped_users` of each shard. Every
task can be made again from the table, the seed and the psis, so Dask rebuilds what a lost worker held.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, getitem
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.outside import require
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import byte_count, check_parameters, integer
from kolmogorov._version import __version__
from kolmogorov.data.observations import Observations
from kolmogorov.data.read import Entries, GroupSummary, read_group, row_groups, understood
from kolmogorov.data.told import Reading
from kolmogorov.data.view import View, counting_order, duplicate, ends_of, sorted_view
from kolmogorov.descent.engine import Engine, HalfStep, State, user_totals
from kolmogorov.descent.problem import Partners, Problem
from kolmogorov.errors import DataError, ExecutionError, KolmogorovError, ParameterError

#: By judgement: blocks of items under way at once, at most, and items of one at least.
_WINDOW, _LEAST_ROWS = 32, 64
#: Normal equations of a block of items: Gram matrices and moments.
Equations = tuple[Floats, Floats]


class Dask:
    """Run fits on a Dask cluster (extra ``dask``).

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that was made last.
    shard_ratings : int
        Observations in a shard, about: neighbouring users, whom one worker keeps. Results depend on it to rounding, and
        on nothing else of the cluster. A table with fewer gives the bits of a fit without. Each thread needs some.
    block_memory : int or str
        Bytes of the normal equations that a shard has under way at once; a worker holds twice this, with their sums.
    """

    #: Seconds in which a first worker must come; by judgement.
    patience: ClassVar[float] = 60.0

    def __init__(self, client: Any = None, *, shard_ratings: int = 1_000_000, block_memory: int | str = "64MB") -> None:
        check_parameters("Dask", {"shard_ratings": shard_ratings}, {"shard_ratings": integer(1)})
        self.shard_ratings = int(shard_ratings)
        self.block_memory = byte_count(block_memory, "block_memory")
        distributed = require("distributed", extra="dask", purpose="Dask")
        try:
            self.client = distributed.get_client() if client is None else client
        except ValueError:
            raise ExecutionError("There is no Dask client. Make one: distributed.Client('tcp://host:8786').") from None
        if not isinstance(self.client, distributed.Client) or self.client.asynchronous:
            raise ExecutionError(f"Dask takes a distributed.Client that is not asynchronous, got {client!r}.")

    def __deepcopy__(self, memo: Any) -> Dask:
        # scikit-learn's clone copies parameters; there is one cluster.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A model that is pickled leaves the cluster behind: what comes out of the pickle is None.
        return type(None), ()

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler.address if self.client.scheduler else 'closed'!r})"

    def __enter__(self) -> Dask:
        """Wait for a first worker, and see that all have this library."""
        if self.client.status != "running":
            raise ExecutionError(f"The Dask client is {self.client.status}. Make another: distributed.Client(address).")
        try:
            self.client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError:
            raise ExecutionError(f"No worker came to {self!r} within {self.patience:.0f} seconds.") from None
        for worker, found in self.client.get_versions(packages=["kolmogorov"])["workers"].items():
            if (version := found["packages"]["kolmogorov"]) != __version__:
                raise ExecutionError(f"The worker {worker} must have kolmogorov {__version__}, got {version}.")
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Say in one sentence what became of the cluster; what a task raised goes through."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        if isinstance(error, KilledWorker):
            told = f"A task ended its workers again and again, most likely for lack of memory: {error}. Take workers"
            raise ExecutionError(f"{told} with more memory, or less at a time: a smaller shard_ratings=.") from error
        # A client that has lost its scheduler answers with errors of many kinds.
        lost = isinstance(error, (CancelledError, CommClosedError)) or self.client.status != "running"
        if lost and isinstance(error, Exception) and not isinstance(error, KolmogorovError):
            told = "The Dask scheduler went away while the fit was running. With a checkpoint, fitting again on another"
            raise ExecutionError(f"{told} cluster goes on where it was.") from error

    def read(self, source: Any, **options: Any) -> Observations:
        """Read Parquet files, a path, a pattern such as "part-*.parquet" or several, on the workers that see them.

        Options are those of `read_ratings`. Ratings stay there; a fit from ratings brings them here at its end.
        """
        titles, told = options.pop("titles", None), Reading(**options)
        if told.wide:
            raise ParameterError("Workers read lists of ratings. A wide table is for read_ratings, on one machine.")
        paths = [os.path.abspath(path) for path in (source if isinstance(source, (list, tuple)) else [source])]
        with self:
            (groups,) = self.gather([self.submit(row_groups, paths)])
            read = [self.submit(read_group, *group, told) for group in groups]
            summaries: list[GroupSummary] = self.gather([self.submit(getitem, group, 0) for group in read])
            table, places = understood(summaries, told), [summary.place for summary in summaries]
            outline, starts = self.hold(table), [first for first, _ in table.rows.blocks(self.shard_ratings)]
            heaps = [self.submit(dealt, group, outline, starts) for group in read]

            def task(k: int, first: int, last: int) -> tuple[Any, ...]:
                pieces = [self.submit(getitem, heap, k) for heap in heaps]
                return joined, first, last, outline, told.merging, places, pieces

            return table.over(rows=SpreadView(self, self.sharded(table.rows, task))).with_titles(items=titles)

    def submit(self, function: Any, *args: Any, **where: Any) -> Any:
        """Make a task, which has the name of its function. Workers must be able to import that."""
        return self.client.submit(function, *args, pure=False, **where)

    def hold(self, thing: Any) -> Any:
        """Make a task of something at hand, so that it is sent once and can be sent again."""
        return self.submit(at_hand, thing)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for tasks, and return what they returned."""
        return list(self.client.gather(list(futures)))

    def sharded(self, rows: View, task: Callable[[int, int, int], tuple[Any, ...]]) -> list[tuple[int, int, Any]]:
        """Have a shard made of each run of rows; return its first user, the one past its last, and its future.

        Neighbours get the same worker, so that what they make is summed up without travelling.
        """
        workers, bounds, shards = sorted(self.client.nthreads()), list(rows.blocks(self.shard_ratings)), []
        for k, (first, last) in enumerate(bounds):
            where = {"workers": workers[k * len(workers) // len(bounds)], "allow_other_workers": True}
            shards.append((first, last, self.submit(*task(k, first, last), **where)))
        return shards

    def of_shards(self, shards: Sequence[tuple[int, int, Any]], name: str) -> list[Any]:
        """Bring here what the rows of each shard have under a name."""
        return self.gather([self.submit(attrgetter(f"rows.{name}"), shard) for *_, shard in shards])


@dataclass(frozen=True, eq=False)
class Shard:
    """The users from `first` on of a table, counted from there in both orders; `columns` has all items."""

    first: int
    rows: View
    columns: View

    def __sizeof__(self) -> int:
        # What a scheduler that weighs moving it should know.
        return self.rows.nbytes + self.columns.nbytes


class SpreadView(View):
    """Rows that lie in shards; their entries are brought here when somebody asks for them, and kept."""

    dask: Dask
    shards: list[tuple[int, int, Any]]

    def __init__(self, dask: Dask, shards: list[tuple[int, int, Any]]) -> None:
        counts = dask.of_shards(shards, "counts")
        vars(self).update(dask=dask, shards=shards, indptr=ends_of(np.concatenate(counts)))

    def __getattr__(self, name: str) -> Any:
        if name not in ("indices", "values", "weights"):
            raise AttributeError(name)
        vars(self)[name] = found = np.concatenate(self.dask.of_shards(self.shards, name))
        found.setflags(write=False)
        return found

    @property
    def extent(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        ends = [end for extent in self.dask.of_shards(self.shards, "extent") if extent for end in extent]
        return min(ends), max(ends)


def at_hand(thing: Any) -> Any:
    """Return a thing; what a task does that holds it."""
    return thing


def made_shard(n_items: int, first: int, rows: View) -> Shard:
    """Make a shard of rows at hand."""
    return Shard(first, rows, rows.transposed(n_items))


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


@dataclass(frozen=True, eq=False)
class SpreadState:
    """A state whose thetas are where their users are: `blocks` are futures of pairs that begin with a shard's theta."""

    blocks: Sequence[Any]
    psi: Floats
    centre: Floats
    total: Floats
    duals: Floats


class ShardedEngine(Engine):
    """The engine on a table in a cluster: the rows are sent, unless workers have read them."""

    def __init__(self, problem: Problem, table: Observations, dask: Dask) -> None:
        rows, self._dask = table.rows, dask

        def task(_: int, first: int, last: int) -> tuple[Any, ...]:
            return made_shard, table.n_items, first, rows.picked(np.arange(first, last))

        there = rows.shards if isinstance(rows, SpreadView) and rows.dask is dask else None
        self._shards = there or dask.sharded(rows, task)
        super().__init__(problem, table, Threads(1))

    def spread(self, state: State) -> SpreadState:
        """Send the thetas of the users of every shard."""
        parts = [slice(first, last) for first, last, _ in self._shards]
        blocks = [self._dask.hold((state.theta[part].copy(), None)) for part in parts]
        # Summed up shard by shard, as after a sweep.
        total: Floats = sum(state.theta[part][self.seen_users[part]].sum(axis=0) for part in parts)
        return SpreadState(blocks, state.psi, state.centre, total, state.duals)

    def collect(self, state: SpreadState) -> State:
        """Bring all thetas here."""
        theta = np.concatenate(self._dask.gather([self._dask.submit(getitem, block, 0) for block in state.blocks]))
        return State(theta, state.psi, state.centre, duals=state.duals)

    def _sums(self) -> Floats:
        sums: Floats = sum(self._dask.of_shards(self._shards, "sums"))
        return sums

    def _theta_total(self, state: SpreadState) -> Floats:
        return state.total

    def _users(self, state: SpreadState, psi: Floats, step: HalfStep) -> tuple[SpreadState, Floats]:
        dask, bits = self._dask, self._dask.hold(_packed(psi))
        blocks = [
            dask.submit(stepped_users, shard, block, bits, step)
            for (_, _, shard), block in zip(self._shards, state.blocks, strict=True)
        ]
        totals: Floats = sum(dask.gather([dask.submit(getitem, block, 1) for block in blocks]))
        return SpreadState(blocks, psi, step.centre, totals[2:], state.duals), totals

    def _items(self, state: SpreadState, step: HalfStep) -> Floats:
        """Sum up normal equations block by block of items, and solve each block where its sum is."""
        psi, dask, duals, step = state.psi, self._dask, step.duals, replace(step, duals=None)
        n_items, size = psi.shape
        window = min(2 * max(1, sum(dask.client.nthreads().values())), _WINDOW)
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
    bits = content.dtype == np.uint8
    return np.unpackbits(content, axis=1, count=n_events).astype(np.float64) if bits else np.array(content)


def stepped_users(shard: Shard, block: tuple[Floats, Any], psi: NDArray[Any], step: HalfStep) -> Equations:
    """Return new thetas of a shard, and what all others need to know of them."""
    here = replace(step, offset=shard.first, centre=np.array(step.centre))
    with one_blas_thread(), Threads(1) as dealer:
        theta, values = here.run(shard.rows, _unpacked(psi, here.centre.size), np.array(block[0]), dealer)
    return theta, user_totals(theta, values, here.centre, (shard.rows.counts > 0) | (step.unobserved != 0.0))


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
    gram, moment = map(np.array, equations)
    step = replace(step, duals=None if step.duals is None else np.array(step.duals))
    with one_blas_thread():
        psi = _unpacked(start, step.centre.size)
        found, _ = step.solved(lambda first, last: (gram[first:last], moment[first:last]), psi, Threads(1))
    return _packed(found), step.duals
