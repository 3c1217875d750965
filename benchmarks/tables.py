"""A table of figures: filled by a benchmark, kept as JSON in benchmarks/results, shown in documents.

`python benchmarks/tables.py` puts all of them into README.md and docs/, each in place of what stands between the
comments ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PLACE = re.compile(r"(<!-- table: (?P<name>[a-z0-9-]+) -->\n)(?P<old>.*?)(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Column:
    """How the cells below a title are written.

    `format` is that of a number, as Python's `format` knows it, or one of `FORMATS`, or a list for cells that hold
    several numbers; `template` says how these stand together, and `missing` what stands for None.
    """

    title: str
    format: str | list[str] = ""
    template: str = "{} / {}"
    missing: str = ""

    def text(self, cell: Any) -> str:
        """Return a cell in words: text as it is, numbers by the format."""
        if cell is None:
            return self.missing
        if isinstance(cell, str):
            return cell
        numbers = cell if isinstance(cell, (list, tuple)) else [cell]
        specs = self.format if isinstance(self.format, list) else [self.format]
        words = [_number(number, spec) for number, spec in zip(numbers, specs, strict=False)]
        return words[0] if len(words) == 1 else self.template.format(*words)


@dataclass
class Table:
    """Rows under columns, and where they come from.

    `name` is that of the file in benchmarks/results, and of the place in a document: ``<!-- table: NAME -->``. The
    `date` is that of the run, and `environment` tells versions and processor, or those of the runs of each part
    (`harness.finish`); or that figures were read from a document on that day, no file of their run having been kept.
    """

    name: str
    title: str
    command: str
    columns: list[Column]
    rows: list[list[Any]] = field(default_factory=list)
    date: str = ""
    environment: dict[str, Any] | None = None

    def add(self, *cells: Any) -> None:
        """Append a row and print it."""
        assert len(cells) == len(self.columns), f"{self.name}: {len(cells)} cells for {len(self.columns)} columns"
        if not self.rows:
            print(f"\n{self.title}\n\n{_line(c.title for c in self.columns)}\n{_rule(len(self.columns))}")
        self.rows.append([_plain(cell) for cell in cells])
        print(_line(self._texts(self.rows[-1])), flush=True)

    def markdown(self) -> str:
        """Return the table as documents show it."""
        grid = [[column.title for column in self.columns], *(self._texts(row) for row in self.rows)]
        return "\n".join([_line(grid[0]), _rule(len(grid[0])), *map(_line, grid[1:])]) + "\n"

    def write(self, folder: Path = RESULTS) -> Path:
        """Write the table as JSON, a row on a line."""
        content = {key: value for key, value in asdict(self).items() if key not in ("columns", "rows")}
        defaults = {"format": "", "template": "{} / {}", "missing": ""}
        columns = [{k: v for k, v in asdict(c).items() if defaults.get(k) != v} for c in self.columns]
        text = json.dumps(content, ensure_ascii=False, indent=2)[:-2]
        for key, lines in (("columns", columns), ("rows", self.rows)):
            text += f',\n  "{key}": [\n    '
            text += ",\n    ".join(json.dumps(line, ensure_ascii=False, allow_nan=False) for line in lines) + "\n  ]"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(text + "\n}\n", encoding="utf-8")
        return path

    @classmethod
    def read(cls, name: str, folder: Path = RESULTS) -> Table:
        """Read what was written under a name."""
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        content["columns"] = [Column(**column) for column in content["columns"]]
        return cls(**content)

    def _texts(self, row: list[Any]) -> list[str]:
        return [column.text(cell) for column, cell in zip(self.columns, row, strict=True)]


def _significant(number: float) -> str:
    """Three digits, and all of those before the point."""
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:.0f}"


def _gap(number: float) -> str:
    """Nothing, or its order of magnitude."""
    return "0" if abs(number) < 5e-11 else f"{number:.0e}"


FORMATS = {"significant": _significant, "gap": _gap}


def _number(number: float, spec: str) -> str:
    return FORMATS[spec](number) if spec in FORMATS else format(number, spec)


def _plain(cell: Any) -> Any:
    """Return a cell as JSON knows it."""
    if isinstance(cell, (list, tuple)):
        return [_plain(part) for part in cell]
    return cell.item() if hasattr(cell, "item") else cell


def _line(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(n: int) -> str:
    return "|" + "---|" * n


# --- documents -------------------------------------------------------------------------------------------------------


def documents() -> list[Path]:
    """Return the documents that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def rendered(text: str, folder: Path = RESULTS) -> str:
    """Return a document's text with every marked table made anew."""
    return PLACE.sub(lambda place: f"{place[1]}\n{Table.read(place['name'], folder).markdown()}\n{place[4]}", text)


if __name__ == "__main__":
    for path in documents():
        path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
