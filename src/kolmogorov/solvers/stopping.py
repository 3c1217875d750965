"""Time limits and Ctrl-C: how a solve that has begun is made to end.

Compiled loops keep control until they return, so they look at a *stop cell*, an int64[1] that another thread sets:
a timer where there is a time limit, the thread that waits for the answer where the user pressed Ctrl-C. A
solver asks for the cell with `stop_cell` and hands it to its kernels; one that works in Python calls `go_on`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Cell = NDArray[np.int64]
Answer = TypeVar("Answer")

# Seconds that an interrupted solve may take to wind up before its thread is left behind. By judgement.
_GRACE = 0.3
# Seconds of one wait: some platforms deliver Ctrl-C only between two of them.
_WAIT = 0.2


class _Scope:
    """A cell and the cells of the time limits inside it."""

    def __init__(self) -> None:
        self.cell: Cell = np.zeros(1, dtype=np.int64)
        self.inner: list[_Scope] = []

    def end(self) -> None:
        """Tell everything that runs here to stop."""
        self.cell[0] = 1
        for scope in tuple(self.inner):
            scope.end()


# Where nobody waits for a lone problem, as in a fit, nothing sets the cell.
_scope: contextvars.ContextVar[_Scope | None] = contextvars.ContextVar("kolmogorov_stop", default=None)


class _EndedError(Exception):
    """A solve found that it is no longer wanted."""


def stop_cell() -> Cell:
    """Return the cell that the solve in progress has to look at."""
    scope = _scope.get()
    return np.zeros(1, dtype=np.int64) if scope is None else scope.cell


def go_on() -> None:
    """Leave the solve in progress where it is no longer wanted."""
    if stop_cell()[0]:
        raise _EndedError


@contextmanager
def limited(seconds: float | None) -> Iterator[Cell]:
    """Within the block, `stop_cell` is a cell that is set after so many seconds, or when the user interrupts."""
    if seconds is None:
        yield stop_cell()
        return
    outer, scope = _scope.get(), _Scope()
    if outer is not None:
        outer.inner.append(scope)
        scope.cell[0] = outer.cell[0]
    timer = threading.Timer(min(float(seconds), threading.TIMEOUT_MAX), scope.end)
    timer.daemon = True
    timer.start()
    token = _scope.set(scope)
    try:
        yield scope.cell
    finally:
        timer.cancel()
        _scope.reset(token)
        if outer is not None:
            outer.inner.remove(scope)


def shares_of_limit(n: int, seconds: float | None) -> Iterator[slice]:
    """Return the rows that each limit is for: every problem has its own; without a limit all are solved together."""
    step = max(n, 1) if seconds is None else 1
    return (slice(first, first + step) for first in range(0, n, step))


class _Job(Generic[Answer]):
    """Work in a thread of its own, and what came of it."""

    def __init__(self, work: Callable[[], Answer]) -> None:
        self._work = work
        self._done = threading.Event()
        self._answer: Answer
        self._error: BaseException | None = None
        self.scope = _Scope()
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="kolmogorov-solve", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        _scope.set(self.scope)
        try:
            self._answer = self._work()
        except BaseException as error:  # Handed to whoever waits.
            self._error = error
        self._done.set()

    def wait(self) -> Answer:
        while not self._done.wait(_WAIT):
            pass
        if self._error is not None:
            raise self._error
        return self._answer

    def abandon(self) -> None:
        """Tell the work to stop, and wait a moment until it does."""
        self.scope.end()
        self._done.wait(_GRACE)


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Return what `work` returns; Ctrl-C ends the wait for it, and the work soon after.

    Python handles signals in the main thread, between two of its own instructions. So the main thread waits, which can
    be interrupted, and another one works. In any other thread there is nothing to interrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    job = _Job(work)
    try:
        return job.wait()
    except BaseException:
        job.abandon()
        raise
