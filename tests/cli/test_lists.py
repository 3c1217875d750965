"""Only-yes data in the shell: lists, and what verbs say of them."""

import json

import numpy as np
import pytest

import kolmogorov as km


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    rng = np.random.default_rng(0)
    games = rng.random((150, 10)) < 0.3
    users, items = np.nonzero(np.hstack([games, games & (rng.random(games.shape) < 0.6)]))
    path = tmp_path_factory.mktemp("clicks") / "clicks.csv"
    rows = "".join(f"u{user},i{item}\n" for user, item in zip(users, items, strict=True))
    path.write_text(f"user,item\n{rows}")
    return path


@pytest.fixture(scope="module")
def saved(clicks):
    path = clicks.with_name("lists.km")
    train, _ = km.read_ratings(clicks, implicit=True).split(0.2, by="user", random_state=0)
    km.ListModel(3, random_state=0).fit(train).save(path)
    return path


def test_fit_only_yes_makes_lists(shell, clicks, tmp_path):
    path = tmp_path / "m.km"
    result = shell("fit", clicks, "--implicit", "--events", 3, "--test-size", 0.2, "-o", path)
    assert result.exit_code == 0, result.output
    assert "ndcg" in result.output
    assert "most popular" in result.output
    model = km.load(path)
    assert type(model) is km.ListModel
    assert model.n_events == 3


def test_something_of_another_model_makes_another_model(shell, clicks, tmp_path):
    path = tmp_path / "m.km"
    for option in (["--point"], ["--psi", "binary"], ["--learn-from", "ratings"]):
        assert shell("fit", clicks, "--implicit", "--events", 2, *option, "-q", "-o", path).exit_code == 0
        assert type(km.load(path)) is km.KolmogorovModel
    refused = shell("fit", clicks, "--implicit", "--chains", 2, "-o", path)
    assert refused.exit_code == 2
    assert "--chains" in refused.output


def test_verbs_work_on_lists(shell, clicks, saved, tmp_path):
    model = km.load(saved)
    listed = json.loads(shell("recommend", saved, "u3", "--top", 4, "--format", "json").stdout)
    expected = model.recommend("u3", n=4)
    assert [row["item"] for row in listed] == expected["item"].tolist()
    assert [row["score"] for row in listed] == pytest.approx(expected["score"].tolist())
    scores = json.loads(shell("evaluate", saved, clicks, "--implicit", "--format", "json").stdout)
    assert [row["score"] for row in scores][:3] == ["recall", "precision", "ndcg"]
    errors = json.loads(shell("evaluate", saved, clicks, "--implicit", "--errors", "--format", "json").stdout)
    assert "rmse" in [row["score"] for row in errors]
    whole = json.loads(shell("explain", saved, "u3", "i4", "--format", "json").stdout)
    assert sum(part["amount"] for part in whole["parts"]) == pytest.approx(model.predict("u3", "i4"))
    (tmp_path / "pairs.csv").write_text("user,item\nu3,i4\n")
    predicted = shell("predict", saved, tmp_path / "pairs.csv")
    names, row = (line.split(",") for line in predicted.stdout.split())
    assert names == ["user", "item", "score"]
    assert float(row[2]) == pytest.approx(model.predict("u3", "i4"))
    in_ratings = shell("predict", saved, tmp_path / "pairs.csv", "--output", "rating")
    assert in_ratings.exit_code == 2
    assert "--output rating" in " ".join(in_ratings.output.split())
    refused = shell("rules", saved)
    assert refused.exit_code == 1
    assert "holds a ListModel" in " ".join(refused.output.split())


def test_the_page_of_lists(shell, clicks, saved, tmp_path):
    page = tmp_path / "page.html"
    result = shell("report", saved, "--data", clicks, "--implicit", "-o", page)
    assert result.exit_code == 0, result.output
    assert '"links"' in page.read_text()
