"""A browser and pages to look at."""

import numpy as np
import pytest

from helpers import browser as browsers
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, ListModel, Observations

NOUNS = ("animal", "trait")


@pytest.fixture
def visit(browser):
    """Open a page; the test fails on any console error or network request."""
    troubles, pages = [], []

    def open_page(address, **options):
        page = browser.new_page(**options)
        page.set_default_timeout(browsers.PATIENCE)
        pages.append(page)
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "blob:")) else troubles.append(request.url),
        )
        page.goto(address)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not troubles


@pytest.fixture(scope="session")
def zoo_model(zoo):
    train, _ = zoo.split(test_size=0.2, random_state=0)
    return KolmogorovModel(5, random_state=0).fit(train)


@pytest.fixture(scope="session")
def zoo_page(zoo, zoo_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "zoo.html"
    zoo_model.report(path, zoo, title="Zoo", nouns=NOUNS)
    return path.as_uri()


@pytest.fixture(scope="session")
def drawn_model(zoo):
    train, _ = zoo.split(test_size=0.2, random_state=0)
    return BayesianKolmogorovModel(5, n_chains=2, burn_in=50, n_samples=20, random_state=0).fit(train)


@pytest.fixture(scope="session")
def drawn_page(zoo, drawn_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "drawn.html"
    drawn_model.report(path, zoo, title="Zoo, drawn", nouns=NOUNS)
    return path.as_uri()


@pytest.fixture(scope="session")
def bought():
    """Games, and more that go with them."""
    rng = np.random.default_rng(0)
    games = rng.random((250, 12)) < 0.25
    users, items = np.nonzero(np.hstack([games, games & (rng.random(games.shape) < 0.6)]))
    names = np.array([f"game {i}" for i in range(12)] + [f"<b>more</b> {i}" for i in range(12)])
    return Observations.from_arrays(users, names[items], np.ones(users.size))


@pytest.fixture(scope="session")
def list_model(bought):
    return ListModel(3, balance=0.3, random_state=0).fit(bought.split(0.2, by="user", random_state=0)[0])
