"""Many-valued models in the shell: fit and tune."""

import numpy as np
import pytest

import kolmogorov as km


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    rng = np.random.default_rng(0)
    lines = [f"u{u},i{i},{rng.integers(1, 6)}" for u in range(20) for i in range(8) if rng.random() < 0.8]
    path = tmp_path_factory.mktemp("levels") / "ratings.csv"
    path.write_text("user,item,value\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("said", "grid"),
    [("auto", np.arange(-2, 8) / 5), ("0,0.5,1", [0, 0.5, 1]), ("2", [0, 1]), ("0,1", [0, 1]), ("chances", None)],
)
def test_fit_takes_levels(shell, ratings, tmp_path, said, grid):
    result = shell(
        "fit", ratings, "--point", "--levels", said, "--events", 2, "--test-size", 0.2, "-o", tmp_path / "m.km"
    )
    assert result.exit_code == 0, result.output
    found = km.load(tmp_path / "m.km")
    if grid is None:
        assert found.levels == "chances"
        assert not np.isin(found.psi_, (0.0, 1.0)).all()
        assert ((found.psi_ >= 0.0) & (found.psi_ <= 1.0)).all()
    else:
        assert found.levels_ == pytest.approx(grid)
        assert np.isin(found.psi_, found.levels_).all()
    assert "log_score" in result.output


@pytest.mark.parametrize("said", ["3", "many", "1,0", "0,x", "0,99", ""])
def test_wrong_levels_are_named(shell, ratings, tmp_path, said):
    result = shell("fit", ratings, "--levels", said, "-o", tmp_path / "m.km")
    assert result.exit_code == 2
    assert "expected 2, chances, auto, or increasing numbers" in " ".join(result.output.split())


def test_tune_tries_levels(shell, ratings, tmp_path):
    options = ["--events", 2, "--user-reg", 1, "--item-reg", 0.1, "--folds", 2, "-o", tmp_path / "m.km"]
    tried = ["--levels", 2, "--levels", "auto", "--levels", "0,0.5,1", "--levels", "chances"]
    result = shell("tune", ratings, *tried, *options)
    assert result.exit_code == 0, result.output
    assert "0,0.5,1" in result.output
    assert "auto" in result.output
    assert "chances" in result.output
    assert "levels" not in shell("tune", ratings, *options[:-2]).output
    refused = shell("tune", ratings, "--model", "draws", "--levels", "chances", "--events", 2)
    assert refused.exit_code == 2
    assert "--levels must be 2" in " ".join(refused.output.split())
