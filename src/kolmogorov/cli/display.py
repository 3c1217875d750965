"""Tables, numbers, bars and scores for a terminal, CSV and JSON for programs. Names are data: never interpreted."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from kolmogorov._support.markup import shown
from kolmogorov._support.writing import replacing
from kolmogorov.cli.command import chosen_format, wants_safe_cells
from kolmogorov.cli.options import is_probability
from kolmogorov.errors import FileWriteError

if TYPE_CHECKING:
    from kolmogorov.data import Observations, Scale

HELD_OUT, TRAINING = "held out", "training"

#: Letters of a word of a header, or of a number, that are kept together. By judgement.
_LONGEST = 16
#: A spreadsheet takes a cell that begins so for a formula; the last four are how some write the first four.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Plain(Console):
    """A console on which texts are shown as they are, but for characters that would act; lines may end."""

    def print(self, *objects: Any, **options: Any) -> None:
        # A path that was cut in two could not be copied; the terminal breaks long lines by itself.
        options.setdefault("soft_wrap", all(isinstance(thing, str) for thing in objects))
        super().print(*(_lines(thing) if isinstance(thing, str) else thing for thing in objects), **options)


def _lines(text: str) -> str:
    return "\n".join(shown(line) for line in text.split("\n"))


def console(*, stderr: bool = False) -> Console:
    """Make a console that interprets no markup."""
    return _Plain(stderr=stderr, markup=False, highlight=False, emoji=False)


def number(value: Any) -> str:
    """Word a number for people; what is missing is a dash."""
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def table(title: str | None, columns: Mapping[str, Sequence[Any]]) -> FittingTable:
    """Make a table of named columns, below its title."""
    return FittingTable(title, columns)


@dataclass(frozen=True)
class FittingTable:
    """A table that fits the terminal, where it can; numbers stand to the right."""

    title: str | None
    columns: Mapping[str, Sequence[Any]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Choose widths for a terminal."""
        if self.title:
            yield Text(shown(self.title))
        texts = {name: [shown(number(cell)) for cell in cells] for name, cells in self.columns.items()}
        right = [
            all(cell is None or isinstance(cell, (int, float)) for cell in found) for found in self.columns.values()
        ]
        natural, least = [], []
        for (name, cells), is_number in zip(texts.items(), right, strict=True):
            natural.append(max(map(cell_len, [shown(name), *cells])))
            # Numbers, and the words of a header, are never broken: what gives way in a narrow terminal is text.
            whole = [*name.split(), *(cells if is_number else [])]
            least.append(min(max(map(cell_len, whole), default=1), _LONGEST))
        ruled, dense = 3 * len(least) + 1, len(least) - 1
        if sum(least) + ruled <= options.max_width:
            result, room = Table(), options.max_width - ruled
        else:
            result = Table(padding=(0, 0), box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
            room = options.max_width - dense
        for name, is_number, width in zip(texts, right, _fitting(natural, least, room), strict=True):
            side: Any = "right" if is_number else "left"
            result.add_column(Text(shown(name)), justify=side, overflow="fold", width=width)
        for row in zip(*texts.values(), strict=True):
            result.add_row(*map(Text, row))
        yield result


def _fitting(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths of columns that fit into some room, if they can: the widest give way first.

    Examples
    --------
    >>> _fitting([4, 30, 9], [4, 8, 9], 30), _fitting([4, 30], [4, 8], 5)
    ([4, 17, 9], [4, 8])
    """
    widths = list(natural)
    while sum(widths) > room:
        slack = [width if width > low else 0 for width, low in zip(widths, least, strict=True)]
        if not any(slack):
            break
        widths[slack.index(max(slack))] -= 1
    return widths


def emit(columns: Mapping[str, Iterable[Any]], form: str, output: str | None, title: str | None = None) -> None:
    """Write columns as a table, as CSV or as JSON, to a file (whole or not at all) or to standard output."""
    chosen = chosen_format(form, output)
    plain = {name: [_plain(cell) for cell in cells] for name, cells in columns.items()}
    if chosen == "table":
        console().print(table(title, plain))
        return
    text = _json(plain) if chosen == "json" else _csv(plain)
    if output is None or output == "-":
        _write_out(text)
    else:
        write_text(output, text)


def emit_object(found: Mapping[str, Any], output: str | None) -> None:
    """Write one JSON object, to a file or to standard output."""
    text = json.dumps(_known(found), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if output is None or output == "-":
        _write_out(text)
    else:
        write_text(output, text)


def _known(found: Any) -> Any:
    """Return Python's own types at every depth; a number that is none becomes None."""
    if isinstance(found, Mapping):
        return {name: _known(part) for name, part in found.items()}
    return [_known(part) for part in found] if isinstance(found, (list, tuple)) else _plain(found)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    with replacing(path) as stream:
        stream.write(_encoded(text))


def _write_out(text: str) -> None:
    """Write to standard output in UTF-8, whatever the locale."""
    if sys.stdout is None:
        raise FileWriteError("Standard output is closed. Name a file with --output.")
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(_encoded(text))
    else:
        sys.stdout.write(text)
    sys.stdout.flush()


def _encoded(text: str) -> bytes:
    """Encode as UTF-8. Half a surrogate pair, which UTF-8 has no place for, is written as JSON would: \\ud800."""
    return text.encode("utf-8", "backslashreplace")


def _csv(columns: Mapping[str, Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    rows: Iterable[Any] = zip(*columns.values(), strict=True)
    if wants_safe_cells():
        rows = ([safe_cell(cell) for cell in row] for row in rows)
    writer.writerows(rows)
    return buffer.getvalue()


def safe_cell(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would run; a number is none.

    Examples
    --------
    >>> [safe_cell(cell) for cell in ("=1+1", "-3.5", "-cmd", "Alien")]
    ["'=1+1", '-3.5', "'-cmd", 'Alien']
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) and not _is_number(cell) else cell


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) is not None


def _json(columns: Mapping[str, Sequence[Any]]) -> str:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(rows, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _plain(cell: Any) -> Any:
    """Return Python's own type; what is not a number becomes None, which CSV and JSON can say."""
    plain = cell.item() if hasattr(cell, "item") else cell
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


# --- bars -------------------------------------------------------------------------------------------------------------


@contextmanager
def counting_bar(
    screen: Any, what: str, *, remaining: bool = False
) -> Iterator[Callable[[int, int | None, str], None]]:
    """Show a bar on a console; yield what moves it, a function of how many are done, of how many, and words.

    Beside the words stands the time that went by, or with `remaining` the time that is left.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    clock = TimeRemainingColumn() if remaining else TimeElapsedColumn()
    parts = (what, BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), clock)
    with Progress(*parts, console=screen, transient=True, disable=screen.quiet or not screen.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, words: bar.update(task, completed=done, total=total, description=words)


class ChainSweeps:
    """Counts the sweeps of several chains."""

    def __init__(self) -> None:
        self._done: dict[int, int] = {}

    def counted(self, draw: Any) -> tuple[int, int]:
        """Take what a chain tells of a sweep; return how many sweeps of all chains are done, and of how many."""
        self._done[draw.chain] = draw.sweep
        return sum(self._done.values()), draw.n_chains * draw.n_sweeps


# --- scores -----------------------------------------------------------------------------------------------------------


def scored(
    model: Any, observations: Observations, name: str, k: int | None = None
) -> tuple[dict[str, list[Any]], str | None]:
    """Return columns with a model's errors, under `name`, and those of guesses, and a sentence if it is no better.

    With `k` the scores of lists of so many items, beside the list of the most popular ones.
    """
    from kolmogorov.models.metrics import POPULARITY, decisive, guess_scores, popularity_scores, verdict

    if k is None:
        scores = model.evaluate(observations, ranking=False)
        guesses = guess_scores(model.fitted_.training, observations)
    else:
        scores = model.evaluate(observations, ranking=True, k=k)
        guesses = {POPULARITY: popularity_scores(model.fitted_.training, observations, k)}
    columns: dict[str, list[Any]] = {"score": list(scores), name: list(scores.values())}
    columns |= {guess: [found.get(score) for score in scores] for guess, found in guesses.items()}
    return columns, verdict(scores, guesses, decisive(scores))


def scored_apart(
    model: Any, observations: Observations, k: int | None = None
) -> tuple[dict[str, list[Any]], str, str | None]:
    """Score pairs that the model was not trained on; those that it was trained on get a column of their own.

    Returns the columns, a title, and a sentence where there is something to say. Lists never hold what a user was
    trained with, so such pairs are left out of them.
    """
    from kolmogorov.errors import DataError
    from kolmogorov.models.metrics import trained_on

    trained = trained_on(model.fitted_, observations)
    number, total = int(trained.sum()), len(observations)
    if total and number == total:
        if k is not None:
            raise DataError(
                f"The model was trained on all {total:,} ratings. Lists leave these out, so nothing can be found. Give "
                "ratings that it was not trained on, or fit with --test-size."
            )
        columns, _ = scored(model, observations, TRAINING)
        warning = "The model was trained on all of these ratings: new ones will be predicted worse."
        return columns, f"On {total:,} ratings, all of the training data", warning
    fresh = observations.subset(~trained) if number else observations
    columns, sentence = scored(model, fresh, HELD_OUT, k)
    title = f"On {len(fresh):,} ratings"
    if number:
        title += " that the model was not trained on"
    if number and k is None:
        columns = _with_training(columns, model, observations.subset(trained))
        title += f"; 'training' is on the other {number:,}"
    return columns, title, sentence


def without_repeats(columns: dict[str, list[Any]], scale: Scale) -> dict[str, list[Any]]:
    """Leave out errors in rating units, for people, where these are the errors of probabilities."""
    if not is_probability(scale):
        return columns
    kept = [at for at, score in enumerate(columns["score"]) if not score.endswith("_rating")]
    return {name: [cells[at] for at in kept] for name, cells in columns.items()}


def show_scores(
    model: Any, train: Observations, test: Observations | None, title: str, *, ranking: bool = False
) -> None:
    """Show errors, or the scores of lists of ten, with those of simple guesses beside them."""
    k = 10 if ranking else None
    columns, sentence = scored(model, train if test is None else test, TRAINING if test is None else HELD_OUT, k)
    if test is not None and not ranking:
        columns = _with_training(columns, model, train)
    console().print(table(title, without_repeats(columns, train.scale)))
    if sentence:
        console().print(sentence)


def _with_training(columns: dict[str, list[Any]], model: Any, train: Observations) -> dict[str, list[Any]]:
    """Put the scores on training data before the others."""
    found = model.evaluate(train, ranking=False)
    return {"score": columns["score"], TRAINING: [found.get(score) for score in columns["score"]], **columns}
