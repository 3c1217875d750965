"""Models in files."""

import pytest

import kolmogorov as km


@pytest.fixture(scope="session")
def zoo_model(zoo, tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "zoo.km"
    km.KolmogorovModel(4, random_state=0).fit(zoo).save(path)
    return path


@pytest.fixture
def own_model(zoo_model, tmp_path):
    """A copy of the file that a test may change."""
    path = tmp_path / "model.km"
    path.write_bytes(zoo_model.read_bytes())
    return path
