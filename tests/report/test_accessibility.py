"""axe-core looks at every view, on a desk and on a phone, in both schemes."""

from pathlib import Path

import pytest

from helpers.browser import go

pytestmark = pytest.mark.xdist_group("browser")
VIEWS = (
    "overview", "what-if", "events", "events/2", "matrix", "rules", "order", "order/eggs", "items", "items/eggs",
    "users", "users/dolphin", "wrong",
)  # fmt: skip


@pytest.fixture(scope="module")
def axe():
    package = pytest.importorskip("axe_playwright_python", reason="axe needs axe-playwright-python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [("zoo_page", 1200, "light"), ("zoo_page", 1200, "dark"), ("zoo_page", 360, "light"), ("drawn_page", 360, "dark")],
)
def test_axe_finds_nothing(visit, request, axe, kind, width, scheme):
    # The page's own policy keeps axe out like everything else.
    address = request.getfixturevalue(kind)
    page = visit(address, viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    page.evaluate(axe)
    for view in VIEWS:
        go(page, view)
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        assert [(view, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
