"""How shares of rows are dealt out. Every row's result depends on the row alone, so the dealer cannot matter."""

from kolmogorov.execution.dask import Dask
from kolmogorov.execution.distributed import DistributedTable, distributed_table
from kolmogorov.execution.gpu.cuda import Cuda
from kolmogorov.execution.threads import Threads

__all__ = ["Cuda", "Dask", "DistributedTable", "Threads", "distributed_table"]
