import dimod
import numpy as np
import pytest
from click.testing import CliRunner

import kolmogorov as km
from kolmogorov import bqp
from kolmogorov.cli import main
from kolmogorov.errors import DataError, FileFormatError, MissingExtraError, ParameterError

# Its kernels take longest to compile: one process does it.
pytestmark = pytest.mark.xdist_group("bqp")


def test_solve_takes_matrices_and_problems():
    S, v = [[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0]
    assert km.bqp.solve(S, v, solver="local_search").value == -1.0
    assert km.bqp.solve(bqp.BinaryQP(S, v, offset=5.0), solver="exhaustive").lower_bound == pytest.approx(4.0)
    with pytest.raises(DataError, match="own moment"):
        km.bqp.solve(bqp.BinaryQP(S, v), v)


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


@pytest.mark.long("solvers beside the usual")
def test_the_verb(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, S=[[2.0, 1.0], [1.0, 1.0]], v=[0.5, 1.0])
    runner = CliRunner()
    result = runner.invoke(main, ["solve", str(path)])
    assert result.exit_code == 0, result.output
    for word in ("value", "lower bound", "gap", "seconds", "optimal", "01"):
        assert word in result.output
    result = runner.invoke(
        main, ["solve", str(path), "--solver", "enhanced_gd", "--option", "gamma=10", "--format", "json"]
    )
    assert '"eigendecompositions"' in result.output
    assert runner.invoke(main, ["solve", str(path), "--option", "gamma"]).exit_code == 2
    bad = runner.invoke(main, ["solve", str(path), "--solver", "gd", "--option", "evd=true"])
    assert bad.exit_code == 2
    assert "no option 'evd'" in bad.output
    assert "Example" in runner.invoke(main, ["solve", "--help"]).output


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
    import scipy.sparse as sp

    assert bqp.solve(sp.csr_array(np.diag([-1.0, 1.0]))).x.tolist() == [1.0, 0.0]
    for wrong in (3.0, None, "x"):
        with pytest.raises(DataError):
            bqp.solve(wrong)
    with pytest.raises(DataError, match="complex"):
        bqp.solve(np.eye(2) * 1j)
    with pytest.raises(DataError, match="array of numbers"):
        bqp.solve(np.eye(2), start=["a", "b"])
    with pytest.raises(DataError, match="BinaryQuadraticModel, got int"):
        bqp.from_dimod(3)


def test_sparse_files_with_repeated_or_infinite_entries(tmp_path):
    path = tmp_path / "p.sparse"
    for content, message in (
        ("2 2\n1 2 3\n2 1 5\n", r"line 3: entry \(2, 1\) is a duplicate"),
        ("2 1\n1 2 nan\n", "line 2: an entry must be finite"),
        ("2 1\n1 2 3 4\n", "line 2: expected 'i j q'"),
        ("0 0\n", "expected 1 to 20000 variables, got 0"),
        ("1000000 1\n1 1 1\n", "expected 1 to 20000 variables"),
    ):
        path.write_text(content)
        with pytest.raises(FileFormatError, match=message):
            bqp.read(path)


@pytest.mark.long("solvers beside the usual")
def test_options_on_the_command_line_reach_the_solver_alone(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, S=1e-12 * np.array([[2.0, 1.0], [1.0, 1.0]]), v=1e-12 * np.array([0.5, 1.0]), offset=0.0)
    runner = CliRunner()
    for option in ("random_state=3", "solver=gd", "v=1", "start=1"):
        result = runner.invoke(main, ["solve", str(path), "--solver", "gd", "--option", option])
        assert result.exit_code == 2, result.output
        assert "has no option" in result.output
    shown = runner.invoke(main, ["solve", str(path), "--solver", "newton"])
    assert "-1e-12" in shown.output
    limited = runner.invoke(main, ["solve", str(path), "--solver", "local_search", "--option", "time_limit=none"])
    assert limited.exit_code == 0, limited.output
