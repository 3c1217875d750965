"""What an item may be in an event, in the shell: fit, tune."""

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


@pytest.mark.parametrize("said", ["binary", "soft"])
def test_fit_takes_levels(shell, ratings, tmp_path, said):
    result = shell("fit", ratings, "--point", "--psi", said, "--events", 2, "--test-size", 0.2, "-o", tmp_path / "m.km")
    assert result.exit_code == 0, result.output
    found = km.load(tmp_path / "m.km")
    assert found.psi == said
    assert np.isin(found.psi_, (0.0, 1.0)).all() == (said == "binary")
    assert ((found.psi_ >= 0.0) & (found.psi_ <= 1.0)).all()
    assert "log_score" in result.output


def test_wrong_psi_is_named(shell, ratings, tmp_path):
    result = shell("fit", ratings, "--psi", "many", "-o", tmp_path / "m.km")
    assert result.exit_code == 2
    assert "'binary', 'soft'" in " ".join(result.output.split())


def test_tune_tries_levels(shell, ratings, tmp_path):
    options = ["--events", 2, "--user-reg", 1, "--item-reg", 0.1, "--folds", 2, "-o", tmp_path / "m.km"]
    tried = ["--psi", "binary", "--psi", "soft"]
    result = shell("tune", ratings, *tried, *options)
    assert result.exit_code == 0, result.output
    assert "soft" in result.output
    assert "psi" not in shell("tune", ratings, *options[:-2]).output
    refused = shell("tune", ratings, "--model", "draws", "--psi", "soft", "--events", 2)
    assert refused.exit_code == 2
    assert "--psi must be" in " ".join(refused.output.split())
