"""Problems on their own: bounds and proofs, known optima, files, Ctrl-C, and one sentence for everything else."""

import csv
import json
import os

import dimod
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

import naive
from helpers.processes import printed
from helpers.strategies import binary_problems, sparse_integers
from kolmogorov.errors import DataError, FileFormatError, MissingExtraError
from kolmogorov.solvers import bqp, names
from kolmogorov.solvers.bqp import BinaryQP, Status

# Its kernels take longest to compile: one process does it.
pytestmark = pytest.mark.xdist_group("bqp")
EVERY = [
    name if name in ("auto", "local_search") else pytest.param(name, marks=pytest.mark.long("solvers beside the usual"))
    for name in names("binary")
]


@pytest.mark.parametrize("name", EVERY)
@given(problem=binary_problems(max_size=8))
@settings(max_examples=25)
def test_values_bounds_and_proofs_hold(name, problem):
    if name == "sdr":
        pytest.importorskip("clarabel")
    qp = BinaryQP(*problem, offset=7.0)
    got, best = bqp.solve(qp, solver=name), qp.value(naive.best_binary(*problem))
    slack = 1e-9 * (1 + abs(best))
    assert got.value == qp.value(got.x) >= best - slack
    assert got.status is not Status.OPTIMAL or got.value <= best + slack
    assert got.lower_bound is None or got.lower_bound <= best
    if name in ("auto", "exhaustive", "dmo"):
        assert got.status is Status.OPTIMAL
        assert got.value - got.lower_bound <= slack


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("scale", [1e100, 1e-6, 1e-300])
def test_units_do_not_matter(name, scale):
    if name == "sdr":
        pytest.importorskip("clarabel")
    rng = np.random.default_rng(6)
    for size in (1, 2, 5):
        a = rng.normal(size=(size, size))
        gram, moment = a + a.T, rng.normal(size=size)
        unit = scale / max(np.abs(gram).max(), np.abs(moment).max()) / (size**2 if scale > 1 else 1) * (1 - 1e-12)
        qp = BinaryQP(unit * gram, unit * moment)
        best = qp.value(naive.best_binary(qp.gram, qp.moment))
        slack = 1e-9 * abs(best) + 1e-320
        got = bqp.solve(qp, solver=name)
        assert np.isfinite(got.value)
        assert got.value >= best - slack
        assert got.status is not Status.OPTIMAL or got.value <= best + slack
        assert got.lower_bound is None or got.lower_bound <= best + slack


@pytest.mark.parametrize("solver", ["auto", pytest.param("enhanced_gd", marks=pytest.mark.long("solvers"))])
def test_many_are_solved_as_each_would_be(solver, rng):
    grams = [a @ a.T for a in rng.normal(size=(4, 6, 6))]
    moments, start = rng.normal(size=(4, 6)), rng.integers(0, 2, size=(4, 6))
    options = {"solver": solver, "random_state": 3}
    for S in (grams, grams[0]):
        for k, got in enumerate(bqp.solve_many(S, moments, start=start, **options)):
            alone = bqp.solve(S[k] if S is grams else S, moments[k], start=start[k], **options)
            for name, expected in vars(alone).items():
                if name != "seconds":
                    np.testing.assert_array_equal(getattr(got, name), expected)
    assert bqp.solve_many(grams[0], np.empty((0, 6))) == []
    with pytest.raises(DataError, match="one for each of the 4 rows of 'v', got 3"):
        bqp.solve_many(np.zeros((3, 6, 6)), moments)


def test_auto_proves_up_to_24_variables_and_searches_beyond(rng):
    for size, status in ((20, Status.OPTIMAL), (25, Status.FEASIBLE)):
        a = rng.normal(size=(size, size))
        assert bqp.solve(a + a.T, np.ones(size)).status is status


@pytest.mark.long("solvers beside the usual")
def test_dmo_stops_at_its_number_of_boxes():
    got = bqp.solve(sparse_integers(20, 0, density=0.5), solver="dmo", max_nodes=3)
    assert (got.iterations, got.status, got.lower_bound) == (3, Status.ITERATION_LIMIT, None)


def test_large_entries_do_not_hide_small_ones():
    for name in ("exhaustive", "local_search"):
        assert bqp.solve(np.diag([1e12, -0.5]), solver=name).value == -0.5


def test_every_known_optimum_is_found(data_directory):
    folder = data_directory / "bqp"
    if not folder.exists():
        pytest.skip(f"Beasley's instances are not in {folder}")
    with (folder / "best_known.csv").open() as file:
        optima = {row["instance"]: float(row["best_known"]) for row in csv.DictReader(file)}
    assert len(optima) == 20
    for name, optimum in optima.items():
        assert bqp.solve(bqp.read(folder / f"{name}.sparse")).value == optimum, name


