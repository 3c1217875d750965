"""Shares of rows on threads: all rows, once, of equal work; Ctrl-C does not wait for what is under way."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from helpers.processes import printed
from kolmogorov._support.threads import Threads, one_blas_thread

INTERRUPTED = """
import os, sys, threading
import numpy as np
import kolmogorov as km
from kolmogorov._support.threads import Threads

deal, done = Threads.deal, []

def counted(self, work, *given):
    deal(self, lambda first, last: (work(first, last), done.append(last - first)), *given)

Threads.deal = counted
table = km.Observations.from_dense(np.random.default_rng(0).random((20, 6000)))
options = {"learn_from": "ratings", "item_solver": "exhaustive", "random_state": 0, "n_jobs": int(sys.argv[1])}
km.KolmogorovModel(11, max_iter=1, **options).fit(table)
done.clear()
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    km.KolmogorovModel(24, max_iter=1, **options).fit(table)
    print("ended by itself", flush=True)
except KeyboardInterrupt:
    print(sum(done), flush=True)
os._exit(0)
"""


@pytest.mark.long("processes that are interrupted")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_fit_in_the_middle_of_a_share(threads):
    """Six thousand problems of sixteen million points each, minutes of work; a few shares of it are done."""
    (rows,) = printed(INTERRUPTED, threads)
    assert int(rows) < 600


@given(
    counts=st.lists(st.integers(0, 50), max_size=60),
    n_threads=st.integers(1, 5),
    row_entries=st.sampled_from([1, 1 << 12, 1 << 20]),
    costs=st.tuples(st.sampled_from([1, 1 << 20, 1 << 30]), st.integers(0, 1000)),
)
def test_shares_cover_every_row_once(counts, n_threads, row_entries, costs):
    indptr, seen = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.zeros(len(counts), dtype=int)
    longest = max(1, (1 << 17) // row_entries)

    def work(first, last):
        assert 0 < last - first <= longest
        seen[first:last] += 1

    with Threads(n_threads) as dealer:
        for _ in range(2):
            dealer.deal(work, len(counts), row_entries, indptr, *costs)
        dealer.deal(work, len(counts), row_entries)
    assert (seen == 3).all()


def test_a_mistake_in_a_share_is_raised_and_ends_the_others():
    done = []

    def work(first, last):
        if first == 0:
            raise ValueError("the first")
        time.sleep(0.01)
        done.append(first)

    with Threads(2) as dealer, pytest.raises(ValueError, match="the first"):
        dealer.deal(work, 1000, 1 << 17)
    assert len(done) < 900


def test_blas_has_one_thread_in_whatever_thread_computes():
    import scipy.linalg  # noqa: F401

    found, meet = [], threading.Barrier(2)

    def used():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    def compute():
        with one_blas_thread():
            meet.wait()
            found.append(used())
            meet.wait()

    before, others = used(), [threading.Thread(target=compute) for _ in range(2)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    with one_blas_thread():
        found.append(used())
    assert found == [{1}] * 3
    assert used() == before
