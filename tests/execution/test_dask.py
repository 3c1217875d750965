"""A cluster of real processes gives the bits of a fit without one, whatever happens to its workers."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

import kolmogorov as km
from helpers.planned import planned
from helpers.processes import PATIENCE, tool, wait_until
from kolmogorov import KolmogorovModel, Observations
from kolmogorov.cluster.dask import Dask
from kolmogorov.cluster.shards import distributed_table
from kolmogorov.data.datasets import planted
from kolmogorov.errors import DataError, ExecutionError, ParameterError

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
# One process of the test run owns the clusters.
pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.long("clusters")]

SMALL = {"n_events": 4, "learn_from": "ratings", "random_state": 3, "max_iter": 5, "tol": 0.0}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0", memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table():
    return planted(300, 120, 4, n_observations=9000, noise=0.1, random_state=1).observations


def same(a, b):
    assert (a.theta_ == b.theta_).all()
    assert (a.psi_ == b.psi_).all()
    assert [sweep.objective for sweep in a.history_] == [sweep.objective for sweep in b.history_]


# --- same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_one_shard_has_the_bits_of_a_local_fit(client, table, weighted):
    if weighted:
        weights = np.random.default_rng(0).integers(1, 4, len(table)).astype(float)
        table = Observations.from_arrays(table.user_rows(), table.item_rows(), table.values, weights=weights)
    same(KolmogorovModel(**SMALL, execution=Dask(client)).fit(table), KolmogorovModel(**SMALL).fit(table))


@pytest.mark.parametrize("more", [{}, {"psi": "soft", "item_reg": 0.2}])
def test_unobserved_entries_count_in_a_cluster_too(client, table, more):
    yes = table.subset(table.values > 0.5)
    yes = Observations.from_arrays(yes.user_rows(), yes.item_rows(), np.ones(len(yes)))
    settings = {**SMALL, "unobserved": "auto", **more}
    here = KolmogorovModel(**settings).fit(yes)
    same(KolmogorovModel(**settings, execution=Dask(client)).fit(yes), here)
    sharded = KolmogorovModel(**settings, execution=Dask(client, shard_ratings=1000)).fit(yes)
    # Sums over shards are rounded otherwise.
    assert sharded.history_[-1].objective == pytest.approx(here.history_[-1].objective, rel=1e-3)
    assert sharded.history_[0].objective == pytest.approx(here.history_[0].objective, rel=1e-9)


def test_users_without_ratings_and_more_starts(client):
    table = Observations.from_arrays([0, 0, 2, 2, 3], [0, 1, 0, 2, 2], [1.0, 0.0, 1.0, 0.5, 0.2])
    wide = Observations.from_scipy(_sparse(table), maximum=1)
    options = {**SMALL, "n_events": 2, "n_init": 3}
    here = KolmogorovModel(**options).fit(wide)
    same(KolmogorovModel(**options, execution=Dask(client)).fit(wide), here)
    there = KolmogorovModel(**options, execution=Dask(client, shard_ratings=1)).fit(wide)
    assert there.history_[-1].objective == pytest.approx(here.history_[-1].objective, rel=1e-9)


def test_words_and_gaps_in_parquet_files(client, tmp_path):
    import pandas as pd

    words = ["yes", "no", "abstain", None, "NO", "absent"]
    frame = pd.DataFrame({"voter": [1, 1, 2, 2, 3, 3], "item": list("ababab"), "vote": words})
    frame.to_parquet(tmp_path / "votes.parquet")
    options = {"map": {"yes": 1, "abstain": 0.5, "no": 0}, "missing": ("", "absent")}
    table = distributed_table(Dask(client), tmp_path / "votes.parquet", **options)
    assert table.collected().fingerprint() == km.read_ratings(frame, **options).fingerprint()
    frame = pd.DataFrame({"user": [1, 2, 3], "item": [1, 1, 1], "value": [-9.5, 3.2, 10.0]})
    frame.to_parquet(tmp_path / "jokes.parquet")
    assert distributed_table(Dask(client), tmp_path / "jokes.parquet").scale == km.read_ratings(frame).scale


def _sparse(table):
    from scipy.sparse import coo_array

    return coo_array((table.values, (table.user_rows() * 2, table.item_rows())), shape=(9, 4))


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_many_shards_agree_with_a_local_fit(client, table, psi):
    options = {**SMALL, "user_reg": 10.0, "psi": psi}
    here = KolmogorovModel(**options).fit(table)
    there = KolmogorovModel(**options, execution=Dask(client, shard_ratings=1000)).fit(table)
    for a, b in zip(here.history_, there.history_, strict=True):
        assert b.objective == pytest.approx(a.objective, rel=1e-9)
        assert b.rmse == pytest.approx(a.rmse, rel=1e-6)
    assert there.evaluate(table)["rmse"] == pytest.approx(here.evaluate(table)["rmse"], rel=1e-6)


def test_same_bits_on_any_number_of_workers_and_blocks(client, table):
    first = KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(table)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as one,
        distributed.Client(one, set_as_default=False) as alone,
    ):
        same(KolmogorovModel(**SMALL, execution=Dask(alone, shard_ratings=1000)).fit(table), first)
    tiny = Dask(client, shard_ratings=1000, block_memory=8 * 4 * 5 * 7 * 8)
    same(KolmogorovModel(**SMALL, execution=tiny).fit(table), first)


def test_a_packed_table(client, table, tmp_path):
    packed = km.pack(table, tmp_path / "t")
    same(KolmogorovModel(**SMALL, execution=Dask(client)).fit(packed), KolmogorovModel(**SMALL).fit(table))
    whole = KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(table)
    same(KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(packed), whole)


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [False, True])
def test_parquet_files(client, table, tmp_path, texts):
    pytest.importorskip("pandas")
    frame = table.to_frame("pandas")[["user", "item", "value"]].sample(frac=1.0, random_state=0)
    if texts:
        frame["user"], frame["item"] = ("n" + frame[name].astype(str) for name in ("user", "item"))
        table = Observations.from_frame(frame, maximum=1)
    here = KolmogorovModel(**SMALL).fit(table)
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    frame[:4000].to_parquet(paths[0], row_group_size=1500)
    frame[4000:].to_parquet(paths[1])
    there = KolmogorovModel(**SMALL, execution=Dask(client)).fit(paths)
    same(there, here)
    assert there.fitted_.training.fingerprint() == table.fingerprint()
    shards = distributed_table(Dask(client, shard_ratings=700), paths, maximum=1)
    many = KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=700)).fit(shards)
    assert many.history_[-1].objective == pytest.approx(here.history_[-1].objective, rel=1e-9)


def test_other_columns_and_repeated_pairs(client, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": [1, 1, 2, 1], "what": [5, 6, 5, 5], "stars": [1.0, 2, 3, 3], "n": [1.0, 1, 2, 3]})
    path = tmp_path / "r.parquet"
    frame.to_parquet(path, row_group_size=2)
    columns = {"user": "who", "item": "what", "value": "stars", "weight": "n"}
    dask = Dask(client)
    with pytest.raises(DataError, match="duplicate .* '1' .* '5'"):
        dask.gather(distributed_table(dask, path, **columns).shards)
    merged = distributed_table(dask, path, **columns, duplicates="mean", maximum=5).collected()
    expected = Observations.from_frame(frame, "who", "what", "stars", weight="n", duplicates="mean", maximum=5)
    assert merged.fingerprint() == expected.fingerprint()
    with pytest.raises(DataError, match="no column 'whom'"):
        distributed_table(dask, path, user="whom")
    for wrong in ({"duplicates": "lats"}, {"wide": True}, {"titles": {"5": "Five"}}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            distributed_table(dask, path, **wrong)
    with pytest.raises(DataError, match="row 2: value must be at most the maximum 2, got 3"):
        distributed_table(dask, path, **columns, duplicates="last", maximum=2)


def test_empty_parts_and_wrong_rows(client, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [1, 1, 2, 3], "item": [5, 6, 5, 5], "value": [1.0, 2, 3, 2]})
    dask, paths = Dask(client), [tmp_path / "none.parquet", tmp_path / "some.parquet"]
    frame[:0].to_parquet(paths[0])
    frame[2:].to_parquet(paths[1])
    table = distributed_table(dask, paths, maximum=5)
    assert table.collected().fingerprint() == Observations.from_frame(frame[2:], maximum=5).fingerprint()
    with pytest.raises(DataError, match="There are no observations here"):
        distributed_table(dask, paths[0])
    gaps = frame.assign(value=[None, 1.0, 3, 2])
    gaps.to_parquet(tmp_path / "r.parquet", row_group_size=1)
    table = distributed_table(dask, tmp_path / "r.parquet")
    assert table.collected().fingerprint() == Observations.from_frame(gaps).fingerprint()
    with pytest.raises(DataError, match=r"r.parquet, row 2: value must be at most the maximum 2, got 3"):
        distributed_table(dask, tmp_path / "r.parquet", maximum=2)
    with pytest.raises(DataError, match=r"no file .*nowhere.parquet. Workers must see files under the same path"):
        distributed_table(dask, tmp_path / "nowhere.parquet")


def test_clicks_and_what_is_in_doubt(client, tmp_path):
    """They are read, and asked about, as they are without a cluster."""
    pandas = pytest.importorskip("pandas")
    dask, path = Dask(client), tmp_path / "r.parquet"
    clicks = pandas.DataFrame({"user": ["a", "b", "a", "c"], "item": ["x", "x", "x", "y"]})
    clicks.to_parquet(path, row_group_size=2)
    found = distributed_table(dask, path, implicit=True).collected()
    assert found.fingerprint() == Observations.from_frame(clicks, implicit=True).fingerprint()
    many = pandas.DataFrame({"user": range(40), "item": [0, 1] * 20, "value": [*range(1, 6)] * 8}).astype(str)
    far, gap = many.copy(), many.copy()
    far.loc[30, "value"], gap.loc[30, "user"] = "99", "NA"
    for frame, word in ((far, "missing=99"), (gap, "missing='NA'")):
        frame.to_parquet(path, row_group_size=7)
        for read in (km.read_ratings, lambda path: distributed_table(dask, path)):
            with pytest.raises(DataError, match=word):
                read(path)


@pytest.mark.parametrize("wrong", ["ratings.csv", ["a.parquet", 4], "nowhere.parquet"])
def test_other_files_are_refused(client, wrong):
    with pytest.raises(DataError):
        KolmogorovModel(**SMALL, execution=Dask(client)).fit(wrong)


def test_arrays_work_as_they_do_without_a_cluster(client):
    dense = [[1.0, 0.0, np.nan], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    same(KolmogorovModel(**SMALL, execution=Dask(client)).fit(dense), KolmogorovModel(**SMALL).fit(dense))
    with pytest.raises(ValueError, match="table"):
        KolmogorovModel(**SMALL, execution=Dask(client)).fit(3)


# --- accidents ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def larger():
    return planted(3000, 400, 4, n_observations=150_000, noise=0.1, random_state=2).observations


LONG = {"n_events": 8, "learn_from": "ratings", "random_state": 3, "max_iter": 8, "tol": 0.0}


@pytest.fixture(scope="module")
def undisturbed(client, larger):
    return KolmogorovModel(**LONG, execution=Dask(client, shard_ratings=20_000)).fit(larger)


def test_a_killed_worker_and_one_that_joins_late(larger, undisturbed):
    """SIGKILL in the middle of the third sweep; another worker after the fifth."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
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
            if sweep.sweep == 5:
                cluster.scale(3)
                client.wait_for_workers(3, timeout=PATIENCE)
                happened.append(f"{len(client.nthreads())} workers")

        model = KolmogorovModel(**LONG, execution=Dask(client, shard_ratings=20_000), callback=watch).fit(larger)
    assert happened == [1, 2, "killed", 3, 4, 5, "3 workers", 6, 7, 8]
    same(model, undisturbed)


_SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--no-show"]
_WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]


def _start_cluster(folder, name):
    note = folder / f"{name}.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*_SCHEDULER, "--scheduler-file", str(note)], **quiet)
    worker = subprocess.Popen([*_WORKER, "--scheduler-file", str(note)], cwd=folder, **quiet)
    wait_until(note.exists, "the note of a scheduler that has started")
    return note, scheduler, worker


def test_a_scheduler_that_goes_away(larger, undisturbed, tmp_path):
    """A sentence, and a checkpoint from which another cluster goes on to the same bits."""
    options = {**LONG, "checkpoint": tmp_path / "fit.ckpt"}
    note, scheduler, worker = _start_cluster(tmp_path, "first")
    try:
        with distributed.Client(scheduler_file=str(note), set_as_default=False, timeout=PATIENCE) as client:

            def watch(sweep):
                if sweep.sweep == 3:
                    scheduler.kill()

            model = KolmogorovModel(**options, execution=Dask(client, shard_ratings=20_000), callback=watch)
            with pytest.raises(ExecutionError, match="scheduler went away .* checkpoint"):
                model.fit(larger)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    note, scheduler, worker = _start_cluster(tmp_path, "second")
    try:
        with distributed.Client(scheduler_file=str(note), set_as_default=False, timeout=PATIENCE) as client:
            sweeps = []
            model = KolmogorovModel(**options, execution=Dask(client, shard_ratings=20_000), callback=sweeps.append)
            same(model.fit(larger), undisturbed)
            assert [sweep.sweep for sweep in sweeps] == [4, 5, 6, 7, 8]
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_checkpoints_go_from_a_cluster_to_none_and_back(client, table, tmp_path):
    here = KolmogorovModel(**SMALL).fit(table)
    for first, second in ((Dask(client), None), (None, Dask(client))):
        path = tmp_path / f"{first is None}.ckpt"
        stopped = KolmogorovModel(**SMALL, checkpoint=path, execution=first, callback=lambda sweep: sweep.sweep == 2)
        assert stopped.fit(table).n_iter_ == 2
        same(KolmogorovModel(**SMALL, checkpoint=path, execution=second).fit(table), here)


