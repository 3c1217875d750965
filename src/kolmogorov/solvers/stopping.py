"""Ctrl-C for one problem that takes long: a thread solves it, and the main thread waits and can be interrupted.

Compiled loops keep control until they return, so they look at a *stop cell*, an int64[1] that the thread that waits
sets when the user interrupts. A solver asks for the cell with `stop_cell` and hands it to its kernels. Where nobody
waits, as in a fit, whose shares of rows are short, the cell is never set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Answer = TypeVar("Answer")

_NEVER = np.zeros(1, dtype=np.int64)
_here = threading.local()


def stop_cell() -> NDArray[np.int64]:
    """Return the cell that what this thread solves has to look at."""
    cell: NDArray[np.int64] = getattr(_here, "cell", _NEVER)
    return cell


def interruptible(work: Callable[[], Answer]) -> Answer:
    """Return what `work` returns; Ctrl-C ends the wait for it, and the work soon after.

    Python handles signals in the main thread, between two of its own instructions; in any other thread there is nothing
    to interrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    cell = np.zeros(1, dtype=np.int64)
    answer: Future[Answer] = Future()

    def run() -> None:
        _here.cell = cell
        try:
            answer.set_result(work())
        except BaseException as error:  # Handed to whoever waits.
            answer.set_exception(error)

    threading.Thread(target=run, name="kolmogorov-solve", daemon=True).start()
    try:
        while not answer.done():
            wait([answer], 0.2)  # again and again: some platforms deliver Ctrl-C only between two waits
        return answer.result()
    except BaseException:
        cell[0] = 1
        wait([answer], 0.3)  # for it to wind up; then its thread is left behind
        raise
