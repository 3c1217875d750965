"""The command as a process that is stopped."""

import os
import signal
import subprocess
from importlib.metadata import metadata

import pytest

from helpers.processes import PATIENCE, tool


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_cleans_up(tmp_path, number):
    command = tool("data", "pack", "-", "-o", tmp_path / "table")
    run = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"KOLMOGOROV_PATIENCE": "0"},
    )
    run.stdin.write("user,item,rating\na,b,1\n")
    run.stdin.flush()
    while "Packing" not in run.stderr.readline():
        assert run.poll() is None
    run.send_signal(number)
    error = run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == 128 + number
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())


def test_the_doctor_knows_every_extra(shell):
    output = shell("doctor", env={"COLUMNS": "200"}).output
    for extra in metadata("kolmogorov").get_all("Provides-Extra"):
        assert f"extra {extra} " in output


@pytest.mark.long("clusters")
@pytest.mark.parametrize("learn_from", ["draws", "ratings"])
@pytest.mark.parametrize("closing", ["client", "cluster"])
def test_a_cluster_that_is_closed_in_mid_fit(closing, learn_from):
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    import kolmogorov as km
    from kolmogorov.cluster.dask import Dask
    from kolmogorov.errors import ExecutionError

    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    client = distributed.Client(cluster)

    def close(sweep):
        (client if closing == "client" else cluster).close()

    options = {"learn_from": learn_from, "max_iter": 9, "tol": 0}
    model = km.KolmogorovModel(2, **options, execution=Dask(client, shard_ratings=500), callback=close)
    try:
        with pytest.raises(ExecutionError, match="went away while the fit was running"):
            model.fit(km.datasets.load("zoo"))
    finally:
        client.close()
        cluster.close()
