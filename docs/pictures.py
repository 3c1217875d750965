"""Take the screenshots of the zoo's report that the README shows: python docs/pictures.py."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import kolmogorov as km

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Fit the zoo and look at its report in both schemes."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from browser import launched

    zoo = km.datasets.load("zoo")
    train, _ = zoo.split(test_size=0.2, random_state=0)
    model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(train)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "zoo.html"
        model.report(path, zoo, title="Zoo")
        browser = launched(driver)
        for scheme, view in (("light", "overview"), ("dark", "order")):
            page = browser.new_page(viewport={"width": 1100, "height": 760}, color_scheme=scheme)
            page.goto(f"{path.as_uri()}#{view}")
            page.screenshot(path=HERE / f"report-zoo-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
