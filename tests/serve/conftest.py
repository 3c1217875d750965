"""A model in a file, and a server of it in a process of its own."""

import pytest

import kolmogorov as km
from helpers.server import serving


@pytest.fixture(scope="session")
def zoo():
    return km.datasets.load("zoo")


@pytest.fixture(scope="session")
def zoo_model(zoo, tmp_path_factory):
    path = tmp_path_factory.mktemp("serve") / "zoo.km"
    km.KolmogorovModel(4, random_state=0).fit(zoo).save(path)
    return path


@pytest.fixture(scope="session")
def zoo_server(zoo_model, tmp_path_factory):
    """One server for tests that leave its file alone."""
    with serving(zoo_model, tmp_path_factory.mktemp("log") / "server.log") as server:
        yield server


@pytest.fixture
def own_model(zoo_model, tmp_path):
    """A copy of the file that a test may change."""
    path = tmp_path / "model.km"
    path.write_bytes(zoo_model.read_bytes())
    return path
