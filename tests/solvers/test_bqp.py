"""Problems on their own: what they may be made of, both sides of each limit, and one sentence for everything else."""

import dimod
import numpy as np
import pytest
import scipy.sparse as sp

import kolmogorov as km
import naive
from kolmogorov.errors import DataError, FileFormatError, MissingExtraError, ParameterError
from kolmogorov.solvers import bqp
from kolmogorov.solvers.problems import BinaryQP, BoxQP, RidgeQP, SimplexQP, Status

# Its kernels take longest to compile: one process does it.
pytestmark = pytest.mark.xdist_group("bqp")
KINDS = (BinaryQP, SimplexQP, BoxQP, RidgeQP)


def test_solve_takes_matrices_and_problems():
    S, v = [[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]
    assert km.bqp.solve(S, v, solver="local_search").value == -1.0
    assert km.bqp.solve(bqp.BinaryQP(S, v, offset=5.0), solver="exhaustive").lower_bound == pytest.approx(4.0)
    with pytest.raises(DataError, match="own moment"):
        km.bqp.solve(bqp.BinaryQP(S, v), v)


@pytest.mark.parametrize("solver", ["auto", "enhanced_gd", "newton", "local_search"])
def test_many_are_solved_as_each_would_be(solver, rng):
    grams = [a @ a.T for a in rng.normal(size=(4, 6, 6))]
    moments = rng.normal(size=(4, 6))
    start = rng.integers(0, 2, size=(4, 6))
    options = {"solver": solver, "random_state": 3}
    for S in (grams, grams[0]):
        many = bqp.solve_many(S, moments, start=start, **options)
        for k, got in enumerate(many):
            alone = bqp.solve(S[k] if S is grams else S, moments[k], start=start[k], **options)
            for name, expected in vars(alone).items():
                if name != "seconds":
                    np.testing.assert_array_equal(getattr(got, name), expected)
    assert bqp.solve_many(grams[0], np.empty((0, 6))) == []


def test_many_problems_must_fit_together():
    with pytest.raises(DataError, match="one for each of the 2 rows of 'v', got 3"):
        bqp.solve_many(np.zeros((3, 2, 2)), np.zeros((2, 2)))
    with pytest.raises(DataError, match="a row for each of the 2 rows of 'v', got 1"):
        bqp.solve_many(np.eye(2), np.zeros((2, 2)), start=[[0, 1]])
    with pytest.raises(DataError, match="'v' must have 2 dimension"):
        bqp.solve_many(np.eye(2), [1.0, 2.0])
    with pytest.raises(DataError, match="square with one row per entry"):
        bqp.solve_many(np.eye(2), np.zeros((1, 3)))


@pytest.mark.long("solvers beside the usual")
def test_solve_takes_every_solver():
    S, v = [[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]
    assert km.bqp.solve(S, v, solver="enhanced_gd", gamma=100).value == -1.0
    assert km.bqp.solve([[-1.0]]).x.tolist() == [1.0]
    for solver in km.solvers.names("binary"):
        assert km.bqp.solve([[1.0]], [2.0], solver=solver).x.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newtn"}, "Did you mean 'newton'"),
        ({"solver": "gd", "gama": 1}, "no option 'gama'.*Did you mean 'gamma'"),
        ({"solver": "gd", "gamma": -1}, "Solver 'gd': 'gamma' must be a finite number > 0, got -1"),
        ({"solver": "enhanced_gd", "evd": "arnoldi"}, "'evd' must be one of 'full', 'lanczos'"),
        ({"solver": "enhanced_gd", "shrink": 1.0}, "'shrink' must be a number between 0 and 0.99, got 1.0"),
        ({"solver": "local_search", "time_limit": 0}, "'time_limit' must be a finite number > 0 or None"),
        ({"solver": "local_search", "n_starts": 0}, "'n_starts' must be an integer >= 1"),
        ({"solver": 3}, "A binary solver is a name"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        km.bqp.solve(np.eye(2), [1.0, 1.0], **options)


def test_a_missing_extra_names_its_command(monkeypatch):
    import kolmogorov._support.optional as optional

    monkeypatch.setattr(optional, "installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[sdp\]'"):
        km.bqp.solve(np.eye(2), [1.0, 1.0], solver="sdr")
    with pytest.raises(MissingExtraError, match=r"pip install '.\[qubo\]'"):
        bqp.from_dimod(dimod.BinaryQuadraticModel("BINARY"))


def test_sparse_files(tmp_path):
    path = tmp_path / "p.sparse"
    path.write_text("3 3\n1 1 -2\n1 3 4\n2 2 5\n\n")
    problem = bqp.read(path)
    assert problem.gram.tolist() == [[-2, 0, 4], [0, 5, 0], [4, 0, 0]]
    assert problem.value([1, 0, 1]) == 6.0
    for content, message in (
        ("", "is empty"),
        ("x y\n", "line 1: expected two integers"),
        ("2 2\n1 1 1\n", "announces 2 entries, 1 follow"),
        ("2 1\n1 3 1\n", "line 2: indices must lie between 1 and 2"),
        ("2 1\n1 2 q\n", "line 2: expected 'i j q'"),
        ("2 1\n1 2\n", "line 2: expected 'i j q'"),
        ("2 2\n1 2 3\n2 1 5\n", r"line 3: entry \(2, 1\) is a duplicate"),
        ("2 1\n1 2 nan\n", "line 2: an entry must be finite"),
        ("0 0\n", "expected 1 to 20000 variables, got 0"),
        ("2 1\n1 2 1e308\n", r"p.sparse: 'gram' holds a number of size 1e\+308"),
        (b"\xff\xfe", "not a text file"),
    ):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(FileFormatError, match=message):
            bqp.read(path)
    with pytest.raises(FileFormatError, match="There is no file"):
        bqp.read(tmp_path / "absent.sparse")


def test_array_files(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, S=np.eye(2), v=[1.0, 0.0])
    assert bqp.read(path).moment.tolist() == [1.0, 0.0]
    np.savez(path, Q=np.eye(2))
    with pytest.raises(FileFormatError, match="must hold an array S"):
        bqp.read(path)
    np.savez(path, S=np.array([object()], dtype=object))
    with pytest.raises(FileFormatError):
        bqp.read(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(FileFormatError):
        bqp.read(path)


def test_from_dimod_keeps_energies():
    for vartype in ("BINARY", "SPIN"):
        bqm = dimod.generators.randint(6, vartype, seed=1)
        bqm.offset = 2.5
        problem = bqp.from_dimod(bqm)
        for sample in dimod.ExactSolver().sample(bqm).data(["sample", "energy"]):
            values = np.array([sample.sample[variable] for variable in bqm.variables])
            x = (values + 1) / 2 if vartype == "SPIN" else values
            assert problem.value(x) == pytest.approx(sample.energy)


def test_inputs_of_the_wrong_kind():
    assert bqp.solve(sp.csr_array(np.diag([-1.0, 1.0]))).x.tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match="complex"):
        bqp.solve(np.eye(2) * 1j)
    with pytest.raises(DataError, match="array of numbers"):
        bqp.solve(np.eye(2), start=["a", "b"])
    with pytest.raises(DataError, match="BinaryQuadraticModel, got int"):
        bqp.from_dimod(3)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_up_to_the_limit_and_none_above(kind):
    for size in (1, 3):
        limit = 1e100 / size**2
        above = np.nextafter(limit, np.inf)
        gram = np.eye(size)
        assert kind(limit * gram, np.full(size, -limit), -limit).size == size
        for arguments in ((above * gram, np.zeros(size)), (gram, np.full(size, -above)), (gram, np.zeros(size), above)):
            with pytest.raises(DataError, match="of size .*at most .* can be computed with. Divide gram, moment"):
                kind(*arguments)


@pytest.mark.long("solvers beside the usual")
@pytest.mark.parametrize("name", km.solvers.names("binary"))
@pytest.mark.parametrize("scale", [1e100, 1e-100, 1e-300, 1e-310])
def test_solvers_are_right_at_the_ends_of_the_range(name, scale):
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
        if got.status is Status.OPTIMAL:
            assert got.value <= best + slack
        if got.lower_bound is not None:
            assert got.lower_bound <= best + slack


@pytest.mark.parametrize(
    ("gram", "moment", "offset", "message"),
    [
        (
            [[1.0, 2.0], [1.0]],
            [1.0, 2.0],
            0.0,
            "'gram' must be an array of real numbers in which all rows have the same",
        ),
        (np.eye(2), [[1.0], [1.0, 2.0]], 0.0, "'moment' must be an array of real numbers in which all rows"),
        ([[np.nan]], [1.0], 0.0, "'gram' must be finite, but holds NaN or infinity"),
        ([[1.0]], [np.inf], 0.0, "'moment' must be finite"),
        ([[1.0]], [1.0], np.nan, "'offset' must be finite"),
        ([[1.0]], [1.0], -np.inf, "'offset' must be finite"),
        ([[1.0]], [1.0], None, "'offset' must be a real number, got None"),
        ([[1.0]], [1.0], "1", "'offset' must be a real number, got '1'"),
        ([[1.0]], [1.0], [1.0], "'offset' must be a real number"),
        ([["1.0"]], [1.0], 0.0, "'gram' must be an array of real numbers, got text"),
        ([[None]], [1.0], 0.0, "'gram' must be"),
        ([[10**400]], [1.0], 0.0, "'gram' must be an array of real numbers"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), [1.0], 0.0, "real numbers, got the type datetime64"),
        ({"a": 1}, [1.0], 0.0, "'gram' must be"),
        (np.ma.masked_array([[1.0]], mask=[[True]]), [1.0], 0.0, "some of its entries are masked"),
        ([[1.0]], [], 0.0, "got shapes"),
        ([], [], 0.0, "'gram' must have 2 dimension"),
    ],
)
def test_what_is_no_problem_is_named(gram, moment, offset, message):
    for kind in KINDS:
        with pytest.raises(DataError, match=message):
            kind(gram, moment, offset)
    if offset == 0.0:
        with pytest.raises(DataError, match=message):
            bqp.solve(gram, moment)


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [1.0]], [[np.nan]], [[np.inf]], [], [[]], "ab", 3, None, {1: 2}])
def test_a_matrix_alone_that_is_none_is_named(matrix):
    with pytest.raises(DataError, match="'gram' must|no variables"):
        bqp.solve(matrix)


