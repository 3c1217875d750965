"""Tables and scores for a terminal, CSV and JSON for programs. Names are data: shown, and never interpreted."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kolmogorov._support.display import is_silent, shown
from kolmogorov._support.outside import replacing
from kolmogorov.cli.shell import standard_output


def tell(*lines: Any) -> None:
    """Write lines for people to standard error, unless only errors are to be shown."""
    if not is_silent():
        click.echo("\n".join(map(shown, lines)), err=True)


def out(*lines: Any) -> None:
    """Write lines for people to standard output."""
    if lines:
        click.echo("\n".join(map(shown, lines)), file=standard_output())


def understood(table: Any) -> list[str]:
    """Say what was read."""
    return [*(table.source.lines if table.source else ()), str(table)]


def show(title: str | None, columns: Mapping[str, Iterable[Any]]) -> None:
    """Print a table of named columns: numbers stand to the right and are never broken, what gives way is text."""
    found = Table(title=None if title is None else Text(shown(title)), title_justify="left", title_style="")
    plain = {name: _plain(list(cells)) for name, cells in columns.items()}
    for name, cells in plain.items():
        numbers = all(cell is None or isinstance(cell, (int, float)) for cell in cells)
        found.add_column(Text(shown(name)), justify="right" if numbers else "left", no_wrap=numbers, overflow="fold")
    for row in zip(*plain.values(), strict=True):
        texts = ("–" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        found.add_row(*(Text(shown(text)) for text in texts))
    Console(file=standard_output(), markup=False, highlight=False, emoji=False).print(found)


def chosen_format(form: str, output: str | None) -> str:
    """Return what is written: into a file, "table" becomes csv, or json where the file is called so."""
    if form != "table" or output is None:
        return form
    return "json" if output.lower().endswith(".json") else "csv"


def emit(columns: Mapping[str, Iterable[Any]], form: str, output: str | None, title: str | None = None) -> None:
    """Write columns as a table, as CSV or as JSON, to a file (whole or not at all) or to standard output."""
    chosen = chosen_format(form, output)
    if chosen == "table":
        show(title, columns)
        return
    plain = {name: _plain(list(cells)) for name, cells in columns.items()}
    rows = zip(*plain.values(), strict=True)
    if chosen == "json":
        emit_json([dict(zip(plain, row, strict=True)) for row in rows], output)
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(plain)
    writer.writerows(rows)
    _write(buffer.getvalue(), output)


def emit_json(found: Any, output: str | None) -> None:
    """Write JSON to a file or to standard output."""
    _write(json.dumps(_plain(found), ensure_ascii=False, indent=2, allow_nan=False) + "\n", output)


def _plain(found: Any) -> Any:
    """Return Python's own types at every depth; a number that is none becomes None."""
    if isinstance(found, Mapping):
        return {name: _plain(part) for name, part in found.items()}
    if isinstance(found, (list, tuple)):
        return [_plain(part) for part in found]
    plain = found.item() if hasattr(found, "item") else found
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def _write(text: str, output: str | None) -> None:
    """Write in UTF-8, whatever the locale. Half a surrogate pair is written as JSON would: \\ud800."""
    encoded = text.encode("utf-8", "backslashreplace")
    if output is None or output == "-":
        standard_output().flush()
        standard_output().buffer.write(encoded)
        return
    with replacing(output) as stream:
        stream.write(encoded)


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a bar on a terminal; yield what moves it, a function of how many are done, of how many, and words."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True, markup=False)
    parts = (what, BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*parts, console=screen, transient=True, disable=is_silent() or not screen.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, words: bar.update(task, completed=done, total=total, description=words)


# --- scores -----------------------------------------------------------------------------------------------------------


def without_ratings(columns: dict[str, Any], scale: Any) -> dict[str, Any]:
    """Leave out ratings that are the probabilities themselves."""
    own = (scale.minimum, scale.maximum) == (0.0, 1.0)
    return {name: cells for name, cells in columns.items() if not (own and name.endswith("rating"))}


def held_out_scores(model: Any, test: Any, k: int | None = None) -> tuple[dict[str, Sequence[Any]], list[str]]:
    """Return columns with a model's errors and those of guesses, and a sentence if it is no better, or none.

    With `k` the scores of lists of so many items, beside the list of the most popular ones.
    """
    from kolmogorov.models.metrics import POPULARITY, decisive, guess_scores, popularity_scores, verdict

    training = model.fitted_.training
    if k is None:
        found, guesses = model.evaluate(test), guess_scores(training, test)
    else:
        found = model.evaluate(test, ranking=True, k=k)
        guesses = {POPULARITY: popularity_scores(training, test, k)}
    scores = list(without_ratings(found, model.scale_))
    columns: dict[str, Sequence[Any]] = {"score": scores, "held out": [found[score] for score in scores]}
    columns |= {guess: [said.get(score) for score in scores] for guess, said in guesses.items()}
    return columns, list(filter(None, [verdict(found, guesses, decisive(found))]))
