"""The page of MovieLens 1M at D = 16: seconds to write it, its size, and how soon a browser shows it."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from harness import Column, Table, finish, machine, movielens

from kolmogorov import KolmogorovModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

EVENTS, SWEEPS, USER_REG, OPENINGS = 16, 8, 20.0, 7
COLUMNS = [Column("table"), Column("seconds to write", ".1f"), Column("MB", ".1f"), Column("seconds to open", ".2f")]
#: From the beginning of the navigation until the first view is drawn.
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"


def opened(path):
    """Open a page some times; return the median seconds until its first view stands."""
    from playwright.sync_api import sync_playwright

    from helpers.browser import launched

    seconds = []
    with sync_playwright() as driver:
        browser = launched(driver)
        for _ in range(OPENINGS):
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector(".verdict")
            seconds.append(page.evaluate(OPENED))
            page.close()
        browser.close()
    return statistics.median(seconds)


def main():
    print(machine())
    title = f"The report, D = {EVENTS}, of a model after {SWEEPS} sweeps; opened {OPENINGS} times in Chromium, median"
    results = Table("page", title, "python benchmarks/page.py", COLUMNS)
    for name in ("ml-100k", "ml-1m"):
        ratings = movielens(name)
        train, _ = ratings.split(test_size=0.2, random_state=0)
        model = KolmogorovModel(EVENTS, learn_from="ratings", user_reg=USER_REG, max_iter=SWEEPS, random_state=0).fit(
            train
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            # Kernels are compiled before the clock starts.
            model.report(path, ratings)
            start = time.perf_counter()
            model.report(path, ratings)
            seconds = time.perf_counter() - start
            results.add(name, seconds, path.stat().st_size / 1e6, opened(path))
    finish(results)


if __name__ == "__main__":
    main()
