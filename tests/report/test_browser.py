"""The report in a real browser: it draws without errors, answers, sorts, and runs nothing it should not."""

import pytest

import browser as browsers
from kolmogorov import KolmogorovModel, Observations, datasets

playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright")
pytest.importorskip("jinja2", reason="reports need the extra 'report'")
pytestmark = [
    pytest.mark.skipif(not browsers.available(), reason="no chromium on this machine"),
    pytest.mark.xdist_group("browser"),
]
EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        try:
            found = browsers.launched(driver)
        except playwright.Error as error:
            if browsers.system_browser() or "missing dependencies" not in str(error):
                raise
            pytest.skip("playwright's chromium misses libraries of the system")
        yield found
        found.close()


@pytest.fixture(scope="module")
def zoo_page(zoo, tmp_path_factory):
    train, _ = zoo.split(test_size=0.2, random_state=0)
    model = KolmogorovModel(5, user_reg=0.3, n_init=5, random_state=0).fit(train)
    path = tmp_path_factory.mktemp("report") / "zoo.html"
    model.report(path, zoo, title="Zoo")
    return path.as_uri()


@pytest.fixture
def visit(browser):
    """Open a page; the test fails on any console error or network request."""
    troubles, pages = [], []

    def open_page(address, **options):
        page = browser.new_page(**options)
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


def rows(page, column, table=0):
    return page.locator("table").nth(table).locator(f"tbody tr td:nth-child({column})").all_inner_texts()


@pytest.mark.parametrize("view", ["overview", "events", "items", "items/3", "order", "order/3", "users", "users/4"])
@pytest.mark.parametrize("options", [
    {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"},
    {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
], ids=["desk", "phone"])  # fmt: skip
def test_every_view_draws_and_fits(visit, zoo_page, view, options):
    page = visit(f"{zoo_page}#{view}", **options)
    assert page.locator("h2").first.inner_text().lower() == view.split("/")[0]
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.locator("nav a[aria-current]").count() == 1


@pytest.mark.parametrize(
    "address", ["#constructor", "#__proto__", "#hasOwnProperty/3", "#items/99999", "#order/abc", "#"]
)
def test_strange_addresses_show_something(visit, zoo_page, address):
    assert visit(zoo_page + address).locator("h2").count() >= 1


def test_the_skip_link_keeps_the_view(visit, zoo_page):
    page = visit(f"{zoo_page}#items/3")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#items/3")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_item_asked_for_stands_in_its_box(visit, zoo_page):
    page = visit(f"{zoo_page}#items")
    page.get_by_role("searchbox").fill("feathers")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Show its place in the order").click()
    page.wait_for_selector(".node.chosen")
    assert page.locator(".node.chosen text").first.inner_html() == "feathers"


def test_dark_and_light_differ(visit, zoo_page):
    colours = {
        scheme: visit(zoo_page, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert colours["light"] != colours["dark"]


def test_search_and_click_through_by_keyboard(visit, zoo_page):
    page = visit(f"{zoo_page}#items")
    page.keyboard.press("/")
    page.keyboard.type("feath")
    assert page.locator(".found a").all_inner_texts() == ["feathers"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.startsWith('#items/')")
    assert page.locator("h2").nth(1).inner_text() == "feathers"
    assert page.locator(".strip i").count() == 5
    page.get_by_role("link", name="eggs").first.click()
    page.wait_for_function("document.querySelectorAll('h2')[1].textContent === 'eggs'")
    assert "feathers" in page.get_by_role("heading", name="What implies it").locator("..").inner_text()
    page.go_back()
    page.wait_for_function("document.querySelectorAll('h2')[1].textContent === 'feathers'")
    page.get_by_role("searchbox").fill("no such thing")
    assert "Nothing" in page.get_by_role("status").inner_text()


def test_tables_sort_both_ways(visit, zoo_page):
    page = visit(f"{zoo_page}#items")
    heading = page.get_by_role("button", name="trained on")
    heading.click()
    found = list(map(int, rows(page, 3)))
    assert found == sorted(found, reverse=True)
    heading.click()
    assert list(map(int, rows(page, 3))) == sorted(found)
    page.get_by_role("button", name="item", exact=True).click()
    names = rows(page, 1)
    assert names == sorted(names)


def test_the_order_is_walked(visit, zoo_page):
    page = visit(f"{zoo_page}#order")
    assert page.locator(".node").count() >= 8
    before = page.locator("svg.diagram").get_attribute("viewBox")
    page.get_by_role("button", name="Zoom in").click()
    zoomed = page.locator("svg.diagram").get_attribute("viewBox")
    assert float(zoomed.split()[2]) < float(before.split()[2])
    page.locator("svg.diagram").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("svg.diagram").get_attribute("viewBox") != zoomed
    page.locator(".node").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.startsWith('#items/')")
    page.get_by_role("link", name="Show its place in the order").click()
    page.wait_for_selector(".node.chosen", state="attached")
    assert page.evaluate("location.hash").startswith("#order/")
    assert page.locator(".node.chosen").count() == 1


def test_a_user_is_explained_in_words(visit, zoo_page):
    page = visit(f"{zoo_page}#users")
    page.get_by_role("searchbox").fill("dolphin")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.startsWith('#users/')")
    assert "event" in page.locator("table").inner_text()
    assert page.locator("svg.chart rect").count() == 5


def test_plots_are_saved(visit, zoo_page):
    page = visit(zoo_page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as SVG").first.click()
    with open(waiting.value.path(), encoding="utf-8") as file:
        text = file.read()
    assert waiting.value.suggested_filename == "calibration.svg"
    assert text.startswith("<svg")
    assert "stroke: rgb" in text


def test_hostile_titles_are_shown_and_not_run(visit, tmp_path):
    users = [u for u in (EVIL, "b", "c") for _ in range(3)]
    items = [EVIL, "x", "__proto__"] * 3
    table = Observations.from_arrays(users, items, [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    path = tmp_path / "evil.html"
    KolmogorovModel(2, random_state=0, user_reg=0.01).fit(table).report(path, title=EVIL)
    for view in ("overview", "events", "items", "items/0", "order", "users", "users/0"):
        page = visit(f"{path.as_uri()}#{view}")
        assert "owned" not in page.title().replace(EVIL, "")
        assert page.locator("img").count() == 0
    assert EVIL in visit(f"{path.as_uri()}#items").locator("table").inner_text()


def test_digits_are_drawn(visit, tmp_path):
    digits = datasets.load("digits")
    path = tmp_path / "digits.html"
    KolmogorovModel(4, user_reg=0.3, max_iter=3, random_state=0).fit(digits).report(path, image=(8, 8), max_users=20)
    page = visit(f"{path.as_uri()}#events")
    assert page.locator("svg.picture").count() == 4
    assert page.locator("svg.picture").first.locator("rect").count() == 64
