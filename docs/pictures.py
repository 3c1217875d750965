"""Take the screenshots of the zoo's report that the README shows: python docs/pictures.py."""

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import kolmogorov as km

HERE = Path(__file__).parent


def main() -> None:
    """Fit the zoo and look at its report in both schemes."""
    zoo = km.datasets.load("zoo")
    train, _ = zoo.split(test_size=0.2, random_state=0)
    model = km.KolmogorovModel(n_events=5, user_reg=0.3, n_init=10, random_state=0).fit(train)
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "zoo.html"
        model.report(path, zoo, title="Zoo")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--disable-gpu", *sandbox])
        for scheme, view in (("light", "overview"), ("dark", "order")):
            page = browser.new_page(viewport={"width": 1100, "height": 760}, color_scheme=scheme)
            page.goto(f"{path.as_uri()}#{view}")
            page.screenshot(path=HERE / f"report-zoo-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
