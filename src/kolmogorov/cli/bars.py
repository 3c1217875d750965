"""Bars that count what is done, where a person is watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
