"""Verbs say what simple guesses reach, and what only-yes data need."""

import json

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.models.metrics import held_out


@pytest.fixture
def likes(visits, tmp_path):
    path = tmp_path / "likes.csv"
    lines = zip(visits.user_rows().tolist(), visits.item_rows().tolist(), strict=True)
    path.write_text("user,item,value\n" + "".join(f"u{u},i{i},1\n" for u, i in lines))
    return path


@pytest.fixture
def noise(tmp_path):
    """Ratings that nothing but the mean can say anything about."""
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.csv"
    rows = [f"{u},{i},{rng.integers(1, 6)}" for u in range(30) for i in range(20) if rng.random() < 0.5]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    return path


def test_fit_shows_guesses_and_says_when_they_win(shell, noise, tmp_path):
    model = tmp_path / "m.km"
    result = shell(
        "fit", noise, "--maximum", 5, "--learn-from", "ratings", "--user-reg", 0, "--test-size", 0.3, "-o", model
    )
    assert result.exit_code == 0, result.output
    assert "overall mean" in result.output
    assert "biases" in result.output
    assert "The model does not beat the overall mean: rmse" in result.output
    for more in ((), ("--folds", 2)):
        result = shell("evaluate", model, noise, *more)
        assert "overall" in result.output
        assert "biases" in result.output
    assert "does not beat" in result.output
    rows = json.loads(shell("evaluate", model, noise, "--folds", 2, "--format", "json").stdout)
    assert {"score", "mean", "sd", "fold 1", "fold 2", "item means"} <= set(rows[0])


def test_tune_shows_guesses_and_keeps_to_its_time(shell, noise):
    result = shell("tune", noise, "--maximum", 5, "--max-seconds", 1, "--folds", 2)
    assert result.exit_code == 0, result.output
    assert "does not beat" in result.output


@pytest.mark.long("more kinds of models")
def test_only_yes_needs_a_word_and_is_judged_by_lists(shell, likes, tmp_path):
    model = tmp_path / "m.km"
    refused = shell("fit", likes, "-o", model)
    assert refused.exit_code != 0
    assert "--implicit" in refused.output
    result = shell("fit", likes, "--implicit", "--point", "--events", 4, "--test-size", 0.3, "-o", model)
    assert result.exit_code == 0, result.output
    assert "ndcg" in result.output
    assert "most popular" in result.output
    assert "rmse" not in result.output
    found = km.load(model)
    assert (found.unobserved, found.learned_from_) == ("auto", "draws")
    assert found.psi_.shape[1] == 4
    assert shell("fit", likes, "--implicit", "--point", "-q", "-o", model.with_name("usual.km")).exit_code == 0
    usual = km.load(model.with_name("usual.km"))
    assert (usual.theta_.shape[1], usual.psi, usual.learned_from_) == (48, "soft", "draws")
    # Of those that the model was not trained on, and by lists without being told.
    rows = json.loads(shell("evaluate", model, likes, "-k", 5, "--format", "json").stdout)
    assert [row["score"] for row in rows][:3] == ["recall", "precision", "ndcg"]
    fresh = held_out(found.fitted_, km.read_ratings(likes))
    assert rows[0]["held out"] == pytest.approx(found.evaluate(fresh, ranking=True, k=5)["recall"])
    assert shell("evaluate", model, likes, "--errors", "-k", 5).exit_code == 2
    refused = shell("evaluate", model.with_name("usual.km"), likes)
    assert refused.exit_code == 1
    assert "The model was trained on all" in refused.output
    tuned = shell("tune", likes, "--implicit", "--events", 4, "--user-reg", 1, "--item-reg", 0, "--folds", 2)
    assert "ndcg" in tuned.output
    assert "most popular" in tuned.output