# --- problems from elsewhere ------------------------------------------------------------------------------------------


def test_sparse_files(tmp_path):
    path = tmp_path / "p.sparse"
    path.write_text("3 3\n1 1 -2\n1 3 4\n2 2 5\n\n")
    problem = bqp.read(path)
    assert problem.gram.tolist() == [[-2, 0, 4], [0, 5, 0], [4, 0, 0]]
    assert problem.value([1, 0, 1]) == 6.0
    for content in (
        *("", "x y\n", "2 2\n1 1 1\n", "99999999999 0\n", "2 1\n1 3 1\n", "2 1\n1 2\n", "2 2\n1 2 3\n2 1 5\n"),
        *("2 1\n1 2 q\n", "2 1\n0 1 1\n", "-3 0\n"),
    ):
        path.write_text(content)
        with pytest.raises((FileFormatError, DataError)):
            bqp.read(path)
    with pytest.raises(FileFormatError, match="no such problem: .*No such file"):
        bqp.read(tmp_path / "absent.sparse")


def test_from_dimod_keeps_energies():
    for vartype in ("BINARY", "SPIN"):
        bqm = dimod.generators.randint(6, vartype, seed=1)
        bqm.offset = 2.5
        problem = bqp.from_dimod(bqm)
        for sample in dimod.ExactSolver().sample(bqm).data(["sample", "energy"]):
            values = np.array([sample.sample[variable] for variable in bqm.variables])
            x = (values + 1) / 2 if vartype == "SPIN" else values
            assert problem.value(x) == pytest.approx(sample.energy)


def test_a_missing_extra_names_its_command(monkeypatch):
    import kolmogorov._support.outside as optional

    monkeypatch.setattr(optional, "installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[sdp\]'"):
        bqp.solve(np.eye(2), [1.0, 1.0], solver="sdr")
    with pytest.raises(MissingExtraError, match=r"pip install '.\[qubo\]'"):
        bqp.from_dimod(dimod.BinaryQuadraticModel("BINARY"))


@pytest.mark.parametrize(
    ("gram", "moment", "message"),
    [
        ([[1.0, 2.0], [1.0]], [1.0, 2.0], "'gram' must be an array of finite real numbers"),
        ([[np.nan]], [1.0], "'gram' must be an array of finite real numbers"),
        ([[1.0]], [np.inf], "'moment' must be an array of finite"),
        ([["x"]], [1.0], "'gram' must be"),
        (np.eye(2) * 1j, [1.0, 1.0], "finite real numbers"),
        ([[10**400]], [1.0], "'gram' must be"),
        ([1.0], [1.0], r"with 2 dimension\(s\)"),
        ([[1.0]], [[1.0]], r"'moment' .* with 1 dimension\(s\)"),
        ([[1.0]], [1.0, 2.0], "square with one row per entry"),
        (np.zeros((0, 0)), [], "square with one row per entry"),
        ([[0.0, 1.0], [2.0, 0.0]], [0.0, 0.0], r"symmetric. Pass \(S \+ S.T\) / 2"),
        ([[1e101]], [1.0], "numbers up to 1e.100 can be computed with. Divide gram, moment"),
        (sp.csr_array((10_001, 10_001)), np.zeros(10_001), "at most 10,000 variables"),
    ],
)
def test_what_is_no_problem_is_named(gram, moment, message):
    with pytest.raises(DataError, match=message):
        bqp.solve(gram, moment)


def test_points_starts_and_sparse_matrices():
    assert bqp.solve(sp.csr_array(np.diag([-1.0, 1.0]))).x.tolist() == [1.0, 0.0]
    qp = BinaryQP(np.eye(2), [1.0, 0.0])
    for wrong in ([1.0], [[1.0, 0.0]], [1.0, np.nan], "ab"):
        with pytest.raises(DataError, match="'x' must"):
            qp.value(wrong)
        with pytest.raises(DataError, match="'start' must"):
            bqp.solve(qp, start=wrong)
    with pytest.raises(DataError, match="'start' must hold only 0 and 1"):
        bqp.solve(qp, start=[0.5, 1.0])
    with pytest.raises(DataError, match="own moment"):
        bqp.solve(qp, [1.0, 0.0])


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------

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
@pytest.mark.parametrize("chosen", [list(LONG)[:4], list(LONG)[4:]], ids=["first", "second"])
def test_ctrl_c_ends_every_long_solve(chosen):
    pytest.importorskip("clarabel")
    assert set(LONG) | {"exhaustive"} == set(names("binary"))  # 2^30 points take less than one
    assert printed(INTERRUPTED, json.dumps({name: LONG[name] for name in chosen})) == [
        f"{name} interrupted" for name in chosen
    ]
