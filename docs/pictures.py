"""Take the screenshots of the report that docs/report.md shows: python docs/pictures.py [folder].

With a folder, pages of three tables, of one model and of draws, are looked at there, at both sizes and in both schemes
(24 pictures), and nothing in docs/ changes. Where MovieLens 100K is at hand, its pages too; they may not enter the
repository, so the folder has to lie outside of it.
"""

import sys
import tempfile
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

import kolmogorov as km
from kolmogorov.data.datasets import data_directories

HERE = Path(__file__).resolve().parent
SIZES = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
SCHEMES = ("light", "dark")
#: What the document shows: page, part of it, size, scheme.
SHOWN = (
    ("un-votes", "overview", "desk", "light"),
    ("food", "events", "desk", "light"),
    ("zoo", "matrix", "desk", "dark"),
    ("zoo", "what-if", "desk", "light"),
)
#: Tables that are looked at: nouns, and the number of events.
TABLES = {
    "un-votes": (("country", "motion"), 6),
    "food": (("person/people", "cuisine"), 6),
    "zoo": (("animal", "trait"), 5),
    "ml-100k": (("person/people", "film"), 8),
}


def page_of(name: str, folder: Path) -> str:
    """Write the report of a model and return its address."""
    path = folder / f"{name}.html"
    if not path.exists():
        data = km.datasets.load(name.removesuffix("-draws"))
        train, _ = data.split(test_size=0.2, random_state=0)
        nouns, n_events = TABLES[name.removesuffix("-draws")]
        draws = km.BayesianKolmogorovModel(n_events, n_chains=4, random_state=0)
        one = km.KolmogorovModel(n_events, psi="soft", random_state=0)
        (draws if name.endswith("-draws") else one).fit(train).report(path, data, nouns=nouns)
    return path.as_uri()


def main() -> None:
    """Look at the pages."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from helpers.browser import launched

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    films = any((directory / "ml-100k").is_dir() for directory in data_directories())
    names = [f"{table}{kind}" for table in TABLES if films or table != "ml-100k" for kind in ("", "-draws")]
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        browser = launched(driver)
        for name, part, size, scheme in product(names, [""], SIZES, SCHEMES) if folder else SHOWN:
            page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
            page.goto(f"{page_of(name, Path(made))}#{part}")
            where = (folder or HERE / "report") / f"{'-'.join(filter(None, (name, part, size, scheme)))}.png"
            where.parent.mkdir(parents=True, exist_ok=True)
            if folder:
                page.screenshot(path=where, full_page=True)
            else:
                page.locator(f"#{part}").screenshot(path=where)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
