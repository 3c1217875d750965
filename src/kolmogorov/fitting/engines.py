"""Which engine an execution has. This is the one place of the floor that knows them all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import singledispatch
from typing import Any

from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitting.cluster.engine import ShardedEngine, sharded_engine
from kolmogorov.fitting.descent.engine import RatingsEngine, threaded_engine
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.gpu.engine import gpu_engine
from kolmogorov.fitting.gpu.shard_tasks import GpuShardedEngine


@singledispatch
def opened_engine(execution: Any, problem: Problem, table: Any) -> AbstractContextManager[RatingsEngine[Any]]:
    """Open the engine of an execution for a table; a further execution is made known by `opened_engine.register`."""
    raise TypeError(f"There is no engine for {type(execution).__name__}.")


opened_engine.register(Threads, threaded_engine)
opened_engine.register(Cuda, gpu_engine)


@opened_engine.register
def _(execution: Dask, problem: Problem, table: Any) -> AbstractContextManager[RatingsEngine[Any]]:
    return sharded_engine(execution, problem, table, GpuShardedEngine if execution.gpu else ShardedEngine)
