"""Time limits, Ctrl-C, and what each solver says to two thousand variables."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from helpers.strategies import sparse_integers
from kolmogorov import bqp
from kolmogorov.errors import ParameterError, SolverMismatchError
from kolmogorov.kernels.stopping import stopped
from kolmogorov.problems import BinaryQP, BoxQP, RidgeQP, SimplexQP, Status
from kolmogorov.solvers import BestOf, names, resolve
from kolmogorov.solvers.stopping import interruptible, limited, stop_cell

LIMITED = [name for name in names("binary") if "time_limit" in type(resolve("binary", name)).option_names()]
# Ten seconds and far more where nothing ends them.
LONG = {
    "auto": (900, {}),
    "local_search": (2000, {"n_starts": 100_000}),
    "branch_bound": (200, {}),
    "dmo": (100, {}),
    "gd": (400, {}),
    "enhanced_gd": (400, {"evd": "lanczos"}),
    "quasi_newton": (600, {}),
    "newton": (400, {"n_draws": 10**9}),
    "sdr": (60, {}),
}


@pytest.fixture(scope="module")
def large():
    return BinaryQP(sparse_integers(2000, 0), np.zeros(2000))


def _compile(name, size):
    """Take every way through the solver once, so that the clock measures no compilation."""
    qp = BinaryQP(sparse_integers(size, 0), np.zeros(size))
    bqp.solve(sparse_integers(10, 0), solver="newton")
    for options in ({"max_nodes": 10}, {"time_limit": 0.001}, {"time_limit": 0.05}):
        if set(options) <= set(type(resolve("binary", name)).option_names()):
            resolve("binary", name, **options).solve(qp)


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("size", [300, 1000, 2000])
def test_time_limits_hold_to_a_second(name, size):
    solver = resolve("binary", name, time_limit=0.8)
    if solver.max_variables is not None:
        size = solver.max_variables
    qp = BinaryQP(sparse_integers(size, 1), np.zeros(size))
    _compile(name, min(size, 101))
    began = time.perf_counter()
    got = solver.solve(qp)
    assert time.perf_counter() - began < 1.8
    assert got.value <= 0.0
    assert got.value == qp.value(got.x)
    if got.lower_bound is not None:
        assert got.lower_bound <= got.value
        assert got.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_far_away_changes_nothing(name):
    qp = BinaryQP(sparse_integers(24, 2, density=0.5), np.zeros(24))
    far = resolve("binary", name, time_limit=1e300).solve(qp)
    assert np.array_equal(far.x, resolve("binary", name).solve(qp).x)


def test_two_thousand_variables_are_refused_or_have_a_time_limit(large):
    for name in names("binary"):
        solver = resolve("binary", name)
        if solver.max_variables is None:
            assert name in LIMITED
        else:
            with pytest.raises(SolverMismatchError, match=f"'{name}' handles at most .* has 2000. Use .*local_search"):
                solver.solve(large)


def test_the_semidefinite_relaxation_refuses_what_would_take_all_memory():
    with pytest.raises(SolverMismatchError, match="'sdr' handles at most 100 variables, this problem has 400"):
        bqp.solve(np.eye(400), solver="sdr")


def test_convex_solvers_at_two_thousand_variables():
    rng = np.random.default_rng(0)
    b = rng.normal(size=(2000, 50))
    gram, moment = b @ b.T + np.eye(2000), rng.normal(size=2000)
    for family, kind in (("simplex", SimplexQP), ("box", BoxQP), ("ridge", RidgeQP)):
        qp = kind(gram, moment)
        for name in names(family):
            if name == "active_set":
                with pytest.raises(SolverMismatchError, match="'active_set' handles at most 500.*'pairwise'"):
                    resolve(family, name).solve(qp)
                continue
            options = {"max_iter": 200} if name == "coordinate" else {}
            assert np.isfinite(resolve(family, name, **options).solve(qp).value)


CHILD = """
import json, os, signal, sys, threading, time
import numpy as np
from kolmogorov import bqp
from helpers.strategies import sparse_integers

for name, (size, options) in json.loads(sys.argv[1]).items():
    small = {**options, **({"n_draws": 2} if "n_draws" in options else {})}
    small |= {"n_starts": 2} if "n_starts" in options else {}
    bqp.solve(sparse_integers(20, 0), solver=name, **small)
    if name in ("auto", "branch_bound", "local_search"):
        bqp.solve(sparse_integers(101, 0), solver=name, time_limit=0.1)
    matrix = sparse_integers(size, 0) / 100
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    try:
        bqp.solve(matrix, solver=name, **options)
        print(name, "ended by itself", flush=True)
    except KeyboardInterrupt:
        late = time.perf_counter() - began - 1.0
        wait = time.perf_counter() + (0.0 if name == "sdr" else 5.0)
        while any(t.name == "kolmogorov-solve" for t in threading.enumerate()) and time.perf_counter() < wait:
            time.sleep(0.05)
        # Clarabel cannot be stopped from outside; its thread ends when it is done.
        left = name != "sdr" and any(t.name == "kolmogorov-solve" for t in threading.enumerate())
        print(name, "late" if late > 1.0 else "left a thread" if left else "interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.parametrize("names_", [list(LONG)[:5], list(LONG)[5:]], ids=["first", "second"])
def test_ctrl_c_ends_every_long_solve_within_a_second(names_):
    pytest.importorskip("clarabel")
    chosen = {name: LONG[name] for name in names_}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(chosen)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert child.stdout.splitlines() == [f"{name} interrupted" for name in chosen], child.stderr[-2000:]


def test_every_solver_that_can_run_long_is_in_that_test():
    assert set(LONG) | {"exhaustive"} == set(names("binary"))  # 2^30 points take less than one


def test_kernels_see_a_cell_that_is_set():
    cell = np.zeros(1, dtype=np.int64)
    assert not stopped(cell)
    cell[0] = 1
    assert stopped(cell)


def test_limits_nest_and_end_with_their_blocks():
    assert stop_cell()[0] == 0
    with limited(60.0) as outer, limited(0.02) as inner:
        assert stop_cell() is inner
        deadline = time.perf_counter() + 5
        while not inner[0] and time.perf_counter() < deadline:
            time.sleep(0.005)
        assert inner[0] == 1
        assert outer[0] == 0
    assert stop_cell()[0] == 0


def test_errors_and_answers_come_through_the_thread():
    def fail():
        raise ParameterError("no")

    assert interruptible(lambda: threading.current_thread().name) == "kolmogorov-solve"
    with pytest.raises(ParameterError, match="no"):
        interruptible(fail)


def test_solves_in_other_threads_need_no_thread_of_their_own():
    qp = BinaryQP(sparse_integers(30, 0), np.zeros(30))
    got = []
    thread = threading.Thread(target=lambda: got.append(BestOf("local_search", 2).solve(qp).value))
    thread.start()
    thread.join()
    assert got == [bqp.solve(qp, solver="branch_bound").value]
