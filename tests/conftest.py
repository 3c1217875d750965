"""Fixtures shared by all tests."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from helpers import browser as browsers
from kolmogorov import Observations, datasets

#: Fixtures whose tests are long: what they are called where they are left out.
LONG = {
    "cuda": "kernels of GPUs",
    "browser": "the page in a browser",
    "client": "clusters",
}
#: Tests of this folder run in one process, so that no solver is compiled twice side by side.
SOLVERS = str(Path(__file__).parent / "solvers")
#: Modules of the solvers that take longest to compile.
BESIDE = ("dual", "sdr")
_DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# What a verb says after two seconds would depend on the machine.
os.environ["KOLMOGOROV_PATIENCE"] = "3600"

settings.register_profile("kolmogorov", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kolmogorov")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what is long by the fixtures that it takes.

    Pages of the docs, the longest, go first: at the end of a run one process would be left alone with them.
    """
    for item in items:
        for name in LONG.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.long(LONG[name]))
        if "kolmogorov/solvers" in item.path.as_posix() and item.path.stem in BESIDE:
            item.add_marker(pytest.mark.long("solvers beside the usual"))
        if str(item.path).startswith(SOLVERS):
            item.add_marker(pytest.mark.xdist_group("solvers"), append=False)
    pages = {
        item for item in items if (mark := item.get_closest_marker("long")) and mark.args[0] == "pages of the docs"
    }
    items.sort(key=lambda item: item not in pages)


@pytest.fixture(scope="session")
def data_directory():
    """The folder with MovieLens; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("KOLMOGOROV_DATA", _DEFAULT_DATA))
    if not (folder / "ml-100k" / "u.data").exists():
        pytest.skip(f"MovieLens 100K is not in {folder}; set KOLMOGOROV_DATA to the folder that holds ml-100k")
    previous = os.environ.get("KOLMOGOROV_DATA")
    os.environ["KOLMOGOROV_DATA"] = str(folder)
    yield folder
    if previous is None:
        del os.environ["KOLMOGOROV_DATA"]
    else:
        os.environ["KOLMOGOROV_DATA"] = previous


@pytest.fixture(scope="session")
def zoo():
    return datasets.load("zoo")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def visits():
    """Only yes is recorded."""
    truth = datasets.planted(n_users=60, n_items=40, n_events=4, random_state=1)
    users, items = np.nonzero(np.random.default_rng(0).random((60, 40)) < 0.6 * (truth.theta @ truth.psi.T))
    return Observations.from_arrays(users, items, np.ones(users.size))


@pytest.fixture
def cupy(monkeypatch):
    from scipy import special

    from helpers.host_cupy import host_cupy

    monkeypatch.setitem(sys.modules, "cupy", module := host_cupy())
    for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.special"):
        monkeypatch.setitem(sys.modules, name, special)
    return module


@pytest.fixture
def cuda(cupy, monkeypatch):
    """A GPU that is the host, with small segments and batches so that small tables have many."""
    from helpers import emulation
    from kolmogorov.gpu import descent as fitting
    from kolmogorov.gpu import lists as surface
    from kolmogorov.gpu.cuda import Cuda

    monkeypatch.setattr(Cuda, "kernel", lambda self, *given, **constants: emulation.function(*given, **constants))
    monkeypatch.setattr(fitting, "SEGMENT", 16)
    monkeypatch.setattr(fitting, "BATCH", 1 << 14)
    monkeypatch.setattr(surface, "WORTH_SCORES", 1)
    return Cuda()


@pytest.fixture(scope="session")
def browser():
    """A chromium for all tests of a process, as a second driver would not start. Tests skip where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
    pytest.importorskip("jinja2", reason="reports need the extra 'report'")
    if not browsers.available():
        pytest.skip("no chromium on this machine")
    playwright.expect.set_options(timeout=browsers.PATIENCE)
    with playwright.sync_playwright() as driver:
        try:
            found = browsers.launched(driver)
        except playwright.Error as error:
            if browsers.system_browser() or "missing dependencies" not in str(error):
                raise
            pytest.skip("playwright's chromium misses libraries of the system")
        yield found
        found.close()
