"""Shares of rows to a pool of threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from kolmogorov._support.threads import thread_count

#: Upper limit on the Gram matrices a share holds at once, in matrix entries (1 MiB of float64).
_SHARE_ENTRIES = 1 << 17
#: Shares per thread, so that a thread with easy rows takes another share instead of waiting.
_SHARES_PER_THREAD = 4


class Threads:
    """Deal shares of rows to `n_jobs` threads; with one thread, run them in the caller's.

    Examples
    --------
    >>> with Threads(2) as dealer:
    ...     dealer.deal(lambda first, last: None, n_rows=10, row_entries=64)
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_threads = thread_count(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Threads:
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads, thread_name_prefix="kolmogorov")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def deal(self, work: Callable[[int, int], None], n_rows: int, row_entries: int) -> None:
        """Call ``work(first, last)`` for shares that together cover ``range(n_rows)``.

        Parameters
        ----------
        work : callable
            Computes the rows first..last and writes them where they belong.
        n_rows : int
        row_entries : int
            Scratch entries a row needs, which bounds the size of a share.
        """
        wanted = -(-n_rows // (_SHARES_PER_THREAD * self.n_threads))
        rows = max(1, min(wanted, _SHARE_ENTRIES // max(row_entries, 1)))
        shares = [(first, min(first + rows, n_rows)) for first in range(0, n_rows, rows)]
        if self._pool is None:
            for first, last in shares:
                work(first, last)
            return
        futures = [self._pool.submit(work, first, last) for first, last in shares]
        try:
            for future in futures:
                future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise
