"""How many threads we may use, and how BLAS is kept from using its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from kolmogorov.errors import ParameterError


def usable_cpus() -> int:
    """Count the processors this process may run on, not those the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Turn scikit-learn's `n_jobs` into a number of threads: None is 1, -1 all processors, -2 all but one.

    Examples
    --------
    >>> thread_count(None), thread_count(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or int(n_jobs) == 0:
        raise ParameterError(f"'n_jobs' must be a non-zero integer or None, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, usable_cpus() + 1 + int(n_jobs))


class _BlasLimit:
    """The limit is the process's, so the first of several threads sets it and the last one lifts it."""

    def __init__(self) -> None:
        self._lock, self._holders = threading.Lock(), 0
        self._limit: Any = None

    def hold(self) -> None:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._limit = self._controller.limit(limits=1, user_api="blas")

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limit.restore_original_limits()

    @cached_property
    def _controller(self) -> Any:
        """The BLAS libraries of this process, looked for once; NumPy and SciPy are loaded before the first call."""
        import scipy.linalg
        from threadpoolctl import ThreadpoolController

        assert scipy.linalg
        return ThreadpoolController()


_BLAS = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: our rows are already dealt to threads, and small products only lose by more."""
    _BLAS.hold()
    try:
        yield
    finally:
        _BLAS.release()
