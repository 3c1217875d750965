"""A GPU for each worker of a cluster, on hosts that stand in for them, against the same cluster on processors."""

import gc

import numpy as np
import pytest

import kolmogorov as km
import naive
from helpers import emulation
from kolmogorov import KolmogorovModel, Observations
from kolmogorov.data.datasets import planted
from kolmogorov.errors import ExecutionError, ParameterError
from kolmogorov.execution import Cuda, Dask
from kolmogorov.fitting.descent.half_step import ITEM_SIDE, HalfStep
from kolmogorov.fitting.gpu import shard_tasks as gpu_shard_tasks
from kolmogorov.fitting.gpu.factors import row_length
from kolmogorov.fitting.gpu.half_step import GpuHalfSteps
from kolmogorov.solvers import resolve

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytestmark = [pytest.mark.xdist_group("dask"), pytest.mark.long("kernels of GPUs")]

SMALL = {"n_events": 3, "learn_from": "ratings", "random_state": 3, "max_iter": 4, "tol": 0.0, "user_reg": 1.0}
MANY = [-0.2, 0.1, 0.5, 1.0]


@pytest.fixture(scope="module")
def client():
    """Workers in this process, where the GPU that stands in for theirs is."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table():
    return planted(60, 40, 3, n_observations=700, noise=0.1, random_state=1).observations


def on(client, **options):
    return Dask(client, shard_ratings=200, **options)


@pytest.mark.parametrize(
    "more",
    [{}, {"levels": MANY, "item_reg": 0.2}, {"unobserved": 0.05}, {"n_events": 17}, {"prior": "uniform"}],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_agree_with_those_on_processors(cuda, client, table, more, weighted):
    if weighted:
        weights = 1.0 + np.arange(len(table)) % 3
        table = Observations.from_arrays(table.user_rows(), table.item_rows(), table.values, weights=weights)
    options = {**SMALL, **more, "max_iter": 1 if "levels" in more or "n_events" in more else 4}
    host = KolmogorovModel(**options, execution=on(client)).fit(table)
    gpu = KolmogorovModel(**options, execution=on(client, gpu=True)).fit(table)
    # Searches from other starts end elsewhere.
    tolerance = 1e-2 if "levels" in more or "n_events" in more else 1e-5
    for a, b in zip(host.history_, gpu.history_, strict=True):
        assert b.objective == pytest.approx(a.objective, rel=tolerance)
    gpu.fitted_.validate()


def test_one_shard_has_the_numbers_of_one_gpu(cuda, client, table):
    alone = KolmogorovModel(**SMALL, execution=cuda).fit(table)
    shard = KolmogorovModel(**SMALL, execution=Dask(client, gpu=True)).fit(table)
    np.testing.assert_array_equal(shard.psi_, alone.psi_)
    np.testing.assert_allclose(shard.theta_, alone.theta_, atol=1e-6)


def test_same_bits_twice_and_from_shards_that_do_not_fit(cuda, client, table, monkeypatch):
    first = KolmogorovModel(**SMALL, execution=on(client, gpu=True)).fit(table)
    again = KolmogorovModel(**SMALL, execution=on(client, gpu=True)).fit(table)
    monkeypatch.setattr(Cuda, "budget", lambda self: 1)
    sent = KolmogorovModel(**SMALL, execution=on(client, gpu=True)).fit(table)
    for other in (again, sent):
        np.testing.assert_array_equal(first.theta_, other.theta_)
        np.testing.assert_array_equal(first.psi_, other.psi_)


def test_shards_are_sent_once_and_forgotten_with_the_fit(cuda, client, table, monkeypatch):
    sent = []

    class Counted(gpu_shard_tasks._GpuShard):
        def __init__(self, cuda, shard):
            sent.append(shard.first)
            super().__init__(cuda, shard)

    monkeypatch.setattr(gpu_shard_tasks, "_GpuShard", Counted)
    KolmogorovModel(**SMALL, execution=on(client, gpu=True)).fit(table)
    assert len(sent) >= 3
    # Another worker that takes over a task loads the shard again, and sends it.
    assert len(sent) <= 2 * len(set(sent))
    sent.clear()
    for _ in range(50):
        gc.collect()
        if not len(gpu_shard_tasks._shards):
            break
        client.run(gc.collect)
    assert not len(gpu_shard_tasks._shards)


def test_checkpoints_go_on_on_processors(cuda, client, table, tmp_path):
    path = tmp_path / "fit.check"
    KolmogorovModel(**{**SMALL, "max_iter": 2}, execution=on(client, gpu=True), checkpoint=path).fit(table)
    rest = KolmogorovModel(**SMALL, execution=on(client), checkpoint=path).fit(table)
    whole = KolmogorovModel(**SMALL, execution=on(client)).fit(table)
    assert rest.n_iter_ == 4
    assert rest.history_[-1].objective == pytest.approx(whole.history_[-1].objective, rel=1e-4)


def test_a_model_is_learned_from_ratings_there_and_one_line_says_so(cuda, client, table, caplog):
    caplog.set_level("INFO", logger="kolmogorov")
    options = {**SMALL, "max_iter": 1, "user_reg": "auto"}
    asked = KolmogorovModel(**options, execution=on(client, gpu=True)).fit(table)
    told = KolmogorovModel(**options | {"learn_from": "draws"}, execution=on(client, gpu=True)).fit(table)
    lines = [record.message for record in caplog.records if record.message.startswith("Learning")]
    assert lines == ["Learning from the ratings: chains do not run on the GPUs of a cluster."]
    assert told.learned_from_ == "ratings"
    np.testing.assert_array_equal(told.theta_, asked.theta_)


@pytest.mark.parametrize("size", [1, 5, 9])
def test_segments_are_summed_to_whole_equations(size):
    if emulation.COMPILER is None:
        pytest.skip("no C++ compiler to run GPU kernels on the host")
    rng = np.random.default_rng(size)
    length, segments = row_length(size), np.array([4, 5, 8, 9], np.int64)
    gram, moment = rng.normal(size=(5, length, length)), rng.normal(size=(5, length))
    base, pull = rng.normal(size=(length, length)), rng.normal(size=length)
    squares, lines = np.full((3, size, size), np.nan), np.full((3, size), np.nan)
    kernel = emulation.function("rows/segments.cu", "sum_segments", D=size, P=length)
    arguments = (np.int64(3), segments, np.int64(4), gram, moment, base, pull, squares, lines)
    kernel((-(-3 * size * (size + 1) // 64),), (64,), arguments)
    for row in range(3):
        square, line = naive.summed_segments(gram, moment, segments[row] - 4, segments[row + 1] - 4, base, pull)
        np.testing.assert_allclose(squares[row], square[:size, :size], atol=1e-14)
        np.testing.assert_allclose(lines[row], line[:size], atol=1e-14)


def test_whole_equations_are_solved_as_those_of_a_table(cuda):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7, 9, 4))
    gram, moment = np.einsum("nij,nik->njk", rows, rows), 3.0 * rng.normal(size=(7, 4))
    step = HalfStep(resolve("binary", "auto"), 0.0, np.zeros(4), seed=5, sweep=1, side=ITEM_SIDE)
    found = GpuHalfSteps(cuda, None).solved_items(gram, moment, np.zeros((7, 4)), step)
    best = np.array([naive.best_binary(q, m) for q, m in zip(gram, moment, strict=True)])
    np.testing.assert_array_equal(found, best)


# --- what is said where it does not work ----------------------------------------------------------------------------


def test_a_worker_without_a_gpu_is_named(cupy, client, table):
    def none():
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    cupy.cuda.runtime.getDeviceCount = none
    with pytest.raises(ExecutionError, match=r"The worker inproc://.* cannot use a GPU: There is no NVIDIA GPU"):
        KolmogorovModel(**SMALL, execution=Dask(client, gpu=True)).fit(table)


def test_a_worker_without_cupy_is_named(client, table, monkeypatch):
    from kolmogorov._support import optional

    installed = optional.installed
    monkeypatch.setattr(optional, "installed", lambda module: module != "cupy" and installed(module))
    with pytest.raises(ExecutionError, match=r"The worker inproc://.* cannot use a GPU: Cuda needs cupy"):
        KolmogorovModel(**SMALL, execution=Dask(client, gpu=True)).fit(table)


def test_what_a_gpu_cannot_do_is_refused_before_anything_is_sent(cuda, client, table):
    with pytest.raises(ParameterError, match="does not run on a GPU"):
        KolmogorovModel(3, levels="chances", learn_from="ratings", execution=Dask(client, gpu=True)).fit(table)
    with pytest.raises(ParameterError, match="at most 64 events, got 65"):
        KolmogorovModel(65, learn_from="ratings", execution=Dask(client, gpu=True)).fit(table)
    with pytest.raises(ParameterError, match="Chains on a cluster run on threads"):
        km.BayesianKolmogorovModel(execution=Dask(client, gpu=True)).fit(table)