def test_names_of_features_do_not_outlive_their_table(client, table):
    pandas = pytest.importorskip("pandas")
    model = KolmogorovModel(**SMALL, execution=Dask(client)).fit(pandas.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}))
    assert list(model.feature_names_in_) == ["a", "b"]
    assert not hasattr(model.fit(table), "feature_names_in_")


class Hasty(Dask):
    patience = 0.5


def test_a_cluster_without_workers(zoo):
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ExecutionError, match="No worker came"),
    ):
        KolmogorovModel(execution=Hasty(client)).fit(zoo)


# --- threads, names, parameters ------------------------------------------------------------------------------------


def _compiled():
    from kolmogorov.solvers.rows import binary_normal_equations, normal_equations

    return [len(kernel.signatures) for kernel in (binary_normal_equations, normal_equations)]


def _blas_threads(dask_worker):
    from threadpoolctl import threadpool_info

    return max([library["num_threads"] for library in threadpool_info()], default=1)


def test_workers_compile_once_and_keep_to_their_threads(client, table):
    KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(table)
    before = client.run(_compiled)
    KolmogorovModel(**{**SMALL, "random_state": 9}, execution=Dask(client, shard_ratings=500)).fit(table)
    assert client.run(_compiled) == before
    assert all(count <= 2 for counts in before.values() for count in counts)
    assert set(client.run(_blas_threads).values()) == {1}


