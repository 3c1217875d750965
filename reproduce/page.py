"""Puts results into docs/paper.md, between comments that say which table, and how it is to be shown.

`<!-- reproduce: table_1 -->` shows a table as it is. With `; rows: a, b; columns: c; cells: d, e` a row is made for
each a and b, a column for each c, and a cell says "d / e"; `; where: f = 1 | 2 & g = 3` leaves rows out, and
`; digits: 2` rounds.
"""

import re
from pathlib import Path
from typing import Any

from reproduce.common import RESULTS, Row, read

PAGE = Path(__file__).resolve().parents[1] / "docs" / "paper.md"
PLACE = re.compile(r"(<!-- reproduce: (?P<how>.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str, folder: Path = RESULTS) -> str:
    """Return a document with every marked table made anew."""
    return PLACE.sub(lambda match: f"{match[1]}\n{_table(match['how'], folder)}\n\n{match[3]}", text)


def markdown(rows: list[Row]) -> str:
    """Return a table in Markdown."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    lines = ["| " + " | ".join(text.replace("|", r"\|") for text in line) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "---|" * len(names), *lines[1:]])


def _cell(value: Any, digits: int = 4) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.{digits}g}"
    return "" if value is None else str(value)


def _table(how: str, folder: Path) -> str:
    name, *settings = how.split("; ")
    options = dict(setting.split(": ", 1) for setting in settings)
    rows = read(folder / f"{name}.csv")
    for condition in filter(None, options.get("where", "").split(" & ")):
        column, _, values = condition.partition(" = ")
        rows = [row for row in rows if str(row[column]) in values.split(" | ")]
    return markdown(_pivot(rows, options) if "rows" in options else rows)


def _pivot(rows: list[Row], options: dict[str, str]) -> list[Row]:
    keys, columns, cells = (options[name].split(", ") for name in ("rows", "columns", "cells"))
    digits = int(options.get("digits", 4))
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        line = found.setdefault(tuple(row[name] for name in keys), {name: row[name] for name in keys})
        told = [_cell(row[name], digits) or "-" for name in cells]
        while told[-1] == "-" and len(told) > 1:
            told.pop()
        line[", ".join(f"{name} = {_cell(row[name])}" for name in columns)] = " / ".join(told)
    return list(found.values())
