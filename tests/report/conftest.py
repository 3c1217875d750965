"""A browser and pages to look at."""

import pytest

from helpers import browser as browsers
from kolmogorov import BayesianKolmogorovModel, KolmogorovModel

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
