"""`fit --gpu` where there is none."""

import pytest

from kolmogorov._support.optional import installed


@pytest.mark.skipif(installed("cupy"), reason="CuPy is installed")
def test_what_is_missing_is_named(shell, tmp_path):
    result = shell("fit", "dataset:zoo", "--gpu", "-o", tmp_path / "zoo.km")
    assert result.exit_code == 1
    assert "pip install '.[cuda]'" in result.output
    assert not (tmp_path / "zoo.km").exists()
    assert "pip install '.[cuda]'" in " ".join(shell("doctor").output.replace("│", " ").split())


def test_workers_of_a_cluster_have_none(shell, tmp_path):
    result = shell("fit", "dataset:zoo", "--gpu", "--dask", "local:1", "-o", tmp_path / "zoo.km")
    assert result.exit_code == 2
    assert "--gpu does not go with --dask" in result.output
