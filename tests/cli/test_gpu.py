"""`fit --gpu` where there is none."""

from types import SimpleNamespace

import pytest

from kolmogorov import execution
from kolmogorov._support.optional import installed
from kolmogorov.cli import cluster


@pytest.mark.skipif(installed("cupy"), reason="CuPy is installed")
def test_what_is_missing_is_named(shell, tmp_path):
    result = shell("fit", "dataset:zoo", "--gpu", "-o", tmp_path / "zoo.km")
    assert result.exit_code == 1
    assert "pip install '.[cuda]'" in result.output
    assert not (tmp_path / "zoo.km").exists()
    assert "pip install '.[cuda]'" in " ".join(shell("doctor").output.replace("│", " ").split())


@pytest.mark.skipif(installed("cupy"), reason="CuPy is installed")
def test_workers_here_need_it_too(shell, tmp_path):
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    result = shell("fit", "dataset:zoo", "--gpu", "--dask", "local:1", "-o", tmp_path / "zoo.km")
    assert result.exit_code == 1
    assert "pip install '.[cuda]'" in result.output
    assert not (tmp_path / "zoo.km").exists()


@pytest.mark.parametrize(("seen", "devices"), [(None, ["0", "1", "0"]), ("5,7", ["5", "7", "5"])])
def test_workers_here_get_one_gpu_each_in_turn(monkeypatch, seen, devices):
    monkeypatch.setattr(execution, "Cuda", lambda: SimpleNamespace(count=lambda: 2))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    dealt = {}

    def run(work, device, workers):
        dealt[workers[0]] = (work, device)

    cluster._deal_gpus(SimpleNamespace(nthreads=lambda: {"c": 1, "a": 1, "b": 1}, run=run))
    assert [dealt[worker][1] for worker in "abc"] == devices
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "before")
    dealt["a"][0]("3")
    assert cluster.os.environ["CUDA_VISIBLE_DEVICES"] == "3"
