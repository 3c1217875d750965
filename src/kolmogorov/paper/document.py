"""From stored parts to files: a CSV, pictures and a fragment for each item, and one document of them all."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kolmogorov.paper.figures.drawing import draw
from kolmogorov.paper.registry import ITEMS
from kolmogorov.paper.result import Effort, Result
from kolmogorov.paper.runner import Say, environments, presented, runs, seconds, write_text
from kolmogorov.paper.summary import costs, front_page

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "img{max-width:100%;background:#fff}table{border-collapse:collapse;font-size:13px}td,th{padding:2px 10px;"
    "text-align:left;border-bottom:1px solid #8884}"
)
_TITLE = "The paper, reproduced"


def write_items(names: Sequence[str], folder: Path, effort: Effort, *, say: Say) -> dict[str, tuple[Result, float]]:
    """Write the files of every item that is complete; return what they say."""
    drawing = find_spec("matplotlib") is not None
    if not drawing:
        say(
            "pictures left out: they need matplotlib (extra 'paper'); run `kolmogorov paper page` where it is installed"
        )
    results = {}
    for name in names:
        said = presented(name, folder, effort)
        if said is None:
            say(f"{name}: not complete, not written")
            continue
        results[name] = said
        result, took = said
        write_text(folder / f"{name}.csv", _csv(result.rows))
        write_text(folder / f"{name}.md", _fragment(name, result, effort.quick, took))
        if drawing and result.panels:
            draw(result.panels, result.title, folder / name)
    return results


def write_document(results: dict[str, tuple[Result, float]], folder: Path, effort: Effort) -> None:
    """Join the items into index.md and index.html, behind a first page for readers of the paper."""
    said = {name: result for name, (result, _) in results.items()}
    claims = [claim for result in said.values() for claim in result.claims]
    lines = [
        f"# {_TITLE}",
        "",
        *front_page(said, environments(folder, effort), runs(folder), seconds(folder, effort), effort),
    ]
    lines += ["## Claims and verdicts", "", *markdown([claim.row() for claim in claims]), ""]
    missing = [name for name in ITEMS if name not in said]
    if missing:
        lines += [f"Not computed yet, and not counted: {', '.join(missing)}.", ""]
    for name in said:
        if name != "errata":
            lines.append((folder / f"{name}.md").read_text(encoding="utf-8"))
    if "table4" in said:
        lines += ["## Two kinds of cost", "", *costs(said["table4"].rows, markdown), ""]
    if "errata" in said:
        lines += [f"## {said['errata'].title}", "", *said["errata"].sentences, "", *markdown(said["errata"].rows), ""]
    write_text(folder / "index.md", "\n".join(lines))
    write_text(folder / "index.html", _page(said))


def markdown(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table."""
    names = list(rows[0]) if rows else []
    lines = ["| " + " | ".join(name.replace("|", "\\|") for name in names) + " |", "|" + "---|" * len(names)]
    return lines + [
        "| " + " | ".join(_cell(row.get(name)).replace("|", "\\|") for name in names) + " |" for row in rows
    ]


def _fragment(name: str, result: Result, quick: bool, took: float) -> str:
    mode = "quick" if quick else "full"
    lines = [f"## {result.title}", "", f"`kolmogorov paper {name}` ({mode}; its parts took {took:.0f} s)", ""]
    lines += [f"- {claim.where}: {claim.says}. **{claim.verdict}**: {claim.found}." for claim in result.claims]
    lines += [f"- {sentence}" for sentence in result.sentences]
    if result.panels:
        lines += ["", f"![{result.title}]({name}.png)"]
    lines.append("")
    if result.shown:
        lines += markdown(result.shown)
    else:
        lines.append(f"The {len(result.rows):,} rows are in `{name}.csv`.")
    for claim in result.claims:
        if claim.many and claim.listed:
            lines += ["", f"{claim.where}: {claim.says}. All readings, those that agree in bold:", ""]
            lines += markdown(claim.rows())
    return "\n".join(lines) + "\n"


def _csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return buffer.getvalue()


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _page(said: dict[str, Result]) -> str:
    claims = [claim.row() for result in said.values() for claim in result.claims]
    body = [f'<section id="claims"><h2>Claims and verdicts</h2>{_table(claims)}</section>']
    for name, result in said.items():
        points = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in result.sentences)
        picture = f'<img src="{name}.svg" alt="{html.escape(result.title)}">' if result.panels else ""
        body.append(
            f'<section id="{name}"><h2>{html.escape(result.title)}</h2><ul>{points}</ul>{picture}'
            f"{_table(result.shown)}</section>"
        )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_TITLE}</title>'
        f"<style>{_STYLE}</style><h1>{_TITLE}</h1>{''.join(body)}</html>\n"
    )


def _table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0]) if rows else []
    header = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    cells = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows
    )
    return f"<table><tr>{header}</tr>{cells}</table>" if rows else ""
