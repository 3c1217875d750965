"""The engine on a GPU, on a host that stands in for one, against the engine on threads."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov import Observations
from kolmogorov._support.threads import Threads
from kolmogorov.descent.engine import Engine
from kolmogorov.descent.problem import Problem
from kolmogorov.errors import ExecutionError, MissingExtraError, ParameterError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.gpu.descent import GpuEngine
from kolmogorov.solvers import resolve


@pytest.fixture(scope="module")
def table():
    """A table with an item and a user of many entries, some of few, and a user and an item of none."""
    rng = np.random.default_rng(0)
    n_users, n_items = 40, 30
    users = np.concatenate([rng.integers(n_users - 1, size=300), np.zeros(20, int), np.arange(20)])
    items = np.concatenate([(29 * rng.random(300) ** 2).astype(int), np.arange(20), np.zeros(20, int)])
    _, kept = np.unique(users * n_items + items, return_index=True)
    values = rng.integers(1, 6, size=kept.size) / 5.0
    return Observations.from_arrays(users[kept], items[kept], values, maximum=1.0)


def problem(**options):
    settings = {"user_reg": 0.7, "item_reg": 0.0, "prior": "mean", "unobserved": 0.0} | options
    return Problem(resolve("simplex", "active_set"), resolve("binary", "auto"), **settings)


def weighted(table):
    weights = 0.5 + np.arange(len(table)) % 3
    return Observations.from_arrays(table.user_rows(), table.item_rows(), table.values, weights=weights, maximum=1.0)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(
    ("size", "options"),
    [(1, {}), (3, {}), (3, {"item_reg": 0.2}), (3, {"prior": "uniform"}), (3, {"unobserved": 0.1}), (9, {})],
    ids=str,
)
def test_sweeps_agree_with_those_on_threads(cuda, table, size, options, heavy):
    data = weighted(table) if heavy else table
    with Threads(1) as dealer:
        host, gpu = Engine(problem(**options), data, dealer), GpuEngine(problem(**options), data, cuda)
        state = host.start(np.random.default_rng(1), size)
        there = gpu.spread(state)
        for index in (1, 2, 3):
            state, record = host.sweep(state, index, 5)
            there, found = gpu.sweep(there, index, 5)
            assert found.objective == pytest.approx(record.objective, rel=1e-5)
            assert found.rmse == pytest.approx(record.rmse, rel=1e-4)
            assert gpu.gap < 1e-6
        back = gpu.collect(there)
    # Supports that fit equally well are told apart by the last digits of the ratings.
    assert (back.psi != state.psi).mean() < 0.07
    assert set(np.unique(back.psi)) <= {0.0, 1.0}
    np.testing.assert_allclose(back.theta.sum(axis=1), 1.0)


def test_same_seed_same_bits(cuda, table):
    def fitted(execution):
        return km.KolmogorovModel(
            5, learn_from="ratings", user_reg=1.0, random_state=3, max_iter=4, execution=execution
        ).fit(table)

    once, again = fitted(cuda), fitted(cuda)
    np.testing.assert_array_equal(once.theta_, again.theta_)
    np.testing.assert_array_equal(once.psi_, again.psi_)


def test_fits_from_several_starts_callbacks_and_checkpoints(cuda, table, tmp_path):
    path = tmp_path / "fit.check"
    seen = []

    def stop_at_three(sweep):
        seen.append(sweep.sweep)
        return len(seen) == 3

    options = {"learn_from": "ratings", "user_reg": 1.0, "random_state": 3, "max_iter": 6, "tol": 0.0}
    options["execution"] = cuda
    whole = km.KolmogorovModel(4, **options).fit(table)
    km.KolmogorovModel(4, **options, checkpoint=path, callback=stop_at_three).fit(table)
    assert seen == [1, 2, 3]
    rest = km.KolmogorovModel(4, **options, checkpoint=path).fit(table)
    np.testing.assert_array_equal(rest.psi_, whole.psi_)
    assert rest.history_[-1].objective == pytest.approx(whole.history_[-1].objective, rel=1e-6)
    best = km.KolmogorovModel(4, **options, n_init=3).fit(table)
    assert best.history_[-1].objective <= whole.history_[-1].objective * (1 + 1e-9)


def test_packed_tables(cuda, table, tmp_path):
    path = tmp_path / "table"
    km.pack(table, path)
    options = {"learn_from": "ratings", "user_reg": 1.0, "random_state": 3, "max_iter": 3}
    direct = km.KolmogorovModel(4, **options, execution=cuda).fit(table)
    mapped = km.KolmogorovModel(4, **options, execution=cuda).fit(Observations.open(path))
    np.testing.assert_array_equal(direct.psi_, mapped.psi_)


# --- what is said where it does not work ----------------------------------------------------------------------------


def test_without_cupy_the_command_is_named(monkeypatch):
    monkeypatch.setattr("kolmogorov._support.outside.installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[cuda\]'"):
        Cuda()


def test_gpus_and_drivers_that_will_not_do(cupy, monkeypatch):
    runtime, reasons = cupy.cuda.runtime, ("cudaErrorNoDevice: none", "cudaErrorInsufficientDriver: too old")

    def refusing(words):
        def refused():
            raise runtime.CUDARuntimeError(words)

        return refused

    with pytest.raises(ExecutionError, match="There is no GPU 3: 1 found"):
        Cuda(3).found()
    monkeypatch.setattr(runtime, "getDeviceProperties", lambda device: {"name": b"old", "major": 7, "minor": 5})
    with pytest.raises(ExecutionError, match=r"compute capability 7.5"), Cuda():
        pass
    for words, version, said in (
        (reasons[0], 12000, "no NVIDIA GPU here"),
        (reasons[1], 11040, "too old: it is for CUDA 11.4"),
        (reasons[1], 0, "no NVIDIA driver"),
    ):
        runtime.getDeviceCount, runtime.driverGetVersion = refusing(words), lambda version=version: version
        with pytest.raises(ExecutionError, match=said):
            Cuda().found()


def test_what_a_gpu_cannot_do_is_refused(cuda, cupy, table):
    def fit(n_events=4, execution=cuda, **options):
        km.KolmogorovModel(n_events, learn_from="ratings", execution=execution, **options).fit(table)

    with pytest.raises(ExecutionError, match=r"memory is too small .* Do that\."), cuda.guarded("Do that."):
        raise cupy.cuda.memory.OutOfMemoryError("Out of memory allocating 1,024 bytes.")
    with pytest.raises(ExecutionError, match=r"takes 0\.0 GB of a GPU's memory, and this one has 0\.0 GB .*Dask"):
        fit(execution=Cuda(memory=1000))
    with pytest.raises(ParameterError, match="at most 64 events, got 65"):
        fit(65)
    for solver in ({"user_solver": "frank_wolfe"}, {"item_solver": "gd"}, {"psi": "soft"}):
        with pytest.raises(ParameterError, match="does not run on a GPU"):
            fit(**solver)
