"""The descent over shards, and chains as tasks, on Dask."""