def _names(dask_worker):
    from distributed.utils import key_split

    return {key_split(entry[0]) for entry in dask_worker.state.log if isinstance(entry[0], str)}


def test_tasks_have_names(client, table):
    KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=1000)).fit(table)
    names = set().union(*client.run(_names).values())
    assert {"load-shard", "normal-equations", "add-equations", "solve-items", "broadcast-psi", "user-step"} <= names


def test_it_is_a_parameter_like_others(client, table, tmp_path):
    dask = Dask(client)
    model = clone(KolmogorovModel(**SMALL, execution=dask))
    assert model.execution is dask
    model.fit(table).save(tmp_path / "m.km")
    assert km.load(tmp_path / "m.km").execution is None
    with pytest.raises(ParameterError, match="'execution' must be .* Cuda or .* Dask or None"):
        KolmogorovModel(execution="local").fit(table)
    with pytest.raises(ExecutionError, match="takes a distributed.Client"):
        Dask("tcp://nowhere:1")
    with pytest.raises(ParameterError):
        Dask(client, shard_ratings=0)


def test_tuning_on_a_cluster(client, table):
    grid = {"n_events": 3, "user_reg": (1.0, 10.0), "item_reg": 0.0, "refit": False}
    options = {"learn_from": "ratings", "max_iter": 4}
    here = km.tune(table, **grid, model=KolmogorovModel(**options))
    there = km.tune(table, **grid, model=KolmogorovModel(**options, execution=Dask(client)))
    assert here.trials == there.trials


