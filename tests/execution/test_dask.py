"""A cluster of real processes gives the bits of a fit without one, whatever happens to its workers."""

import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

import kolmogorov as km
from helpers.planned import planned
from helpers.processes import PATIENCE, wait_until
from kolmogorov import KolmogorovModel, Observations
from kolmogorov.cluster import Dask
from kolmogorov.data.datasets import planted
from kolmogorov.errors import DataError, ExecutionError, ParameterError

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
# One process of the test run owns the clusters.
pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.long("clusters")]

SMALL = {"n_events": 4, "learn_from": "ratings", "random_state": 3, "max_iter": 4, "tol": 0.0}


def cluster(n_workers, **more):
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "memory_limit": None}
    return distributed.LocalCluster(n_workers=n_workers, **options | more)


@pytest.fixture(scope="module")
def client():
    with cluster(2, threads_per_worker=2) as workers, distributed.Client(workers) as client:
        yield client


@pytest.fixture(scope="module")
def table():
    return planted(300, 120, 4, n_observations=9000, noise=0.1, random_state=1).observations


def same(a, b):
    assert (a.theta_ == b.theta_).all()
    assert (a.psi_ == b.psi_).all()
    assert [sweep.objective for sweep in a.history_] == [sweep.objective for sweep in b.history_]


# --- same bits --------------------------------------------------------------------------------------------------------


def _only_yes(table):
    yes = table.subset(table.values > 0.5)
    return Observations.from_arrays(yes.user_rows(), yes.item_rows(), np.ones(len(yes)))


def _weighted(table):
    weights = np.random.default_rng(0).integers(1, 4, len(table)).astype(float)
    return Observations.from_arrays(table.user_rows(), table.item_rows(), table.values, weights=weights)


def _sparse(table):
    """Users and items without ratings."""
    from scipy.sparse import coo_array

    cells = ([1.0, 0.0, 1.0, 0.5, 0.2], ([0, 0, 4, 4, 6], [0, 1, 0, 2, 2]))
    return Observations.from_scipy(coo_array(cells, shape=(9, 4)), maximum=1)


@pytest.mark.parametrize(
    ("of", "shard_ratings", "more"),
    [
        (_weighted, 1000, {"n_init": 2}),
        (_weighted, 1000, {"item_solver": "newton"}),
        (_only_yes, 1000, {"unobserved": "auto", "psi": "soft", "item_reg": 0.2}),
        (_sparse, 1, {}),
    ],
)
def test_one_shard_has_the_bits_of_a_local_fit_and_many_are_near(client, table, of, shard_ratings, more):
    table, settings = of(table), {**SMALL, **more}
    here = KolmogorovModel(**settings).fit(table)
    same(KolmogorovModel(**settings, execution=Dask(client)).fit(table), here)
    there = KolmogorovModel(**settings, execution=Dask(client, shard_ratings=shard_ratings)).fit(table)
    # Sums over shards are rounded otherwise.
    assert there.history_[0].objective == pytest.approx(here.history_[0].objective, rel=1e-9)
    assert there.history_[-1].objective == pytest.approx(here.history_[-1].objective, rel=1e-3)


def test_same_bits_on_any_number_of_workers_and_blocks_and_of_packed_tables(client, table, tmp_path):
    first = KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(table)
    tiny = Dask(client, shard_ratings=1000, block_memory=8 * 4 * 5 * 7 * 8)
    same(KolmogorovModel(**SMALL, execution=tiny).fit(table), first)
    with cluster(1) as one, distributed.Client(one, set_as_default=False) as alone:
        packed = km.pack(table, tmp_path / "t")
        same(KolmogorovModel(**SMALL, execution=Dask(alone, shard_ratings=1000)).fit(packed), first)


def test_chains_on_a_cluster_and_the_model_learned_from_them(client, table, monkeypatch):
    options = {"n_events": 3, "n_chains": 3, "burn_in": 5, "n_samples": 3, "random_state": 0}
    here, draws = planned(**options).fit(table), []
    there = planned(**options, execution=Dask(client), callback=draws.append).fit(table)
    for name in ("theta", "psi", "noise"):
        assert (getattr(here.posterior_, name) == getattr(there.posterior_, name)).all()
    assert [(draw.chain, draw.sweep) for draw in draws] == [(0, 8), (1, 8), (2, 8)]
    for name, size in (("SHORT_BURN_IN", 10), ("SHORT_SAMPLES", 5)):
        monkeypatch.setattr(f"kolmogorov.draws.plan.{name}", size)
    options = {"n_events": 3, "max_iter": 4, "random_state": 0}
    same(KolmogorovModel(**options, execution=Dask(client)).fit(table), KolmogorovModel(**options).fit(table))


