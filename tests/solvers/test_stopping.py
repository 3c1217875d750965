"""Time limits, Ctrl-C, and what each solver says to two thousand variables."""

import json
import os
import threading

import numpy as np
import pytest

from helpers.processes import printed, wait_until
from helpers.strategies import sparse_integers
from kolmogorov.errors import ParameterError, SolverMismatchError
from kolmogorov.solvers import bqp, names, resolve
from kolmogorov.solvers.problems import BinaryQP, BoxQP, RidgeQP, SimplexQP, Status
from kolmogorov.solvers.stopping import interruptible, limited, stop_cell, stopped

LIMITED = [name for name in names("binary") if "time_limit" in type(resolve("binary", name)).option_names()]
#: Kernels that few need take longest to compile.
pytestmark = pytest.mark.long("solvers beside the usual")

# Minutes or hours, where nothing ends them.
LONG = {
    "auto": (2000, {"n_starts": 100_000}),
    "local_search": (2000, {"n_starts": 100_000}),
    "dmo": (100, {}),
    "gd": (400, {"n_draws": 10**6}),
    "enhanced_gd": (400, {"evd": "lanczos", "n_draws": 10**6}),
    "quasi_newton": (600, {"n_draws": 10**6}),
    "newton": (400, {"n_draws": 10**6}),
    "sdr": (60, {}),
}


@pytest.fixture(scope="module")
def large():
    return BinaryQP(sparse_integers(2000, 0), np.zeros(2000))


def _told_to_stop(solve):
    """Return what a solve returns whose cell is set before it begins; in a thread it looks at no other."""
    got = []

    def work():
        with limited(3600.0) as cell:
            cell[0] = 1
            got.append(solve())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return got[0]


@pytest.mark.long("searches of solvers")
@pytest.mark.parametrize("name", [name for name in LONG if name not in ("quasi_newton", "sdr")])
def test_kernels_look_at_their_cell(name):
    """What would take hours does next to nothing."""
    size, options = LONG[name]
    qp = BinaryQP(sparse_integers(size, 0) / 100, np.zeros(size))
    got = _told_to_stop(lambda: bqp.solve(qp, solver=name, **options))
    assert got.value == qp.value(got.x)
    assert (got.nodes or 0) <= 1
    assert name in ("auto", "local_search") or (got.iterations or 0) <= 1


@pytest.mark.parametrize("name", ["quasi_newton", "sdr"])
def test_solvers_in_python_leave_where_they_are(name):
    if name == "sdr":
        pytest.importorskip("clarabel")
    size, options = LONG[name]
    matrix = sparse_integers(size, 0)

    def solve():
        try:
            return bqp.solve(matrix, solver=name, **options)
        except Exception as error:
            return type(error).__name__

    assert _told_to_stop(solve) == "_EndedError"


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("size", [300, 1000, 2000])
def test_time_limits_return_the_best_so_far(name, size):
    """None of these problems is solved in hours, so what returns was cut short."""
    solver = resolve("binary", name, time_limit=0.2)
    if solver.max_variables is not None:
        size = solver.max_variables
    qp = BinaryQP(sparse_integers(size, 1), np.zeros(size))
    got = bqp.solve(qp, solver=solver)
    assert got.value <= 0.0
    assert got.value == qp.value(got.x)
    if got.lower_bound is not None:
        assert got.lower_bound <= got.value
        assert got.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_far_away_changes_nothing(name):
    qp = BinaryQP(sparse_integers(24, 2, density=0.5), np.zeros(24))
    far = bqp.solve(qp, solver=name, time_limit=1e300)
    assert np.array_equal(far.x, bqp.solve(qp, solver=name).x)


def test_two_thousand_variables_are_refused_or_have_a_time_limit(large):
    for name in names("binary"):
        solver = resolve("binary", name)
        if solver.max_variables is None:
            assert name in LIMITED
        else:
            with pytest.raises(SolverMismatchError, match=f"'{name}' handles at most .* has 2000. Use .*local_search"):
                bqp.solve(large, solver=solver)


def test_the_semidefinite_relaxation_refuses_what_would_take_all_memory():
    with pytest.raises(SolverMismatchError, match="'sdr' handles at most 100 variables, this problem has 400"):
        bqp.solve(np.eye(400), solver="sdr")


@pytest.mark.long("searches of solvers")
def test_convex_solvers_at_two_thousand_variables():
    rng = np.random.default_rng(0)
    b = rng.normal(size=(2000, 50))
    gram, moment = b @ b.T + np.eye(2000), rng.normal(size=2000)
    for family, kind in (("simplex", SimplexQP), ("box", BoxQP), ("ridge", RidgeQP)):
        qp = kind(gram, moment)
        for name in names(family):
            if name == "active_set":
                with pytest.raises(SolverMismatchError, match="'active_set' handles at most 500.*'pairwise'"):
                    bqp.solve(qp, solver=name)
                continue
            options = {"max_iter": 200} if name == "coordinate" else {}
            assert np.isfinite(bqp.solve(qp, solver=name, **options).value)


INTERRUPTED = """
import json, os, sys, threading
from kolmogorov import bqp
from helpers.processes import wait_until
from helpers.strategies import sparse_integers

def solving():
    return any(thread.name == "kolmogorov-solve" for thread in threading.enumerate())

for name, (size, options) in json.loads(sys.argv[1]).items():
    matrix = sparse_integers(size, 0) / 100
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        bqp.solve(matrix, solver=name, **options)
        print(name, "ended by itself", flush=True)
    except KeyboardInterrupt:
        # Clarabel cannot be stopped from outside; its thread ends when it is done.
        if name != "sdr":
            wait_until(lambda: not solving(), "the end of the solver's thread")
        print(name, "interrupted", flush=True)
os._exit(0)
"""


@pytest.mark.long("processes that are interrupted")
@pytest.mark.skipif(os.name == "nt", reason="signals are sent in another way there")
@pytest.mark.parametrize("names_", [list(LONG)[:5], list(LONG)[5:]], ids=["first", "second"])
def test_ctrl_c_ends_every_long_solve(names_):
    pytest.importorskip("clarabel")
    chosen = {name: LONG[name] for name in names_}
    assert printed(INTERRUPTED, json.dumps(chosen)) == [f"{name} interrupted" for name in chosen]


def test_every_solver_that_can_run_long_is_in_that_test():
    assert set(LONG) | {"exhaustive"} == set(names("binary"))  # 2^30 points take less than one


def test_kernels_see_a_cell_that_is_set():
    cell = np.zeros(1, dtype=np.int64)
    assert not stopped(cell)
    cell[0] = 1
    assert stopped(cell)


def test_limits_nest_and_end_with_their_blocks():
    assert stop_cell()[0] == 0
    with limited(3600.0) as outer, limited(0.02) as inner:
        assert stop_cell() is inner
        wait_until(lambda: inner[0] == 1, "the end of the inner limit")
        assert outer[0] == 0
    assert stop_cell()[0] == 0


def test_errors_and_answers_come_through_the_thread():
    def fail():
        raise ParameterError("no")

    assert interruptible(lambda: threading.current_thread().name) == "kolmogorov-solve"
    with pytest.raises(ParameterError, match="no"):
        interruptible(fail)


def test_solves_in_other_threads_need_no_thread_of_their_own():
    qp = BinaryQP(sparse_integers(20, 0), np.zeros(20))
    got = []
    thread = threading.Thread(target=lambda: got.append(bqp.solve(qp).value))
    thread.start()
    thread.join()
    assert got == [bqp.solve(qp, solver="exhaustive").value]
