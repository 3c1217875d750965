"""Shares of rows to a pool of threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import thread_count

#: Upper limit on the Gram matrices a share holds at once, in matrix entries (1 MiB of float64).
_SHARE_ENTRIES = 1 << 17
#: Shares per thread, so that a thread with easy rows takes another share instead of waiting.
_SHARES_PER_THREAD = 4
#: Work that is worth a share of its own, in multiplications: some hundred microseconds, many times its dispatch.
_WORTH = 1 << 19
#: What a row costs beside its entries, in entries: its small problem.
_ROW_COST = 8


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

    def deal(
        self,
        work: Callable[[int, int], None],
        n_rows: int,
        row_entries: int,
        indptr: NDArray[np.int64] | None = None,
        entry_cost: int = 1,
    ) -> None:
        """Call ``work(first, last)`` for shares that together cover ``range(n_rows)``.

        Parameters
        ----------
        work : callable
            Computes the rows first..last and writes them where they belong.
        n_rows : int
        row_entries : int
            Scratch entries a row needs, which bounds the size of a share.
        indptr : int64[n_rows + 1], optional
            Where the entries of each row begin and end: shares are then of equal work and not of equal length, and no
            more than are worth their dispatch.
        entry_cost : int
            Multiplications that an entry costs, with `indptr`.
        """
        most = max(1, _SHARE_ENTRIES // max(row_entries, 1))
        if indptr is None:
            rows = max(1, min(-(-n_rows // (_SHARES_PER_THREAD * self.n_threads)), most))
            ends = np.append(np.arange(rows, n_rows, rows), n_rows)
        else:
            ends = self._equal_ends(indptr, n_rows, most, entry_cost)
        shares = list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)) if n_rows else []
        if self._pool is None or len(shares) == 1:
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

    def _equal_ends(self, indptr: NDArray[np.int64], n_rows: int, most: int, entry_cost: int) -> NDArray[np.int64]:
        """Return where shares end that have equal work, at most so many rows each."""
        work = (indptr[: n_rows + 1] - indptr[0]) + _ROW_COST * np.arange(n_rows + 1)
        worthy = max(1, int(work[-1]) * entry_cost // _WORTH)
        count = min(worthy, _SHARES_PER_THREAD * self.n_threads)
        cuts = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
        bounds = np.unique(np.concatenate([[0], cuts, np.arange(most, n_rows, most), [n_rows]]))
        return bounds[1:]
