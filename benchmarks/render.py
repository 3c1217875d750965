"""Put the tables of benchmarks/results into README.md and docs/: python benchmarks/render.py [--check].

A place in a document is marked by two comments, and everything between them is replaced::

    <!-- table: NAME -->
    <!-- end -->

`--check` writes nothing, names the documents that differ, and ends with status 1 if there are any.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tables import RESULTS, Table

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- table: (?P<name>[a-z0-9-]+) -->\n)(?P<old>.*?)(<!-- end -->)", re.DOTALL)

ABSENT = "Not measured yet.\n"


def documents(root: Path = ROOT) -> list[Path]:
    """Return the documents that may hold tables."""
    docs = root / "docs"
    pages = docs.glob("*.md")
    return [root / "README.md", root / "benchmarks" / "README.md", *sorted(pages)]


def rendered(text: str, folder: Path = RESULTS) -> str:
    """Return a document's text with every marked table made anew."""

    def table(match: re.Match[str]) -> str:
        known = (folder / f"{match['name']}.json").exists()
        return f"{match[1]}\n{Table.read(match['name'], folder).markdown() if known else ABSENT}\n{match[4]}"

    return PLACE.sub(table, text)


def main() -> int:
    """Write or check all documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; name the documents that differ")
    check = parser.parse_args().check
    differing = []
    for path in documents():
        old = path.read_text(encoding="utf-8")
        new = rendered(old)
        if new != old:
            differing.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_text(new, encoding="utf-8")
    if differing:
        print(("differ from benchmarks/results: " if check else "written: ") + ", ".join(differing))
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
