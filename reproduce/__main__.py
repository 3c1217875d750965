"""Computes tables and figures of the paper: `python -m reproduce table_4 figure_1 [--quick]`; `all`; `page`.

A full run writes reproduce/results/ and the pictures of docs/paper/, and takes hours for everything. A quick one, with
few sweeps, one start and little data, writes into a temporary folder, and shows the columns rather than the findings.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from kolmogorov.errors import DataError
from reproduce import ablations
from reproduce.common import RESULTS, Tables, draw, read, write
from reproduce.page import PAGE, filled, markdown

MODULES = [f"table_{k}" for k in range(1, 7)] + [f"figure_{k}" for k in range(1, 9)] + ["lemmas", "errata"]
ABLATIONS = ["start", "quasi_newton", "roundings", "safeguards", "sweeps", "frank_wolfe"]


def computation(name: str) -> Callable[[bool], Tables]:
    """Return what computes an item."""
    return getattr(ablations, name) if name in ABLATIONS else import_module(f"reproduce.{name}").run  # type: ignore[no-any-return]


def picture(name: str, tables: Tables, folder: Path) -> None:
    """Draw a figure from its tables."""
    if name in MODULES and (panels := getattr(import_module(f"reproduce.{name}"), "panels", None)):
        draw(panels(tables), folder / f"{name}.png")


def page() -> None:
    """Make the tables of docs/paper.md and its pictures from the results."""
    for name in MODULES:
        found = {path.stem: read(path) for path in RESULTS.glob(f"{name}*.csv")}
        picture(name, found, PAGE.with_suffix(""))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Compute what is named."""
    parser = argparse.ArgumentParser(prog="python -m reproduce", description=__doc__)
    parser.add_argument("names", nargs="+", choices=["all", "page", *MODULES, *ABLATIONS], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="few sweeps, one start, little data; results are not kept")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="reproduce-")) if given.quick else RESULTS
    every = "all" in given.names
    for name in [*MODULES, *ABLATIONS] if every else [name for name in given.names if name != "page"]:
        began = time.perf_counter()
        try:
            tables = computation(name)(given.quick)
        except DataError as error:
            print(f"\n{name} is left out: {error}", file=sys.stderr)
            if not every:
                sys.exit(1)
            continue
        for stem, rows in tables.items():
            write(rows, folder / f"{stem}.csv")
            print(f"\n{stem}\n\n{markdown(rows[:12])}")
        if given.quick:
            picture(name, tables, folder)
        print(f"\n{name}: {time.perf_counter() - began:.0f} s, in {folder}", file=sys.stderr)
    if not given.quick:
        page()


if __name__ == "__main__":
    # As for the benchmarks, MovieLens is looked for beside the clone.
    os.environ.setdefault("KOLMOGOROV_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    main()
