"""Runs items, writes what they give, and joins them; an interrupted run goes on where it stopped."""

from __future__ import annotations

import csv
import html
import io
import json
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov import __version__
from kolmogorov._support.files import atomic_writer
from kolmogorov._support.threads import usable_cpus
from kolmogorov.paper.figures.drawing import draw
from kolmogorov.paper.registry import ITEMS, run_item
from kolmogorov.paper.result import Effort, Result

_ROWS_SHOWN = 80


def run_items(
    names: Sequence[str], folder: Path, *, quick: bool, say: Callable[[str], None], fresh: bool = False
) -> None:
    """Compute the items that `folder` does not hold yet for this effort and version, and write them there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not fresh and _is_done(folder, name, quick):
            say(f"{name}: already there")
            continue
        say(f"{name}: {ITEMS[name]}")
        began = time.perf_counter()
        result = run_item(name, Effort(quick, lambda message, item=name: say(f"{item}: {message}")))  # type: ignore[misc]
        _write(folder, name, result, quick, time.perf_counter() - began)


def join(folder: Path) -> None:
    """Join the items of a folder into index.md and index.html."""
    parts = [name for name in ITEMS if (folder / f"{name}.md").exists()]
    texts = [(folder / f"{name}.md").read_text(encoding="utf-8") for name in parts]
    head = (
        "# The paper, reproduced\n\n*Dual Optimization for Kolmogorov Model Learning Using Enhanced Gradient "
        "Descent* (Duan, Ghauch, Kim): every table and figure beside the printed numbers. D1 is the toy, D2 MovieLens "
        "100K, D3 MovieLens 1M. Times are of one thread unless said otherwise; the paper's were taken with MATLAB on "
        "an i7-7700.\n\n"
    )
    _write_text(folder / "index.md", head + "\n".join(texts))
    _write_text(folder / "index.html", _page(folder, parts))


def environment() -> dict[str, Any]:
    """Return what a reader needs to judge the times."""
    return {
        "kolmogorov": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "processors": usable_cpus(),
    }


def _is_done(folder: Path, name: str, quick: bool) -> bool:
    try:
        record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(record.get("quick") == quick and record.get("environment", {}).get("kolmogorov") == __version__)


def _write(folder: Path, name: str, result: Result, quick: bool, seconds: float) -> None:
    """Write the item's files; the record comes last and marks it as done."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows(zip(*result.columns.values(), strict=True))
    _write_text(folder / f"{name}.csv", buffer.getvalue())
    draw(result.panels, result.title, folder / name)
    _write_text(folder / f"{name}.md", _fragment(name, result, quick, seconds))
    record = {"quick": quick, "seconds": round(seconds, 1), "seeds": result.seeds, "environment": environment()}
    _write_text(folder / f"{name}.json", json.dumps(record, indent=2) + "\n")


def _fragment(name: str, result: Result, quick: bool, seconds: float) -> str:
    mode = "quick" if quick else "full"
    lines = [f"## {result.title}", "", f"`kolmogorov paper {name}` ({mode}, {seconds:.0f} s)", ""]
    lines += [f"- {sentence}" for sentence in result.sentences]
    lines += ["", f"![{result.title}]({name}.png)", ""]
    rows = list(zip(*result.columns.values(), strict=True))
    if len(rows) <= _ROWS_SHOWN:
        lines += ["| " + " | ".join(result.columns) + " |", "|" + "---|" * len(result.columns)]
        lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    else:
        lines.append(f"The {len(rows):,} rows are in `{name}.csv`.")
    return "\n".join(lines) + "\n"


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _page(folder: Path, parts: list[str]) -> str:
    body = []
    for name in parts:
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        text = (folder / f"{name}.md").read_text(encoding="utf-8").splitlines()
        title = text[0].removeprefix("## ")
        points = "".join(f"<li>{html.escape(line[2:])}</li>" for line in text if line.startswith("- "))
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_short(cell))}</td>" for cell in row) + "</tr>"
            for row in rows[1 : _ROWS_SHOWN + 1]
        )
        header = "".join(f"<th>{html.escape(cell)}</th>" for cell in rows[0])
        table = f"<table><tr>{header}</tr>{cells}</table>" if len(rows) <= _ROWS_SHOWN + 1 else ""
        body.append(
            f'<section id="{name}"><h2>{html.escape(title)}</h2><ul>{points}</ul>'
            f'<img src="{name}.svg" alt="{html.escape(title)}">{table}</section>'
        )
    style = (
        "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;"
        "color-scheme:light dark}"
        "img{max-width:100%;background:#fff}table{border-collapse:collapse;font-size:13px}td,th{padding:2px 10px;"
        "text-align:left;border-bottom:1px solid #8884}"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>The paper, reproduced</title>'
        f"<style>{style}</style><h1>The paper, reproduced</h1>{''.join(body)}</html>\n"
    )


def _short(text: str) -> str:
    try:
        return f"{float(text):.4g}" if "." in text or "e" in text else text
    except ValueError:
        return text


def _write_text(path: Path, text: str) -> None:
    with atomic_writer(path) as stream:
        stream.write(text.encode("utf-8"))
