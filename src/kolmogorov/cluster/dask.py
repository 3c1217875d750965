"""Work as tasks of a Dask cluster, and what becomes of it in plain words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kolmogorov._support.optional import require
from kolmogorov._support.validation import byte_count, check_parameters, integer
from kolmogorov._version import __version__
from kolmogorov.data.observations import Observations
from kolmogorov.data.told import Reading
from kolmogorov.errors import ExecutionError, KolmogorovError


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
            raise ExecutionError(
                f"A task ended its workers again and again, most likely for lack of memory: {error}. Take workers with "
                "more memory, or less at a time: a smaller shard_ratings=."
            ) from error
        # A client that has lost its scheduler answers with errors of many kinds.
        lost = isinstance(error, (CancelledError, CommClosedError)) or self.client.status != "running"
        if lost and isinstance(error, Exception) and not isinstance(error, KolmogorovError):
            raise ExecutionError(
                "The Dask scheduler went away while the fit was running. With a checkpoint, fitting again on another "
                "cluster goes on where it was."
            ) from error

    def read(self, source: Any, **options: Any) -> Observations:
        """Read Parquet files, a path, a pattern such as "part-*.parquet" or several, on the workers that see them.

        Options are those of `read_ratings`. Ratings stay there; a fit from ratings brings them here at its end.
        """
        from kolmogorov.cluster.shards import spread_table

        titles = options.pop("titles", None)
        with self:
            return spread_table(self, source, Reading(**options)).with_titles(items=titles)

    def submit(self, function: Callable[..., Any], *args: Any, **where: Any) -> Any:
        """Make a task, which has the name of its function. Workers must be able to import that."""
        return self.client.submit(function, *args, pure=False, **where)

    def hold(self, thing: Any) -> Any:
        """Make a task of something at hand, so that it is sent once and can be sent again."""
        return self.submit(at_hand, thing)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for tasks, and return what they returned."""
        return list(self.client.gather(list(futures)))


def at_hand(thing: Any) -> Any:
    """Return a thing; what a task does that holds it."""
    return thing
