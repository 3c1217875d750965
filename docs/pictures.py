"""Take the screenshots of the report that the README and docs/report.md show: python docs/pictures.py [folder].

With a folder, all else is looked at, at both sizes and in both schemes, and nothing in docs/ changes: the overview of
three tables, of one model and of draws (24 pictures), and every view of the zoo and of digits. Where MovieLens 100K is
at hand, its overviews too; they may not enter the repository, so the folder has to lie outside of it.
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
WHAT_IF = "what-if?a=feathers%3A1&a=predator%3A0"
#: What the documents show: page, view, size, scheme.
SHOWN = (
    ("un-votes", "overview", "desk", "light"),
    ("zoo", "overview", "desk", "light"),
    ("zoo", WHAT_IF, "desk", "light"),
    ("zoo", "events/2", "desk", "dark"),
    ("zoo", "matrix", "desk", "light"),
    ("zoo", "rules", "desk", "dark"),
    ("zoo", "order", "desk", "light"),
    ("zoo", "users/dolphin", "desk", "light"),
    ("zoo", "wrong", "desk", "light"),
    ("zoo", "overview", "phone", "dark"),
    ("zoo-draws", WHAT_IF, "desk", "light"),
    ("digits", "what-if", "desk", "light"),
)
#: Tables that are looked at: nouns, and the number of events.
TABLES = {
    "un-votes": (("country", "motion"), 6),
    "food": (("person/people", "cuisine"), 6),
    "zoo": (("animal", "trait"), 5),
    "ml-100k": (("person/people", "film"), 16),
}
VIEWS = (
    WHAT_IF, "events", "events/2", "matrix", "rules", "order", "order/~3", "items", "items/~3", "users", "users/~20",
    "wrong",
)  # fmt: skip


def page_of(name: str, folder: Path) -> str:
    """Write the report of a model and return its address."""
    path = folder / f"{name}.html"
    if path.exists():
        return path.as_uri()
    table = name.removesuffix("-draws")
    data = km.datasets.load(table)
    train, _ = data.split(test_size=0.2, random_state=0)
    if table == "digits":
        pixels = km.KolmogorovModel(8, psi="soft", random_state=0).fit(train)
        pixels.report(path, data, image=(8, 8), max_users=300, nouns=("digit", "pixel"))
        return path.as_uri()
    nouns, n_events = TABLES[table]
    model = km.KolmogorovModel(n_events, random_state=0)
    if name != table:
        model = km.BayesianKolmogorovModel(n_events, n_chains=4, random_state=0)
    model.fit(train).report(path, data, nouns=nouns)
    return path.as_uri()


def everything() -> list[tuple[str, str, str, str]]:
    """Return all that is looked at: page, view, size, scheme."""
    films = any((folder / "ml-100k").is_dir() for folder in data_directories())
    there = [table for table in TABLES if films or table != "ml-100k"]
    tables = [f"{table}{kind}" for table in there for kind in ("", "-draws")]
    first = list(product(tables, ("overview",), SIZES, SCHEMES))
    return [*first, *product(("zoo", "zoo-draws", "digits"), VIEWS, SIZES, SCHEMES)]


def main() -> None:
    """Look at the pages."""
    sys.path.insert(0, str(HERE.parent / "tests"))
    from helpers.browser import launched

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as made, sync_playwright() as driver:
        browser = launched(driver)
        for name, view, size, scheme in everything() if folder else SHOWN:
            page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
            page.goto(f"{page_of(name, Path(made))}#{view}")
            short = view.split("?")[0].replace("/", "-").replace("~", "")
            where = (folder or HERE / "report") / f"{name}-{short}-{size}-{scheme}.png"
            where.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=where, full_page=folder is not None)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
