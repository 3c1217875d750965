"""Attributes in the shell: files beside ratings, and what is said of them."""

import json

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km

SHORT = ("--chains", 1, "--burn-in", 10, "--samples", 5, "--events", 3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write ratings that depend on a genre and a job, and files of both."""
    folder, rng = tmp_path_factory.mktemp("attributes"), np.random.default_rng(0)
    genres, jobs = np.array(["Drama", "War"])[np.arange(20) % 2], np.array(["nurse", "cook"])[np.arange(30) % 2]
    users, items = np.nonzero(rng.random((30, 18)) < 0.6)
    ratings = np.where(genres[items] == "War", 5, 2) - (jobs[users] == "cook")
    pd.DataFrame({"user": users, "item": items, "rating": ratings}).to_csv(folder / "ratings.csv", index=False)
    pd.DataFrame({"id": range(20), "genres": genres, "title": [f"film {k}" for k in range(20)]}).to_csv(
        folder / "films.csv", index=False
    )
    pd.DataFrame({"user": range(30), "job": jobs}).to_csv(folder / "people.csv", index=False)
    return folder


def test_a_fit_says_what_it_understood(shell, files, tmp_path):
    out = tmp_path / "m.km"
    beside = ("--users", files / "people.csv", "--items", files / "films.csv")
    found = shell("fit", files / "ratings.csv", *beside, *SHORT, "-o", out)
    assert found.exit_code == 0, found.output
    for said in (
        "30 of 30 users",
        "18 of 18 items",
        "left out: 'title'",
        "2 items without ratings: placed by what is known of them",
    ):
        assert said in found.stderr
    model = km.load(out)
    new = pd.DataFrame({"item": [28, 29], "genres": ["Drama", "War"]})
    drama, war = model.update(items=new).predict([0] * 2, [28, 29], output="rating")
    assert war > drama + 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--implicit",), "--users: does not go with --implicit"),
        (("--learn-from", "ratings"), "attributes for draws, and there are none: as asked"),
    ],
)
def test_what_has_no_draws_has_no_use_for_attributes(shell, files, tmp_path, options, words):
    found = shell("fit", files / "ratings.csv", "--users", files / "people.csv", *options, "-o", tmp_path / "m.km")
    assert found.exit_code != 0
    assert words in found.output


def test_a_wide_table_keeps_the_columns_that_are_named(shell, tmp_path):
    table = "who,tea,rum,age\n" + "".join(f"u{k},{k % 2},{k % 3 == 0:d},{30 + k}\n" for k in range(12))
    (tmp_path / "survey.csv").write_text(table)
    found = shell(
        *("fit", tmp_path / "survey.csv", "--wide", "--keep", "tea,rum", *SHORT, "-o", tmp_path / "m.km"),
    )
    assert found.exit_code == 0, found.output
    assert km.load(tmp_path / "m.km").items_.ids.tolist() == ["rum", "tea"]


@pytest.fixture(scope="module", params=["--bayes", "--point"])
def model(request, shell, files):
    """Return a file with a model that knows attributes, and a folder of new ones."""
    out = files / f"m{request.param}.km"
    short = SHORT if request.param == "--bayes" else ("--events", 3, "--psi", "soft", "--n-init", 1)
    beside = ("--users", files / "people.csv", "--items", files / "films.csv")
    found = shell("fit", files / "ratings.csv", *beside, request.param, *short, "-q", "-o", out)
    assert found.exit_code == 0, found.output
    (files / "new_films.csv").write_text("item,genres\n101,War\n100,Drama\n")
    (files / "new_people.csv").write_text("user,job\n200,cook\n201,nurse\n")
    return out


def test_verbs_know_new_ones_by_files(shell, files, model):
    new = ("--users", files / "new_people.csv", "--items", files / "new_films.csv")
    found = shell("predict", model, "-", *new, stdin="200,101\n201,100\n5,101\n")
    assert found.exit_code == 0, found.output
    rows = [line.split(",") for line in found.stdout.splitlines()]
    ratings = [float(row[rows[0].index("rating")]) for row in rows[1:]]
    loaded = km.load(model).update(users=files / "new_people.csv", items=files / "new_films.csv")
    np.testing.assert_allclose(ratings, loaded.predict([200, 201, 5], [101, 100, 101], output="rating"), atol=1e-3)
    listed = shell("recommend", model, 5, "--items", files / "new_films.csv", "--top", 30, "--format", "csv")
    assert {"100", "101"} <= {line.split(",")[0] for line in listed.stdout.splitlines()}
    lists = shell("recommend", model, "--users", files / "new_people.csv", "--top", 2, "--format", "csv")
    assert [line.split(",")[0] for line in lists.stdout.splitlines()] == ["user", "200", "200", "201", "201"]
    assert shell("recommend", model).exit_code == 2


def test_explain_names_attributes(shell, files, model):
    new = (5, 101, "--items", files / "new_films.csv")
    told = shell("explain", model, *new)
    assert told.exit_code == 0, told.output
    assert "War (genres)" in told.stdout
    why = json.loads(shell("explain", model, *new, "--format", "json").stdout)
    parts = why["attributes"]
    total = parts["base"] + sum(part["amount"] for part in parts["parts"]) + parts["rest"]
    assert total == pytest.approx(why["probability"])


def test_an_update_takes_new_films_along(shell, files, model, tmp_path):
    (tmp_path / "more.csv").write_text("user,item,rating\n" + "".join(f"{u},101,5\n" for u in range(5)))
    out = tmp_path / "m.km"
    found = shell("update", model, tmp_path / "more.csv", "--items", files / "new_films.csv", "-o", out)
    assert found.exit_code == 0, found.output
    assert {"100", "101"} <= set(km.load(out).items_.ids.tolist())
    plain = shell("fit", files / "ratings.csv", "--learn-from", "ratings", "-q", "-o", tmp_path / "plain.km")
    assert plain.exit_code == 0
    refused = shell("predict", tmp_path / "plain.km", "-", "--items", files / "new_films.csv", stdin="1,101\n")
    assert "knows no attributes of items" in refused.output
