"""Shares of rows on threads: Ctrl-C does not wait for what is under way."""

import subprocess
import sys

import pytest

CODE = """
import os, signal, sys, threading, time
import numpy as np
import kolmogorov as km

table = km.Observations.from_dense(np.random.default_rng(0).random((20, 6000)))
options = {"binary_solver": "exhaustive", "random_state": 0, "n_jobs": int(sys.argv[1])}
km.KolmogorovModel(11, max_iter=1, **options).fit(table)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    km.KolmogorovModel(24, max_iter=1, **options).fit(table)
    print("ended by itself", flush=True)
except KeyboardInterrupt:
    print(time.monotonic() - began, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_fit_in_the_middle_of_a_share(threads):
    """Six thousand problems of sixteen million points each, dealt in shares that end within a second."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(threads)], capture_output=True, text=True, timeout=120, check=True
    )
    assert float(done.stdout) < 3.0