def test_a_pickled_model_leaves_the_cluster_behind(client, table):
    import pickle

    model = KolmogorovModel(**SMALL, execution=Dask(client)).fit(table)
    again = pickle.loads(pickle.dumps(model))
    assert again.execution is None
    assert (again.theta_ == model.theta_).all()


def test_things_that_need_a_cluster_or_must_not_have_one(client, table):
    shards = distributed_table(Dask(client), table)
    with pytest.raises(DataError, match="This table is in a cluster"):
        KolmogorovModel(**SMALL).fit(shards)
    with pytest.raises(DataError, match="tune takes Observations"):
        km.tune(shards)
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        dask = Dask(other)
        with pytest.raises(DataError, match="another cluster"):
            KolmogorovModel(**SMALL, execution=dask).fit(shards)
    with pytest.raises(ExecutionError, match="client is closed"):
        KolmogorovModel(**SMALL, execution=dask).fit(table)


# --- chains ------------------------------------------------------------------------------------------------------


def test_chains_on_a_cluster(client, table):
    options = {"n_events": 3, "n_chains": 3, "burn_in": 5, "n_samples": 3, "random_state": 0}
    train, test = table.split(0.2, random_state=0)
    here = planned(**options).fit(train)
    draws = []
    there = planned(**options, execution=Dask(client), callback=draws.append).fit(train, test=test)
    for name in ("theta", "psi", "noise"):
        assert (getattr(here.posterior_, name) == getattr(there.posterior_, name)).all()
    assert [(draw.chain, draw.sweep) for draw in draws] == [(0, 8), (1, 8), (2, 8)]
    assert draws[-1].rmse > 0


@pytest.fixture
def shorter(monkeypatch):
    """Chains that complete a table are shorter than usual."""
    for name, size in (("SHORT_BURN_IN", 10), ("SHORT_SAMPLES", 5)):
        monkeypatch.setattr(f"kolmogorov.draws.plan.{name}", size)


@pytest.mark.usefixtures("shorter")
@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_one_model_learned_from_chains_on_a_cluster_has_the_bits_of_a_local_fit(client, table, psi):
    options = {"n_events": 3, "psi": psi, "max_iter": 4, "random_state": 0}
    here, steps = KolmogorovModel(**options).fit(table), []
    there = KolmogorovModel(**options, execution=Dask(client), callback=steps.append).fit(table)
    assert there.learned_from_ == "draws"
    same(there, here)
    assert [(step.chain, step.sweep) for step in steps if hasattr(step, "chain")] == [(0, 20), (1, 20)]
    said = (here.theta_[table.user_rows()] * here.psi_[table.item_rows()]).sum(axis=1)
    np.testing.assert_allclose(there.predict(table), np.clip(said, 0.0, 1.0), atol=1e-9)


def test_a_table_that_only_a_cluster_holds_is_learned_from_its_ratings(client, table, caplog):
    caplog.set_level("INFO", logger="kolmogorov")
    shards = distributed_table(Dask(client, shard_ratings=1000), table)
    there = KolmogorovModel(**SMALL | {"learn_from": "draws"}, execution=Dask(client)).fit(shards)
    lines = [record.message for record in caplog.records if record.message.startswith("Learning")]
    assert lines == ["Learning from the ratings: the table is in a cluster."]
    assert there.learned_from_ == "ratings"
    same(there, KolmogorovModel(**SMALL, execution=Dask(client)).fit(shards))
    with pytest.raises(ParameterError, match="n_events.* must be a number"):
        KolmogorovModel(execution=Dask(client)).fit(shards)


# --- command line ------------------------------------------------------------------------------------------------


def test_fit_on_a_local_cluster(tmp_path, table):
    from click.testing import CliRunner

    from kolmogorov.cli import main

    frame = table.to_frame("pandas")[["user", "item", "value"]]
    frame.to_parquet(tmp_path / "r.parquet")
    km.pack(table, tmp_path / "t")
    models = []
    for data, more in (("t", []), ("t", ["--dask", "local:2"]), ("r.parquet", ["--dask", "local:1"])):
        out = tmp_path / "m.km"
        call = ["fit", str(tmp_path / data), "--learn-from", "ratings", "--events", "3", "--max-iter", "3", *more]
        call += ["-o", str(out)]
        result = CliRunner().invoke(main, call)
        assert result.exit_code == 0, result.output
        models.append(km.load(out))
    same(models[1], models[0])
    same(models[2], models[0])


