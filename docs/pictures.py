"""Take the screenshots of the report that the README and docs/report.md show: python docs/pictures.py [folder].

With a folder, every view is looked at, at both sizes and in both schemes, and nothing in docs/ changes.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import kolmogorov as km

HERE = Path(__file__).resolve().parent
SIZES = {"desk": {"width": 1200, "height": 850}, "phone": {"width": 375, "height": 760}}
#: What the documents show: page, view, size, scheme.
SHOWN = (
    ("zoo", "overview", "desk", "light"),
    ("zoo", "what-if?a=feathers%3A1%2Cpredator%3A0", "desk", "light"),
    ("zoo", "events/2", "desk", "dark"),
    ("zoo", "matrix", "desk", "light"),
    ("zoo", "rules", "desk", "dark"),
    ("zoo", "order", "desk", "light"),
    ("zoo", "users/dolphin", "desk", "light"),
    ("zoo", "wrong", "desk", "light"),
    ("zoo", "overview", "phone", "dark"),
    ("draws", "what-if?a=feathers%3A1%2Cpredator%3A0", "desk", "light"),
    ("digits", "what-if", "desk", "light"),
)
VIEWS = (
    "overview", "what-if?a=feathers%3A1%2Cpredator%3A0", "events", "events/2", "matrix", "rules", "order", "order/~3",
    "items", "items/~3", "users", "users/~20", "wrong",
)  # fmt: skip


def pages(folder: Path) -> dict[str, str]:
    """Write the reports of some models and return their addresses."""
    zoo, digits = km.datasets.load("zoo"), km.datasets.load("digits")
    train, _ = zoo.split(test_size=0.2, random_state=0)
    some, _ = digits.split(test_size=0.2, random_state=0)
    point = km.KolmogorovModel(n_events=5, random_state=0).fit(train)
    draws = km.BayesianKolmogorovModel(5, n_chains=4, random_state=0).fit(train)
    pixels = km.KolmogorovModel(8, levels="chances", random_state=0).fit(some)
    point.report(folder / "zoo.html", zoo, title="Zoo", nouns=("animal", "trait"))
    draws.report(folder / "draws.html", zoo, title="Zoo, drawn", nouns=("animal", "trait"))
    pixels.report(folder / "digits.html", digits, title="Digits", image=(8, 8), max_users=300, nouns=("digit", "pixel"))
    return {name: (folder / f"{name}.html").as_uri() for name in ("zoo", "draws", "digits")}


def main() -> None:
    """Look at the pages."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from helpers.browser import launched

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    every = [(page, view, size, scheme) for page in ("zoo", "draws", "digits") for view in VIEWS for size in SIZES
             for scheme in ("light", "dark")]  # fmt: skip
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        addresses = pages(Path(made))
        browser = launched(driver)
        for name, view, size, scheme in every if folder else SHOWN:
            page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
            page.goto(f"{addresses[name]}#{view}")
            short = view.split("?")[0].replace("/", "-").replace("~", "")
            where = (folder or HERE / "report") / f"{name}-{short}-{size}-{scheme}.png"
            where.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=where)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