def test_sparse_matrices_and_sizes():
    assert BinaryQP(sp.csr_array(np.diag([-1.0, 1.0])), [0.0, 0.0]).gram.tolist() == [[-1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(DataError, match="at most 20,000 variables, got 20,001"):
        bqp.solve(sp.csr_array((20_001, 20_001)))
    with pytest.raises(DataError, match="at most 20,000 variables, this model has 20,001"):
        bqp.from_dimod(dimod.BinaryQuadraticModel(20_001, "BINARY"))


@pytest.mark.parametrize(("kind", "x"), [(SimplexQP, [0.0, 1.0]), (BoxQP, [0.25, 1.0]), (RidgeQP, [0.25, 3.0])])
def test_problems_over_other_sets_are_solved_too(kind, x):
    problem = kind([[1.0, 0.0], [0.0, 1.0]], [0.25, 3.0])
    np.testing.assert_allclose(bqp.solve(problem).x, x, atol=1e-9)
    with pytest.raises(ParameterError, match=f"Unknown {kind.family} solver 'newton'"):
        bqp.solve(problem, solver="newton")


def test_points_and_starts_are_checked():
    qp = BinaryQP(np.eye(2), [1.0, 0.0])
    for wrong in ([1.0], [1.0, 0.0, 1.0], [[1.0, 0.0]], [1.0, np.nan], "ab", [1.0, [2.0]]):
        with pytest.raises(DataError, match="'x' must"):
            qp.value(wrong)
        with pytest.raises(DataError, match="'start' must"):
            bqp.solve(qp, start=wrong)


def test_symmetry_is_checked_in_every_block():
    matrix = np.zeros((600, 600))
    matrix[590, 300] = 1.0
    with pytest.raises(DataError, match=r"entry \(300, 590\) is 0 and \(590, 300\) is 1"):
        BinaryQP(matrix, np.zeros(600))
    rng = np.random.default_rng(0)
    a = rng.normal(size=(600, 600))
    noisy = a + a.T + 1e-12 * rng.normal(size=(600, 600))
    qp = BinaryQP(noisy, np.zeros(600))
    assert np.array_equal(qp.gram, (noisy + noisy.T) / 2)


def test_files_keep_the_same_limits(tmp_path):
    path = tmp_path / "p.npz"
    for arrays, message in (
        ({"S": np.eye(2), "v": [1e308, 0.0]}, "'moment' holds a number"),
        ({"S": np.eye(2), "offset": np.nan}, "'offset' must be finite"),
        ({"S": np.eye(2), "offset": [1.0, 2.0]}, "'offset' must be a real number"),
        ({"S": [["a"]]}, "got text"),
        ({"S": 3.0}, "'gram' must have 2 dimension"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(FileFormatError, match=message):
            bqp.read(path)
    with pytest.raises(FileFormatError, match="The path of a file is expected, got 3"):
        bqp.read(3)


def test_models_of_dimod_keep_the_same_limits():
    for bias in (np.nan, np.inf, 1e308):
        with pytest.raises(DataError, match="finite|of size"):
            bqp.from_dimod(dimod.BinaryQuadraticModel({"a": bias}, {("a", "b"): 1.0}, 0.0, "BINARY"))
    with pytest.raises(DataError, match="'offset'"):
        bqp.from_dimod(dimod.BinaryQuadraticModel({"a": 1.0}, {}, np.nan, "BINARY"))


BAD = {"time_limit": (-1, 0, np.nan, np.inf, 10**400, "1", True), "n_draws": (0, -1, 1.5, 2**63, None)}
BAD |= {"tol": (np.nan, -1e-9, np.inf, 10**400, "x"), "max_iter": (0, 2**63, 1.0), "max_nodes": (0, 10**30, "x")}
BAD |= {"gamma": (0, np.nan, 10**400), "n_starts": (0, 2**63, 2.0)}


@pytest.mark.parametrize("name", km.solvers.names("binary"))
def test_options_out_of_range_are_named(name):
    known = type(km.solvers.resolve("binary", name)).option_names()
    for option in set(known) & set(BAD):
        for wrong in BAD[option]:
            with pytest.raises(ParameterError, match=f"'{option}' must be"):
                bqp.solve(np.eye(2), solver=name, **{option: wrong})


@pytest.mark.long("solvers beside the usual")
@pytest.mark.xdist_group("absurd options")  # their solvers are compiled once
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gd", {"step": 1e300}),
        ("gd", {"gamma": 1e300}),
        ("enhanced_gd", {"step": 1e300, "evd": "lanczos"}),
        ("enhanced_gd", {"gamma": 1e-300}),
        ("quasi_newton", {"gamma": 1e300}),
        ("quasi_newton", {"gamma": 1e-300}),
        ("newton", {"gamma": 1e300}),
        ("newton", {"gamma": 1e-300}),
        ("newton", {"gamma": 1e308}),
    ],
)
def test_options_beyond_reason_still_give_a_point_and_a_bound(name, options):
    rng = np.random.default_rng(1)
    a = rng.normal(size=(6, 6))
    qp = BinaryQP(a + a.T, rng.normal(size=6))
    got = bqp.solve(qp, solver=name, **options)
    assert np.isfinite(got.value)
    assert got.lower_bound <= qp.value(naive.best_binary(qp.gram, qp.moment))


def test_a_trace_that_cannot_be_kept_is_refused():
    with pytest.raises(ParameterError, match="A trace of up to 1,000,001 points.*Lower 'max_iter'"):
        bqp.solve(np.eye(200), solver="gd", max_iter=10**6, trace=True)


def test_unknown_families_are_named():
    for call in (km.solvers.names, lambda family: km.solvers.resolve(family, "auto")):
        with pytest.raises(ParameterError, match="Unknown family 'foo'; known: simplex, binary"):
            call("foo")