def test_interrupting_keeps_the_best_so_far(tmp_path, table):
    """Ctrl-C goes to the command and to its workers, as in a terminal."""
    km.pack(table, tmp_path / "t")
    call = ["fit", tmp_path / "t", "--dask", "local:1", "--max-iter", 100_000, "--tol", 0, "-o", tmp_path / "m.km"]
    call += ["--learn-from", "ratings", "--checkpoint", tmp_path / "c.ckpt"]
    command = subprocess.Popen(
        tool(*call),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until((tmp_path / "c.ckpt").exists, "a checkpoint")
    os.killpg(command.pid, signal.SIGINT)
    _, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, errors
    assert "Stopping after this sweep" in errors
    assert 1 <= km.load(tmp_path / "m.km").n_iter_ < 100_000


def test_columns_of_parquet_files_in_the_shell(tmp_path, table):
    from click.testing import CliRunner

    from kolmogorov.cli import main

    frame = table.to_frame("pandas")[["value", "user", "item"]]
    frame["user"] = frame["user"].astype(float)
    frame.columns = ["rating", "userId", "movieId"]
    frame[:4000].to_parquet(tmp_path / "a.parquet")
    frame[4000:].to_parquet(tmp_path / "b.parquet")
    for more in ([], ["--user", "1", "--item", "movieId"]):
        call = ["fit", str(tmp_path / "*.parquet"), "--dask", "local:1", "--events", "2", "--max-iter", "2", *more]
        result = CliRunner().invoke(main, [*call, "-o", str(tmp_path / "m.km")])
        assert result.exit_code == 0, result.output
        assert "Fitting one model from the ratings: the table is in a cluster." in result.output
        assert len(km.load(tmp_path / "m.km").users_) == 300
    call = ["fit", str(tmp_path / "*.parquet"), "--dask", "local:1", "-o", str(tmp_path / "m.km")]
    result = CliRunner().invoke(main, call)
    assert result.exit_code == 2
    assert "--events must be a number" in result.output
    result = CliRunner().invoke(main, ["fit", "dataset:zoo", "--shard-ratings", "5", "-o", str(tmp_path / "m.km")])
    assert result.exit_code == 2


@pytest.mark.parametrize("where", ["local", "local:0", "host:8786", "ftp://x"])
def test_an_address_that_is_none(where, tmp_path):
    from click.testing import CliRunner

    from kolmogorov.cli import main

    result = CliRunner().invoke(main, ["fit", "dataset:zoo", "-o", str(tmp_path / "m.km"), "--dask", where])
    assert result.exit_code == 2
    assert "must be local:N or the address of a scheduler" in result.output


def test_what_teaches_nothing_is_refused_on_a_cluster_too(client, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [1, 1, 2, 3], "item": [5, 6, 5, 6], "value": 1.0})
    frame.to_parquet(tmp_path / "visits.parquet")
    visits = Observations.from_frame(frame)
    model = KolmogorovModel(**SMALL, execution=Dask(client, shard_ratings=2))
    for source in (visits, km.pack(visits, tmp_path / "t"), tmp_path / "visits.parquet"):
        with pytest.raises(DataError, match="Only yes is recorded"):
            model.fit(source)
    with pytest.raises(DataError, match="no observations to learn from"):
        model.fit(visits.subset(np.zeros(4, dtype=bool)))


def test_weights_of_files_have_bounds(client, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [1, 2, 3], "item": [5, 6, 5], "value": [1.0, 0, 1], "n": [1.0, 1e9, 1e-9]})
    dask, path = Dask(client), tmp_path / "r.parquet"
    frame.to_parquet(path)
    assert distributed_table(dask, path, weight="n").collected().weights.max() == 1e9
    for weight in (1.1e9, 0.9e-9, 0.0):
        frame.assign(n=[1.0, 1.0, weight]).to_parquet(path)
        with pytest.raises(DataError, match=r"row 2: weight .*1e-09 to 1e\+09 are accepted"):
            dask.gather(distributed_table(dask, path, weight="n").shards)
