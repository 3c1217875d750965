"""From stored parts to files: a CSV, pictures and a fragment for each item, and one document of them all."""

from __future__ import annotations

import csv
import html
import io
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kolmogorov.paper.figures.drawing import draw
from kolmogorov.paper.registry import ITEMS
from kolmogorov.paper.result import Claim, Effort, Result
from kolmogorov.paper.runner import Say, environments, presented, write_text
from kolmogorov.paper.summary import costs, front_page

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "img{max-width:100%;background:#fff}table{border-collapse:collapse;font-size:13px}td,th{padding:2px 10px;"
    "text-align:left;border-bottom:1px solid #8884}"
)


def write_items(names: Sequence[str], folder: Path, effort: Effort, *, say: Say) -> dict[str, tuple[Result, float]]:
    """Write the files of every item that is complete; return what they say."""
    drawing = find_spec("matplotlib") is not None
    if not drawing:
        say("pictures left out: they need matplotlib (extra 'paper'); run this again where it is installed")
    results = {}
    for name in names:
        said = presented(name, folder, effort)
        if said is None:
            say(f"{name}: not complete, not written")
            continue
        results[name] = said
        result, seconds = said
        write_text(folder / f"{name}.csv", _csv(result.rows))
        write_text(folder / f"{name}.md", _fragment(name, result, effort.quick, seconds))
        if drawing and result.panels:
            draw(result.panels, result.title, folder / name)
    return results


def write_document(results: dict[str, tuple[Result, float]], folder: Path, effort: Effort) -> None:
    """Join the items into index.md and index.html, behind a first page for readers of the paper."""
    claims = [claim for name in ITEMS if name in results for claim in results[name][0].claims]
    kinds = Counter(claim.verdict for claim in claims)
    spent = sum(seconds for _, seconds in results.values())
    lines = front_page(kinds, environments(folder, effort), spent, effort.quick)
    lines += ["## Claims and verdicts", "", *markdown([vars(claim) for claim in claims]), ""]
    if "errata" in results:
        result, _ = results["errata"]
        lines += [f"## {result.title}", "", *result.sentences, "", *markdown(result.rows), ""]
    if "table4" in results:
        lines += ["## Two kinds of cost", "", *costs(results["table4"][0].rows, markdown), ""]
    body = [(folder / f"{name}.md").read_text(encoding="utf-8") for name in results if name != "errata"]
    write_text(folder / "index.md", "\n".join(lines) + "\n" + "\n".join(body))
    write_text(folder / "index.html", _page(results, claims))


def markdown(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table."""
    names = list(rows[0]) if rows else []
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(_cell(cell).replace("|", "\\|") for cell in row.values()) + " |" for row in rows]


def _fragment(name: str, result: Result, quick: bool, seconds: float) -> str:
    mode = "quick" if quick else "full"
    lines = [f"## {result.title}", "", f"`kolmogorov paper {name}` ({mode}; its parts took {seconds:.0f} s)", ""]
    lines += [f"- {claim.where}: {claim.says}. **{claim.verdict}**: {claim.found}." for claim in result.claims]
    lines += [f"- {sentence}" for sentence in result.sentences]
    if result.panels:
        lines += ["", f"![{result.title}]({name}.png)"]
    lines.append("")
    if result.shown:
        lines += markdown(result.rows)
    else:
        lines.append(f"The {len(result.rows):,} rows are in `{name}.csv`.")
    return "\n".join(lines) + "\n"


def _csv(rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(rows[0] if rows else [])
    writer.writerows(row.values() for row in rows)
    return buffer.getvalue()


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _page(results: dict[str, tuple[Result, float]], claims: list[Claim]) -> str:
    body = [f'<section id="claims"><h2>Claims and verdicts</h2>{_table([vars(claim) for claim in claims])}</section>']
    for name, (result, _) in results.items():
        points = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in result.sentences)
        picture = f'<img src="{name}.svg" alt="{html.escape(result.title)}">' if result.panels else ""
        table = _table(result.rows) if result.shown else ""
        body.append(
            f'<section id="{name}"><h2>{html.escape(result.title)}</h2><ul>{points}</ul>{picture}{table}</section>'
        )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>The paper, reproduced</title>'
        f"<style>{_STYLE}</style><h1>The paper, reproduced</h1>{''.join(body)}</html>\n"
    )


def _table(rows: list[dict[str, Any]]) -> str:
    header = "".join(f"<th>{html.escape(name)}</th>" for name in (rows[0] if rows else []))
    cells = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row.values()) + "</tr>" for row in rows
    )
    return f"<table><tr>{header}</tr>{cells}</table>"
