"""`fit --gpu` where there is none."""

import pytest

from kolmogorov._support.optional import installed


@pytest.mark.skipif(installed("cupy"), reason="CuPy is installed")
def test_what_is_missing_is_named(shell, tmp_path):
    result = shell("fit", "dataset:zoo", "--gpu", "-o", tmp_path / "zoo.km")
    assert result.exit_code == 1
    assert "pip install 'kolmogorov[cuda]'" in result.output
    assert not (tmp_path / "zoo.km").exists()
    assert "pip install 'kolmogorov[cuda]'" in " ".join(shell("doctor").output.replace("│", " ").split())


@pytest.mark.skipif(installed("cupy"), reason="CuPy is installed")
def test_workers_here_need_it_too(shell, tmp_path):
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    result = shell("fit", "dataset:zoo", "--gpu", "--dask", "local:1", "-o", tmp_path / "zoo.km")
    assert result.exit_code == 1
    assert "pip install 'kolmogorov[cuda]'" in result.output
    assert not (tmp_path / "zoo.km").exists()
