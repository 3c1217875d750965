"""Time limits and Ctrl-C: how a solve that has begun is made to end.

Compiled loops keep control until they return, so they look at a *stop cell*, an int64[1] that another thread sets:
a timer where there is a time limit, the thread that waits for the answer where the user pressed Ctrl-C. A
solver asks for the cell with `stop_cell` and hands it to its kernels; one that works in Python calls `go_on`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numba import config
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kolmogorov._support.jit import kernel

Cell = NDArray[np.int64]
Answer = TypeVar("Answer")

# Seconds that an interrupted solve may take to wind up before its thread is left behind. By judgement.
_GRACE = 0.3
# Seconds of one wait: some platforms deliver Ctrl-C only between two of them.
_WAIT = 0.2

# The cells of the solve in progress, that of the narrowest limit last. Where nobody waits for a lone problem, as in a
# fit, there are none.
_cells: contextvars.ContextVar[list[Cell] | None] = contextvars.ContextVar("kolmogorov_stop", default=None)


class _EndedError(Exception):
    """A solve found that it is no longer wanted."""


def stop_cell() -> Cell:
    """Return the cell that the solve in progress has to look at."""
    cells = _cells.get()
    return cells[-1] if cells else np.zeros(1, dtype=np.int64)


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
    known = _cells.get()
    cells = [] if known is None else known
    token = _cells.set(cells)
    cells.append(np.zeros(1, dtype=np.int64))
    cell = cells[-1]
    cell[0] = cells[0][0]  # after it can be seen by who interrupts: either of the two sets it
    timer = threading.Timer(min(float(seconds), threading.TIMEOUT_MAX), cell.fill, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield cell
    finally:
        timer.cancel()
        cells.pop()
        _cells.reset(token)


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Return what `work` returns; Ctrl-C ends the wait for it, and the work soon after.

    Python handles signals in the main thread, between two of its own instructions. So the main thread waits, which can
    be interrupted, and another one works. In any other thread there is nothing to interrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    cells: list[Cell] = [np.zeros(1, dtype=np.int64)]
    answer: Future[Answer] = Future()

    def run() -> None:
        _cells.set(cells)
        try:
            answer.set_result(work())
        except BaseException as error:  # Handed to whoever waits.
            answer.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="kolmogorov-solve", daemon=True).start()
    try:
        while not answer.done():
            wait([answer], _WAIT)
        return answer.result()
    except BaseException:
        for cell in tuple(cells):
            cell[0] = 1
        wait([answer], _GRACE)
        raise


def _load(typing_context: Any, cell: Any) -> Any:
    """Read cell[0] as an atomic load: a plain one could be moved out of the loop that waits for it to change."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(cell)(context, builder, arguments[0])
        return builder.load_atomic(array.data, "monotonic", 8)

    return types.int64(cell), generate


# As Python nothing is moved, and an intrinsic cannot be called.
_read: Any = (lambda cell: cell[0]) if config.DISABLE_JIT else intrinsic(_load)  # type: ignore[attr-defined]


@kernel
def stopped(stop):
    """Tell whether the cell `stop`, int64[1], has been set; cheap enough for every turn of a loop over variables."""
    return _read(stop) != 0