# --- Parquet files ----------------------------------------------------------------------------------------------------


def _written(table, folder):
    """Write a table's ratings in any order to two files of several row groups."""
    frame = table.to_frame("pandas")[["user", "item", "rating"]].sample(frac=1.0, random_state=0)
    middle, folder = len(frame) // 2, folder / "files"
    folder.mkdir()
    frame[:middle].to_parquet(folder / "part-a.parquet", row_group_size=1500)
    frame[middle:].to_parquet(folder / "part-b.parquet")
    return [folder / "part-a.parquet", folder / "part-b.parquet"]


def _ran(dask_worker, name):
    """Count the tasks of a name that a worker has run, by its log."""
    return sum(entry[1:3] == ("executing", "memory") and name in str(entry[0]) for entry in dask_worker.state.log)


def test_parquet_files_have_the_bits_of_the_table_and_every_row_group_is_read_once(client, table, tmp_path):
    paths, seen, dask = _written(table, tmp_path), [], Dask(client, shard_ratings=1000)
    before = sum(client.run(_ran, name="read_group").values())
    whole = Dask(client)
    there = KolmogorovModel(**SMALL, execution=whole).fit(whole.read(str(tmp_path / "files" / "part-*.parquet")))
    assert sum(client.run(_ran, name="read_group").values()) - before == 4
    here, found = km.read_ratings(paths), dask.read(paths)
    same(there, KolmogorovModel(**SMALL).fit(here))
    assert there.fitted_.training.fingerprint() == here.fingerprint()
    assert repr(there.fitted_.training) == repr(here)

    def watch(sweep):
        seen.append({"indices", "values"} & vars(found.rows).keys())

    there = KolmogorovModel(**SMALL, execution=dask, callback=watch).fit(found)
    same(there, KolmogorovModel(**SMALL, execution=dask).fit(here))
    # No rating comes here before the fit has ended.
    assert seen == [set()] * 4


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"value": [1.0, 2.0, 3.0, 3.0], "n": [1.0, 1.0, 2.0, 3.0]}, {"weight": "n", "duplicates": "mean"}),
        ({"value": ["yes", None, "NO", "absent"]}, {"map": {"yes": 1, "no": 0}, "missing": ["", "absent"]}),
        ({"value": [-9.5, 3.2, 10.0, 4.0], "title": ["X", "Y", "X", "X"]}, {"duplicates": "last"}),
        ({}, {"implicit": True}),
    ],
)
def test_parquet_files_are_read_as_on_one_machine(client, tmp_path, columns, options):
    import pandas as pd

    path = tmp_path / "r.parquet"
    pd.DataFrame({"user": ["a", "a", "b", "a"], "item": [5, 6, 5, 5], **columns}).to_parquet(path, row_group_size=1)
    here, there = km.read_ratings(path, **options), Dask(client, shard_ratings=2).read(path, **options)
    assert there.fingerprint() == here.fingerprint()
    assert [there.users, there.items, there.scale] == [here.users, here.items, here.scale]
    assert there.items.name(0) == here.items.name(0)
    assert str(there) == str(here)


def test_what_is_wrong_with_tables_is_said(client, tmp_path):
    import pandas as pd

    dask, path = Dask(client, shard_ratings=2), tmp_path / "r.parquet"
    frame = pd.DataFrame({"user": [1, 1, 2, 1], "item": [5, 6, 5, 5], "value": [1.0, 2, 3, 3]})
    for table, options, said in (
        (frame, {}, r"r.parquet, row group 1: duplicate rating of user '1' and item '5' \(first at row group 0\)"),
        (frame, {"maximum": 2}, r"r.parquet, row 2: value must be at most the maximum 2, got 3"),
        (frame, {"user": "whom"}, "no column 'whom'"),
        (frame[:0], {}, "There are no observations here"),
    ):
        table.to_parquet(path, row_group_size=2)
        with pytest.raises(DataError, match=said):
            dask.read(path, **options)
    with pytest.raises(DataError, match=r"There is no file .*nowhere.parquet"):
        dask.read([tmp_path / "nowhere.parquet"])
    with pytest.raises(ParameterError, match="wide"):
        dask.read(path, wide=True)
    visits = Observations.from_arrays([1, 1, 2, 3], [5, 6, 5, 6], np.ones(4))
    with pytest.raises(DataError, match="Only yes is recorded"):
        KolmogorovModel(**SMALL, execution=dask).fit(visits)


# --- accidents --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def larger():
    return planted(3000, 400, 4, n_observations=150_000, noise=0.1, random_state=2).observations


LONG = {"n_events": 8, "learn_from": "ratings", "random_state": 3, "max_iter": 5, "tol": 0.0}


