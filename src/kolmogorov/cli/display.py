"""Tables, bars and scores for a terminal, CSV and JSON for programs. Names are data: never interpreted."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kolmogorov._support.markup import shown
from kolmogorov._support.writing import replacing
from kolmogorov.errors import FileWriteError

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale

#: A spreadsheet takes a cell that begins so for a formula; the last four are how some write the first four.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Plain(Console):
    """A console on which texts are shown as they are, but for characters that would act; lines may end."""

    def print(self, *objects: Any, **options: Any) -> None:
        # A path that was cut in two could not be copied; the terminal breaks long lines by itself.
        options.setdefault("soft_wrap", all(isinstance(thing, str) for thing in objects))
        lines = ["\n".join(map(shown, thing.split("\n"))) if isinstance(thing, str) else thing for thing in objects]
        super().print(*lines, **options)


def console(*, stderr: bool = False) -> Console:
    """Make a console that interprets no markup."""
    return _Plain(stderr=stderr, markup=False, highlight=False, emoji=False)


def table(title: str | None, columns: Mapping[str, Sequence[Any]]) -> Table:
    """Make a table of named columns: numbers stand to the right and are never broken, what gives way is text."""
    found = Table(title=None if title is None else Text(shown(title)), title_justify="left", title_style="")
    for name, cells in columns.items():
        is_number = all(cell is None or isinstance(cell, (int, float)) for cell in cells)
        found.add_column(
            Text(shown(name)), justify="right" if is_number else "left", no_wrap=is_number, overflow="fold"
        )
    for row in zip(*columns.values(), strict=True):
        found.add_row(*(Text(shown(_number(cell))) for cell in row))
    return found


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


# --- output -----------------------------------------------------------------------------------------------------------


def chosen_format(form: str, output: str | None) -> str:
    """Return what is written: into a file, "table" becomes csv, or json where the file is called so."""
    if form != "table" or output is None:
        return form
    return "json" if output.lower().endswith(".json") else "csv"


def emit(columns: Mapping[str, Iterable[Any]], form: str, output: str | None, title: str | None = None) -> None:
    """Write columns as a table, as CSV or as JSON, to a file (whole or not at all) or to standard output."""
    chosen = chosen_format(form, output)
    context = click.get_current_context(silent=True)
    safe = bool(context and context.params.get("safe_cells"))
    if safe and chosen != "csv":
        raise click.UsageError(f"--safe-cells works only with CSV, but the output is {chosen}. Add --format csv.")
    plain = {name: [_plain(cell) for cell in cells] for name, cells in columns.items()}
    if chosen == "table":
        console().print(table(title, plain))
    elif chosen == "json":
        emit_json([dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)], output)
    else:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(plain)
        rows = zip(*plain.values(), strict=True)
        writer.writerows([safe_cell(cell) if safe else cell for cell in row] for row in rows)
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
    if output is not None and output != "-":
        with replacing(output) as stream:
            stream.write(encoded)
        return
    if sys.stdout is None:
        raise FileWriteError("Standard output is closed. Name a file with --output.")
    sys.stdout.flush()
    sys.stdout.buffer.write(encoded)
    sys.stdout.flush()


def safe_cell(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would run; a number is none.

    Examples
    --------
    >>> [safe_cell(cell) for cell in ("=1+1", "-3.5", "-cmd", "Alien")]
    ["'=1+1", '-3.5', "'-cmd", 'Alien']
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    return cell if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII) else f"'{cell}"


@contextmanager
def counting_bar(screen: Any, what: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a bar on a console; yield what moves it, a function of how many are done, of how many, and words."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (what, BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*parts, console=screen, transient=True, disable=screen.quiet or not screen.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, words: bar.update(task, completed=done, total=total, description=words)


# --- scores -----------------------------------------------------------------------------------------------------------


def is_probability(scale: Scale) -> bool:
    """Tell whether ratings are the probabilities themselves, and need not be shown twice."""
    return (scale.minimum, scale.maximum) == (0.0, 1.0)


def held_out_scores(model: Any, test: Observations, k: int | None = None) -> tuple[dict[str, list[Any]], str | None]:
    """Return columns with a model's errors and those of guesses, and a sentence if it is no better.

    With `k` the scores of lists of so many items, beside the list of the most popular ones.
    """
    from kolmogorov.models.metrics import POPULARITY, decisive, guess_scores, popularity_scores, verdict

    training = model.fitted_.training
    if k is None:
        scores, guesses = model.evaluate(test, ranking=False), guess_scores(training, test)
    else:
        scores = model.evaluate(test, ranking=True, k=k)
        guesses = {POPULARITY: popularity_scores(training, test, k)}
    columns: dict[str, list[Any]] = {"score": list(scores), "held out": list(scores.values())}
    columns |= {guess: [found.get(score) for score in scores] for guess, found in guesses.items()}
    return columns, verdict(scores, guesses, decisive(scores))


def for_people(columns: dict[str, list[Any]], scale: Scale) -> dict[str, list[Any]]:
    """Leave out errors in rating units where these are the errors of probabilities."""
    kept = [at for at, name in enumerate(columns["score"]) if not (is_probability(scale) and name.endswith("_rating"))]
    return {name: [cells[at] for at in kept] for name, cells in columns.items()}
