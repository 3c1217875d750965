"""Where work is done. Every row's result depends on the row alone, so the place cannot matter.

`threads` deals shares of rows, `cuda` knows a GPU and its kernels, `dask` a cluster, `shards` tables that lie in it.
"""

from kolmogorov.execution.cuda import Cuda
from kolmogorov.execution.dask import Dask
from kolmogorov.execution.shards import DistributedTable, distributed_table
from kolmogorov.execution.threads import Threads

__all__ = ["Cuda", "Dask", "DistributedTable", "Threads", "distributed_table"]
