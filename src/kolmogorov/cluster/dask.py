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

    def __init__(
        self,
        client: Any = None,
        *,
        shard_ratings: int = 1_000_000,
        block_memory: int | str = "64MB",
    ) -> None:
        check_parameters("Dask", {"shard_ratings": shard_ratings}, {"shard_ratings": integer(1)})
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


def _sentence(error: Exception, client: Any) -> str | None:
    """Word an error of the cluster; None for any other, such as one that a task raised."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    if isinstance(error, KilledWorker):
        return (
            f"A task ended its workers again and again, most likely for lack of memory: {error}. Take "
            "workers with more memory, or less at a time: a smaller shard_ratings=."
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