@pytest.fixture(scope="module")
def undisturbed(client, larger):
    return KolmogorovModel(**LONG, execution=Dask(client, shard_ratings=20_000)).fit(larger)


def test_a_killed_worker_and_one_that_joins_late(larger, undisturbed, tmp_path):
    """SIGKILL in the middle of the third sweep, so that row groups are read again; another worker after the fourth."""
    paths = _written(larger, tmp_path)
    with cluster(2) as workers, distributed.Client(workers, set_as_default=False) as client:
        address, pid = next(iter(client.run(os.getpid).items()))
        happened = []

        def strike():
            wait_until(lambda: client.processing([address])[address], "a task of the third sweep")
            os.kill(pid, signal.SIGKILL)
            happened.append("killed")

        def watch(sweep):
            happened.append(sweep.sweep)
            if sweep.sweep == 2:
                threading.Thread(target=strike).start()
            if sweep.sweep == 4:
                workers.scale(3)
                client.wait_for_workers(3, timeout=PATIENCE)
                happened.append(f"{len(client.nthreads())} workers")

        dask = Dask(client, shard_ratings=20_000)
        model = KolmogorovModel(**LONG, execution=dask, callback=watch).fit(dask.read(paths))
    assert happened == [1, 2, "killed", 3, 4, "3 workers", 5]
    same(model, undisturbed)


_SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--no-show"]
_WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]


def test_a_scheduler_that_goes_away(client, larger, undisturbed, tmp_path):
    """A sentence, and a checkpoint from which another cluster goes on to the same bits."""
    options = {**LONG, "checkpoint": tmp_path / "fit.ckpt"}
    note, quiet = tmp_path / "note.json", {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*_SCHEDULER, "--scheduler-file", str(note)], **quiet)
    worker = subprocess.Popen([*_WORKER, "--scheduler-file", str(note)], cwd=tmp_path, **quiet)
    try:
        wait_until(note.exists, "the note of a scheduler that has started")
        with distributed.Client(scheduler_file=str(note), set_as_default=False, timeout=PATIENCE) as first:

            def watch(sweep):
                if sweep.sweep == 3:
                    scheduler.kill()

            model = KolmogorovModel(**options, execution=Dask(first, shard_ratings=20_000), callback=watch)
            with pytest.raises(ExecutionError, match="scheduler went away .* checkpoint"):
                model.fit(larger)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    sweeps = []
    model = KolmogorovModel(**options, execution=Dask(client, shard_ratings=20_000), callback=sweeps.append)
    same(model.fit(larger), undisturbed)
    assert [sweep.sweep for sweep in sweeps] == [4, 5]


class Hasty(Dask):
    patience = 0.5


def test_a_cluster_without_workers(zoo):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as none,
        distributed.Client(none, set_as_default=False) as client,
        pytest.raises(ExecutionError, match="No worker came"),
    ):
        KolmogorovModel(execution=Hasty(client)).fit(zoo)
    with pytest.raises(ExecutionError, match="client is closed"):
        KolmogorovModel(execution=Dask(client)).fit(zoo)


# --- threads, names, parameters ---------------------------------------------------------------------------------------


def _seen(dask_worker):
    """What a worker has compiled, how many threads its BLAS uses, and names of tasks."""
    from distributed.utils import key_split
    from threadpoolctl import threadpool_info

    from kolmogorov.solvers.rows import binary_normal_equations, normal_equations

    compiled = [len(kernel.signatures) for kernel in (binary_normal_equations, normal_equations)]
    names = {key_split(entry[0]) for entry in dask_worker.state.log if isinstance(entry[0], str)}
    return max(compiled), max([library["num_threads"] for library in threadpool_info()], default=1), names


def test_workers_compile_once_keep_to_their_threads_and_show_names(client, table):
    KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(table)
    compiled, threads, names = zip(*client.run(_seen).values(), strict=True)
    assert max(compiled) <= 2
    assert set(threads) == {1}
    names = set().union(*names)
    assert {"made_shard", "normal_equations", "added", "solved_items", "at_hand", "stepped_users"} <= names


def test_it_is_a_parameter_like_others(client, table, tmp_path):
    dask = Dask(client)
    model = clone(KolmogorovModel(**SMALL, execution=dask))
    assert model.execution is dask
    model.fit(table).save(tmp_path / "m.km")
    assert km.load(tmp_path / "m.km").execution is None
    assert pickle.loads(pickle.dumps(model)).execution is None
    with pytest.raises(ParameterError, match="'execution' must be .* Cuda or .* Dask or None"):
        KolmogorovModel(execution="local").fit(table)
    with pytest.raises(ExecutionError, match="takes a distributed.Client"):
        Dask("tcp://nowhere:1")
    with pytest.raises(ParameterError):
        Dask(client, shard_ratings=0)
