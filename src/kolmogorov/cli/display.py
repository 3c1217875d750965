"""Tables, numbers and notices for a terminal. Names are data: they are shown, never interpreted."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kolmogorov._support.files import atomic_writer

FORMATS = ("table", "csv", "json")


def console(*, stderr: bool = False) -> Console:
    """Make a console that interprets no markup."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def clean(text: Any) -> str:
    """Replace control characters, so that a title cannot move the cursor or colour the screen."""
    return "".join("�" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in str(text))


def number(value: Any) -> str:
    """Word a number for people; what is missing is a dash."""
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def table(title: str | None, columns: Mapping[str, Sequence[Any]]) -> Table:
    """Make a table of named columns; numbers stand to the right."""
    result = Table(title=Text(clean(title)) if title else None, title_justify="left")
    for name, cells in columns.items():
        right = all(cell is None or isinstance(cell, (int, float)) for cell in cells)
        result.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in zip(*columns.values(), strict=True):
        result.add_row(*(Text(clean(number(cell))) for cell in row))
    return result


def emit(columns: Mapping[str, Iterable[Any]], form: str, output: str | None, title: str | None = None) -> None:
    """Write columns as a table, as CSV or as JSON, to a file (whole or not at all) or to standard output."""
    plain = {name: [_plain(cell) for cell in cells] for name, cells in columns.items()}
    if form == "table" and output is None:
        console().print(table(title, plain))
        return
    wants_json = form == "json" or (form == "table" and str(output).lower().endswith(".json"))
    text = _json(plain) if wants_json else _csv(plain)
    if output is None or output == "-":
        sys.stdout.write(text)
    else:
        write_text(output, text)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_writer(path) as stream:
        stream.write(text.encode("utf-8"))


def _csv(columns: Mapping[str, Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue()


def _json(columns: Mapping[str, Sequence[Any]]) -> str:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(rows, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _plain(cell: Any) -> Any:
    """Return Python's own type; what is not a number becomes None, which CSV and JSON can say."""
    plain = cell.item() if hasattr(cell, "item") else cell
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
