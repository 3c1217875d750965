"""Work as tasks of a Dask cluster: names, errors in plain words, and nothing but tasks."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from kolmogorov._support.optional import require
from kolmogorov._support.validation import byte_count, check_parameters, integer
from kolmogorov._version import __version__
from kolmogorov.errors import ExecutionError, KolmogorovError

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

    def __init__(self, client: Any = None, *, shard_ratings: int = 1_000_000, block_memory: int | str = "64MB") -> None:
        check_parameters("Dask", {"shard_ratings": shard_ratings}, {"shard_ratings": integer(1)})
        self.shard_ratings = int(shard_ratings)
        self.block_memory = byte_count(block_memory, "block_memory")
        distributed = require("distributed", extra="dask", purpose="Dask")
        try:
            self.client = distributed.get_client() if client is None else client
        except ValueError:
            raise ExecutionError("There is no Dask client. Make one: distributed.Client('tcp://host:8786').") from None
        if not isinstance(self.client, distributed.Client):
            raise ExecutionError(f"Dask takes a distributed.Client, got {type(client).__name__}.")
        if self.client.asynchronous:
            raise ExecutionError("Dask takes a client that is not asynchronous.")
        self._names = (f"{uuid.uuid4().hex[:12]}-{number}" for number in itertools.count())

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
        with self._plain_words():
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
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the client to whoever made it."""

    @property
    def n_threads(self) -> int:
        """Threads of all workers that are there now."""
        with self._plain_words():
            return max(1, sum(self.client.nthreads().values()))

    def submit(self, name: str, function: Callable[..., Any], *args: Any, place: float | None = None) -> Any:
        """Make a task; its name is what the dashboard shows. The function must be importable on the workers.

        A `place` between 0 and 1 asks for a worker at that place in the row of all workers. Neighbours so get the same
        worker and what they make is summed up without travelling; where that worker is gone, any other will do.
        """
        with self._plain_words():
            workers = [] if place is None else sorted(self.client.nthreads())
            where: dict[str, Any] = {}
            if place is not None and workers:
                where = {"workers": [workers[int(place * len(workers))]], "allow_other_workers": True}
            return self.client.submit(function, *args, key=f"{name}-{next(self._names)}", pure=False, **where)

    def hold(self, name: str, thing: Any) -> Any:
        """Make a task of something at hand, so that it is sent once and can be sent again."""
        return self.submit(name, _same, thing)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for tasks and return what they returned; a cluster that has lost its workers is an error."""
        import distributed

        tasks, alone_since = list(futures), None
        with self._plain_words():
            while True:
                try:
                    # There may be another client, or none, that is the usual one.
                    with self.client.as_current():
                        distributed.wait(tasks, timeout=_LOOK, return_when="ALL_COMPLETED")
                    break
                except TimeoutError:
                    if self.client.status != "running":
                        raise OSError("the connection to the scheduler is lost") from None
                    alone_since = None if self.client.nthreads() else alone_since or time.monotonic()
                    if alone_since is not None and time.monotonic() - alone_since > self.patience:
                        raise ExecutionError(
                            f"The cluster has had no workers for {self.patience:.0f} seconds. Start some and fit "
                            "again; with a checkpoint the fit goes on where it was."
                        ) from None
            return list(self.client.gather(tasks))

    @contextmanager
    def _plain_words(self) -> Iterator[None]:
        """Say in one sentence what became of the cluster; what a task raised goes through."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            yield
        except KolmogorovError:
            raise
        except KilledWorker as error:
            raise ExecutionError(
                f"A task ended its workers again and again, most likely for lack of memory: {error}. Take workers with "
                "more memory, or less at a time: a smaller shard_ratings=."
            ) from error
        except Exception as error:
            # A client that was closed, by whomever, answers with errors of many kinds.
            lost = isinstance(error, (CancelledError, FutureCancelledError, CommClosedError))
            if not lost and self.client.status == "running":
                raise
            raise ExecutionError(
                "The Dask scheduler went away while the fit was running. With a checkpoint, fitting again on another "
                "cluster goes on where it was."
            ) from error


def _same(thing: Any) -> Any:
    return thing


def _version() -> str:
    return __version__
