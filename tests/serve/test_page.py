"""The page at / in a browser, which asks a real server."""

import re

import pytest

import kolmogorov as km
from helpers import browser as browsers
from helpers.server import serving

pytestmark = pytest.mark.long("the served page in a browser")


@pytest.fixture
def visit(browser):
    """Open a page; the test fails on any error in its console, and on requests to elsewhere."""
    troubles, pages = [], []

    def open_page(server, allowed=()):
        page = browser.new_page()
        page.set_default_timeout(browsers.PATIENCE)
        pages.append(page)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "console",
            lambda message: (
                troubles.append(message.text)
                if message.type == "error" and not any(text in message.text for text in allowed)
                else None
            ),
        )
        page.on(
            "request",
            lambda request: None if request.url.startswith((server.url, "data:")) else troubles.append(request.url),
        )
        page.goto(server.url)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not troubles


SHOWS = """(names) => {
    const shown = [...document.querySelectorAll("#list li span")].map((name) => name.innerText);
    return JSON.stringify(shown) === JSON.stringify(names);
}"""


def listed(page):
    return page.locator("#list li span").all_inner_texts()


def test_what_is_said_changes_what_is_recommended(visit, zoo_server, zoo_model):
    model = km.load(zoo_model)
    page = visit(zoo_server)
    page.wait_for_selector("#events li")
    assert "KolmogorovModel of 1,515 ratings, 101 users and 15 items." in page.inner_text("#about")
    page.fill("#find", "feath")
    page.get_by_label("Rate feathers").click()
    page.wait_for_selector("#list li")
    wanted = model.recommend(guest={"feathers": 1}, n=12)
    assert listed(page) == wanted["item"].tolist()
    # Moving the slider asks again.
    with page.expect_response(re.compile("recommend")):
        page.get_by_label("Rating of feathers").fill("0")
    other = model.recommend(guest={"feathers": 0}, n=12)["item"].tolist()
    page.wait_for_function(SHOWS, arg=other)
    page.get_by_label("Remove feathers").click()
    page.wait_for_function("() => !document.querySelector('#list li')")
    assert page.inner_text("#wrong") == ""


def test_names_are_shown_and_never_run(visit, tmp_path):
    bad = "<img src=x onerror=alert(1)>"
    table = km.Observations.from_arrays(["a", "a", "b", "b"], [bad, "milk", bad, "milk"], [1, 0, 0, 1])
    km.KolmogorovModel(2, random_state=0).fit(table).save(tmp_path / "bad.km")
    with serving(tmp_path / "bad.km", tmp_path / "log") as server:
        page = visit(server)
        page.wait_for_selector("#found li")
        assert bad in page.locator("#found").inner_text()
        assert page.locator("#found img").count() == 0


def test_a_token_is_asked_for_and_used(visit, zoo_model, tmp_path):
    with serving(zoo_model, tmp_path / "log", KOLMOGOROV_TOKEN="sesame") as server:
        page = visit(server, allowed=["401"])
        page.wait_for_selector("#key:not([hidden])")
        assert "Give the token" in page.inner_text("#wrong")
        page.fill("#token", "sesame")
        page.click("#key button")
        page.wait_for_selector("#events li")
        assert page.inner_text("#wrong") == ""


def test_the_page_has_no_violations(visit, zoo_server):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(zoo_server)
    page.wait_for_selector("#events li")
    page.get_by_role("button", name=re.compile("^Rate ")).first.click()
    page.wait_for_selector("#list li")
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
