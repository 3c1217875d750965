"""`--dask`: a cluster on this machine for the time of a command, or one that runs elsewhere."""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kolmogorov.execution import Dask


def check_address(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Refuse what is neither local:N nor an address, before anything is read."""
    if text is not None and not re.fullmatch(r"local:[1-9]\d*|(tcp|tls|ws|wss)://\S+", text):
        raise click.BadParameter(
            f"must be local:N or the address of a scheduler such as tcp://host:8786, got {text!r}."
        )
    return text


@contextmanager
def cluster(address: str, shard_ratings: int) -> Iterator[Dask]:
    """Connect to a scheduler, or start workers here: ``local:4`` is four processes of one thread."""
    from kolmogorov._support.optional import require
    from kolmogorov.errors import ExecutionError
    from kolmogorov.execution import Dask

    distributed: Any = require("distributed", extra="dask", purpose="--dask")
    if address.startswith("local:"):
        workers = int(address.removeprefix("local:"))
        # Ctrl-C goes to the whole terminal. Workers that are started while it is ignored ignore it for good: the
        # command ends by itself, keeping the best state so far, and for that it needs them.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            local = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        with local, distributed.Client(local) as client:
            yield Dask(client, shard_ratings=shard_ratings)
        return
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, TimeoutError) as error:
        raise ExecutionError(f"No Dask scheduler answers at {address}: {error}.") from None
    with client:
        yield Dask(client, shard_ratings=shard_ratings)
