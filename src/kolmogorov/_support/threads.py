"""How many threads we may use, how rows are dealt to them, and how BLAS is kept from using its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.errors import ParameterError

# Numbers by judgement; benchmarks/train.py shows what they come to.
#: Upper limit on the Gram matrices a share holds at once, in matrix entries: 1 MiB of float64, a processor's cache.
_SHARE_ENTRIES = 1 << 17
#: Shares per thread, so that one with easy rows takes another share instead of waiting: of rows, and of equal work.
_SHARES, _EQUAL_SHARES = 4, 16
#: Work that is worth a share of its own, in multiplications: some hundred microseconds, many times its dispatch.
_WORTH = 1 << 23
#: The longest share, in multiplications: about a second, after which Ctrl-C is heard.
_LONGEST = 1 << 32
#: What a row costs beside its entries, in entries, where nothing else is said.
_ROW_COST = 8
#: Pairs times draws that one thread goes through before others could have begun.
_FEW_PAIRS = 1 << 16


def usable_cpus() -> int:
    """Count the processors this process may run on, not those the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Turn scikit-learn's `n_jobs` into a number of threads: None is 1, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or int(n_jobs) == 0:
        raise ParameterError(f"'n_jobs' must be a non-zero integer or None, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, usable_cpus() + 1 + int(n_jobs))


class Threads:
    """Deal shares of rows to `n_jobs` threads, of which the caller's is one: ``with Threads(2) as dealer``."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = thread_count(n_jobs)
        self._pool: ThreadPoolExecutor | None = None
        self._own = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        # scikit-learn's clone copies parameters; what threads own stays with them.
        return Threads, (self.n_threads,)

    def __enter__(self) -> Threads:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads - 1, thread_name_prefix="kolmogorov")
        return self

    def __exit__(self, *raised: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool, self._own = None, threading.local()

    def scratch(self, entries: int) -> Floats:
        """Return memory for so many numbers that is the calling thread's own; the next call gives the same again.

        New memory for each share would be handed over by the system page by page, by one thread at a time.
        """
        held: Floats | None = getattr(self._own, "memory", None)
        if held is None or held.size < entries:
            held = self._own.memory = np.empty(entries)
        return held[:entries]

    def deal(
        self,
        work: Callable[[int, int], None],
        n_rows: int,
        row_entries: int,
        indptr: NDArray[np.int64] | None = None,
        entry_cost: int = 1,
        row_cost: int = _ROW_COST,
    ) -> None:
        """Call ``work(first, last)``, which computes these rows, for shares that together cover ``range(n_rows)``.

        `row_entries` are the scratch entries that a row needs; they bound the size of a share. With `indptr`, which is
        where each row's entries begin and end, shares are of equal work and not of equal length, and no more than are
        worth their dispatch: an entry costs `entry_cost` multiplications, and a row as much as `row_cost` entries more.
        """
        n_shares, done = _SHARES * self.n_threads, np.arange(n_rows + 1)
        if indptr is not None:
            done = indptr[: n_rows + 1] - indptr[0] + row_cost * done
            whole = int(done[-1]) * entry_cost
            n_shares = max(min(_EQUAL_SHARES * self.n_threads, whole // _WORTH), whole // _LONGEST + 1)
        most = max(1, _SHARE_ENTRIES // max(row_entries, 1))
        cuts = np.searchsorted(done, np.arange(1, n_shares) * (done[-1] / n_shares))
        cuts = np.unique(np.concatenate([cuts, np.arange(most, n_rows, most)]))
        shares = [*pairwise([0, *cuts[(cuts > 0) & (cuts < n_rows)].tolist(), n_rows])] if n_rows else []
        left = iter(shares)

        def take() -> None:
            try:
                for share in left:
                    work(*share)
            except BaseException:
                # Nobody takes another.
                for _ in left:
                    pass
                raise

        helpers = min(self.n_threads, len(shares)) - 1
        futures = [self._pool.submit(take) for _ in range(helpers)] if self._pool is not None else []
        take()
        for future in futures:
            future.result()


def deal_pairs(work: Callable[[slice], None], n_pairs: int, n_draws: int) -> None:
    """Do work for parts of pairs that all draws are asked of, on all processors where that is worth their dispatch."""
    with Threads(-1 if n_pairs * n_draws > _FEW_PAIRS else None) as dealer:
        dealer.deal(lambda first, last: work(slice(first, last)), n_pairs, 1)


@cache
def _blas() -> Any:
    """The BLAS libraries of this process, looked for once, with SciPy's."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


_lock, _held = threading.Lock(), list[Any]()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: our rows are already dealt to threads, and small products only lose by more.

    The limit is the process's, so the first of several threads sets it and the last one lifts it.
    """
    with _lock:
        _held.append([library.num_threads for library in _blas()])
        _limit([1] * len(_blas()))
    try:
        yield
    finally:
        with _lock:
            before = _held.pop()
            if not _held:
                _limit(before)


def _limit(counts: list[int]) -> None:
    """Set how many threads each BLAS library uses."""
    for library, count in zip(_blas(), counts, strict=True):
        # Since threadpoolctl 3.8 only the thread that has set a limit may set another, unless it is cleared.
        getattr(library, "clear_controlling_thread", lambda **_: None)(force=True)
        library.set_num_threads(count)
