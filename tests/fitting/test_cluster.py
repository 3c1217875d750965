"""A cluster within this process; tests/execution/test_dask.py has one of processes, and what may happen to them."""

import numpy as np
import pytest

from kolmogorov import KolmogorovModel
from kolmogorov.cluster import Dask
from kolmogorov.data.datasets import planted

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")


def test_shards_add_up_to_the_whole():
    table = planted(60, 30, 3, n_observations=900, noise=0.1, random_state=1).observations
    options = {"n_events": 3, "learn_from": "ratings", "random_state": 3, "max_iter": 3, "tol": 0.0, "user_reg": 1.0}
    here = KolmogorovModel(**options).fit(table)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        one = KolmogorovModel(**options, execution=Dask(client)).fit(table)
        many = KolmogorovModel(**options, execution=Dask(client, shard_ratings=200)).fit(table)
    np.testing.assert_array_equal(one.theta_, here.theta_)
    np.testing.assert_array_equal(one.psi_, here.psi_)
    for a, b in zip(here.history_, many.history_, strict=True):
        assert b.objective == pytest.approx(a.objective, rel=1e-9)
