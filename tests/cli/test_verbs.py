"""What each verb does is what the library does."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from kolmogorov.models.metrics import held_out

from .conftest import SHORT, every_verb


def rows_of(result):
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_every_verb_has_help_with_an_example(shell):
    for names, _ in every_verb():
        said = shell(*names, "--help")
        assert said.exit_code == 0
        assert f"kolmogorov {' '.join(names)}" in said.output
        assert "None" not in said.output
        assert "\\b" not in said.output
    for arguments in ((), ("data",)):
        assert "Usage:" in shell(*arguments).output


def test_demo(shell):
    result = shell("demo")
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    for promised in ("The 6 learned events", "of everybody", "Why Austria", "What if a country", "General Assembly"):
        assert promised in words
    told, guessed = re.search(r"called right .*?: ([\d.]+)% .*? vote: ([\d.]+)%", words).groups()
    assert float(told) > float(guessed)


# --- fit --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (("--point",), {}),
        (("--psi", "soft"), {"psi": "soft"}),
        (("--learn-from", "ratings", "--set", "user_reg=0.3"), {"learn_from": "ratings", "user_reg": 0.3}),
        (("--set", "max_iter=2", "--jobs", 1), {"max_iter": 2, "n_jobs": 1}),
    ],
)
def test_fit_learns_what_the_library_learns(shell, zoo_files, tmp_path, options, parameters):
    path = tmp_path / "m.km"
    fitted = shell("fit", zoo_files[0], "--events", 3, *options, "-o", path)
    assert fitted.exit_code == 0, fitted.output
    # Without a held-out part nothing is said of errors.
    assert "--test-size 0.2" in fitted.stderr
    assert "rmse" not in fitted.stdout
    found = km.load(path)
    expected = km.KolmogorovModel(3, random_state=0, **parameters).fit(km.read_ratings(zoo_files[0]))
    assert (found.theta_ == expected.theta_).all()
    assert (found.psi_ == expected.psi_).all()


def test_draws_are_fitted_unless_one_model_is_asked_for(shell, stars, drawn, tmp_path):
    train, _ = km.read_ratings(stars).split(0.2, random_state=0)
    expected = km.BayesianKolmogorovModel(3, n_chains=2, burn_in=10, n_samples=4, random_state=0).fit(train)
    assert (km.load(drawn).posterior_.theta == expected.posterior_.theta).all()


def test_held_out_errors_stand_beside_guesses(shell, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "noise.csv"
    rows = [f"{u},{i},{rng.integers(1, 6)}" for u in range(30) for i in range(20) if rng.random() < 0.5]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    options = ("--maximum", 5, "--learn-from", "ratings", "--set", "user_reg=0", "--test-size", 0.3)
    fitted = shell("fit", path, *options, "-o", tmp_path / "m.km")
    assert fitted.exit_code == 0, fitted.output
    for words in ("overall mean", "biases", "The model does not beat the overall mean: rmse"):
        assert words in fitted.output
    tuned = shell("tune", path, "--maximum", 5, "--max-seconds", 1, "--folds", 2)
    assert "does not beat" in tuned.output


def test_lists_are_fitted_where_only_yes_is_recorded(shell, clicks, tmp_path):
    path = tmp_path / "m.km"
    fitted = shell("fit", clicks, "--implicit", "--events", 3, "--test-size", 0.2, "-o", path)
    assert fitted.exit_code == 0, fitted.output
    assert "ndcg" in fitted.output
    assert "most popular" in fitted.output
    assert type(km.load(path)) is km.ListModel
    train, _ = km.read_ratings(clicks, implicit=True).split(0.2, by="user", random_state=0)
    expected = km.ListModel(3, random_state=0).fit(train).recommend("u3", n=4)
    listed = json.loads(shell("recommend", path, "u3", "--n", 4, "--format", "json").stdout)
    assert [row["item"] for row in listed] == expected["item"].tolist()
    assert [row["score"] for row in listed] == pytest.approx(expected["score"].tolist())
    scores = json.loads(shell("evaluate", path, clicks, "--format", "json").stdout)
    assert [row["score"] for row in scores][:3] == ["recall", "precision", "ndcg"]
    assert list(rows_of(shell("predict", path, stdin="u3,i4\n"))[0]) == ["user", "item", "score"]
    assert "has no rules" in " ".join(shell("rules", path).output.split())
    assert shell("fit", clicks, "--implicit", "--point", "--events", 2, "-q", "-o", path).exit_code == 0
    assert km.load(path).unobserved == "auto"


def test_attributes_place_who_has_no_ratings(shell, tmp_path):
    rng = np.random.default_rng(0)
    genres, jobs = np.array(["Drama", "War"])[np.arange(20) % 2], np.array(["nurse", "cook"])[np.arange(30) % 2]
    users, items = np.nonzero(rng.random((30, 18)) < 0.6)
    ratings = np.where(genres[items] == "War", 5, 2) - (jobs[users] == "cook")
    pd.DataFrame({"user": users, "item": items, "rating": ratings}).to_csv(tmp_path / "ratings.csv", index=False)
    pd.DataFrame({"id": range(20), "genres": genres}).to_csv(tmp_path / "films.csv", index=False)
    pd.DataFrame({"user": range(30), "job": jobs}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "new.csv").write_text("item,genres\n101,War\n100,Drama\n")
    model, beside = tmp_path / "m.km", ("--users", tmp_path / "people.csv", "--items", tmp_path / "films.csv")
    fitted = shell("fit", tmp_path / "ratings.csv", *beside, *SHORT, "-o", model)
    assert fitted.exit_code == 0, fitted.output
    for said in ("30 of 30 users", "18 of 18 items", "2 items without ratings: placed by what is known of them"):
        assert said in fitted.stderr
    new = ("--items", tmp_path / "new.csv")
    war, drama = rows_of(shell("predict", model, "-", *new, stdin="5,101\n5,100\n"))
    assert float(war["rating"]) > float(drama["rating"]) + 1.0
    assert "War (genres)" in shell("explain", model, 5, 101, *new).stdout
    listed = shell("recommend", model, 5, *new, "--n", 30, "--format", "csv")
    assert {"100", "101"} <= {row["item"] for row in rows_of(listed)}
    assert shell("update", model, *new, "-o", tmp_path / "u.km").exit_code == 0
    assert {"100", "101"} <= set(km.load(tmp_path / "u.km").items_.ids.tolist())
    refused = shell("fit", tmp_path / "ratings.csv", *beside, "--learn-from", "ratings", "-o", tmp_path / "x.km")
    assert refused.exit_code != 0
    assert "attributes" in refused.output


# --- what a model is asked --------------------------------------------------------------------------------------------


def test_predict(shell, zoo_files, drawn, tmp_path):
    ratings, path = zoo_files
    model, frame = km.load(path), pd.read_csv(ratings).head(30)
    expected = pytest.approx(model.predict(frame["user"].tolist(), frame["item"].tolist(), output="probability"))
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    frame.to_parquet(tmp_path / "pairs.parquet")
    km.pack(frame, tmp_path / "pairs")
    frame.rename(columns={"user": "a", "item": "b"})[["rating", "b", "a"]].to_csv(tmp_path / "odd.csv", index=False)
    for name, more in (("pairs.csv", ()), ("pairs.parquet", ()), ("odd.csv", ("--user", "a", "--item", 1))):
        found = rows_of(shell("predict", path, tmp_path / name, *more))
        # Ratings from 0 to 1 are probabilities, and are written once.
        assert list(found[0]) == ["user", "item", "probability"]
        assert [float(row["probability"]) for row in found] == expected
    assert len(rows_of(shell("predict", path, tmp_path / "pairs"))) == 30
    out = tmp_path / "out.csv"
    assert shell("predict", path, "-o", out, stdin="nobody,milk\n").exit_code == 0
    assert float(next(csv.DictReader(out.open()))["probability"]) == pytest.approx(
        model.predict("nobody", "milk", unknown="ignore")
    )
    (row,) = rows_of(shell("predict", drawn, "--interval", 0.9, stdin="u4,i1\n"))
    assert (float(row["low"]), float(row["high"])) == km.load(drawn).predict_interval("u4", "i1")
    refused = shell("predict", path, "--interval", 0.9, stdin="dolphin,milk\n")
    assert refused.exit_code == 2
    assert "--bayes" in refused.output


def test_recommend(shell, zoo_files, tmp_path):
    path = zoo_files[1]
    listed = json.loads(shell("recommend", path, "dolphin", "--include-seen", "--n", 3, "--format", "json").stdout)
    expected = km.load(path).recommend("dolphin", 3, exclude_seen=False)
    assert [row["item"] for row in listed] == expected["item"].tolist()
    several = rows_of(shell("recommend", path, "dolphin", "gull", "--n", 2, "--format", "csv"))
    assert {row["user"] for row in several} == {"dolphin", "gull"}
    guests = tmp_path / "guests.csv"
    guests.write_text("user,item,rating\npokemon,feathers,yes\npokemon,milk,no\npokemon,warp,no\n")
    found = shell("recommend", path, "--ratings", guests, "--n", 2, "--format", "csv")
    assert {row["user"] for row in rows_of(found)} == {"pokemon"}
    assert not {row["item"] for row in rows_of(found)} & {"feathers", "milk"}
    assert "1 unknown item ('warp')" in found.stderr
    assert shell("recommend", path).exit_code == 2


def test_explain(shell, zoo_files, drawn):
    for path, user, item in ((zoo_files[1], "dove", "eggs"), (drawn, "u4", "i1")):
        why = km.load(path).explain(user, item)
        assert shell("explain", path, user, item).stdout == f"{why}\n"
        whole = json.loads(shell("explain", path, user, item, "--format", "json").stdout)
        assert [part["amount"] for part in whole["parts"]] == list(why.columns()["amount"])
        assert whole["probability"] == why.probability
        listed = rows_of(shell("explain", path, user, item, "--format", "csv"))
        assert [row["part"] for row in listed] == [part["part"] for part in whole["parts"]]


def test_rules(shell, zoo_files):
    ratings, path = zoo_files
    model = km.load(path)
    chosen = model.rules()[:5]
    fresh = chosen.on(held_out(model.fitted_, km.read_ratings(ratings)))
    found = json.loads(shell("rules", path, "--data", ratings, "--n", 5, "--format", "json").stdout)
    assert [rule["antecedents"] for rule in found] == chosen.columns()["antecedents"]
    assert [rule["held"] for rule in found] == chosen.held.tolist()
    assert [rule["support_held_out"] for rule in found] == fresh.support.tolist()
    said = shell("rules", path, "--n", 3).stdout
    assert all(sentence in said.replace("\n", " ") for sentence in chosen[:3].sentences())
    about = rows_of(shell("rules", path, "--about", "feathers", "--format", "csv"))
    assert all("feathers" in " ".join((row["antecedents"], row["consequents"])) for row in about)
    longer = rows_of(shell("rules", path, "--antecedents", 2, "--n", 100, "--format", "csv"))
    short = rows_of(shell("rules", path, "--antecedents", 2, "--n", 100, "--basis", "--format", "csv"))
    assert 0 < len(short) < len(longer)


def test_evaluate(shell, zoo_files, tmp_path):
    ratings, path = zoo_files
    scores = json.loads(shell("evaluate", path, ratings, "--format", "json").stdout)
    model = km.load(path)
    expected = model.evaluate(held_out(model.fitted_, km.read_ratings(ratings)))
    assert {row["score"]: row["held out"] for row in scores} == pytest.approx(expected)
    trained = tmp_path / "all.km"
    km.KolmogorovModel(2, random_state=0, learn_from="ratings").fit(km.read_ratings(ratings)).save(trained)
    for verb in (("evaluate", trained, ratings), ("rules", trained, "--data", ratings)):
        refused = shell(*verb)
        assert refused.exit_code == 1
        assert "was trained on all" in refused.output


def test_report(shell, zoo_files, tmp_path, monkeypatch):
    pytest.importorskip("jinja2", reason="reports need the extra 'report'")
    ratings, path = zoo_files
    page, opened = tmp_path / "zoo.html", []
    monkeypatch.setattr("webbrowser.open", opened.append)
    written = shell("report", path, "--data", ratings, "--nouns", "animal,trait", "--open", "-o", page)
    assert written.exit_code == 0, written.output
    assert opened == [page.resolve().as_uri()]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    for wrong, words in (("8 by 8", "height x width"), ("4x4", "16 pixels")):
        refused = shell("report", path, "--data", ratings, "-o", tmp_path / "no.html", "--image", wrong)
        assert refused.exit_code != 0
        assert words in refused.output
    assert not (tmp_path / "no.html").exists()


def test_tune(shell, stars, tmp_path):
    path = tmp_path / "m.km"
    tuned = shell("tune", stars, "--events", "2,3", "--psi", "soft", "--folds", 2, "-o", path)
    assert tuned.exit_code == 0, tuned.output
    found = km.load(path)
    assert (found.learned_from_, found.psi) == ("draws", "soft")
    assert found.n_events == int(re.search(r"│ (\d) +│ soft", tuned.output)[1])
    ridges = shell("tune", stars, "--events", "2", "--try", "user_reg=1,10", "--folds", 2, "-o", path)
    assert ridges.exit_code == 0, ridges.output
    assert km.load(path).learned_from_ == "ratings"
    assert km.load(path).user_reg in (1.0, 10.0)


def test_update(shell, copies, tmp_path):
    model = copies[1]
    new, pairs, none = tmp_path / "new.csv", tmp_path / "pairs.csv", tmp_path / "none.csv"
    new.write_text("user,item,rating\nunicorn,hair,1\nunicorn,milk,1\nunicorn,feathers,0\nbear,feathers,1\n")
    before = km.load(model)
    training = before.fitted_.training
    done = shell("update", model, new, "-o", model)
    assert done.exit_code == 0, done.output
    assert f"{len(training):,} ratings of 101 users × 15 items before" in done.stderr
    after = km.load(model)
    assert len(after.users_) == len(before.users_) + 1
    user, item = training.users.ids[training.user_rows()[0]], training.items.ids[training.item_rows()[0]]
    pairs.write_text(f"user,item\n{user},{item}\n")
    left = tmp_path / "left.km"
    assert shell("update", model, "--remove", pairs, "--forget", "wolf", "-o", left).exit_code == 0
    assert "wolf" not in km.load(left).users_.ids
    assert len(km.load(left).fitted_.training) < len(after.fitted_.training)
    none.write_text("user,item,rating\n")
    for options in ((none,), ("--remove", none)):
        same = shell("update", model, *options, "-o", left)
        assert same.exit_code == 0, same.output
        assert "none.csv" in same.stderr
        assert km.load(left).theta_.tobytes() == after.theta_.tobytes()
    assert shell("update", model, "-o", model).exit_code == 2


def test_data_and_doctor(shell, zoo_files, tmp_path):
    assert "ml-100k" in shell("data", "list").output
    assert "1,515 of 101 users" in shell("data", "describe", zoo_files[0]).output
    table = tmp_path / "table"
    assert shell("data", "pack", zoo_files[0], "-o", table).exit_code == 0
    assert len(km.Observations.open(table)) == 1515
    assert shell("fit", table, *SHORT, "-q", "-o", tmp_path / "m.km").output == ""
    doctor = shell("doctor").output
    for word in ("numba", "BLAS", "usable processors", "kernel cache", "extras"):
        assert word in doctor


def test_words_marks_and_titles_go_all_the_way(shell, tmp_path):
    votes, titles, model = tmp_path / "votes.csv", tmp_path / "motions.txt", tmp_path / "v.km"
    said = ("yes", "no", "abstain", "absent")
    votes.write_text(
        "voter,motion,vote\n"
        + "".join(f"v{k},m{m},{said[(k * m + k // 3) % 4]}\n" for k in range(12) for m in range(6))
    )
    titles.write_text("".join(f"m{m}|Motion number {m}|x\n" for m in range(6)))
    meaning = ("--map", "yes=1,abstain=0.5,no=0", "--missing", "absent", "--item", "motion")
    fitted = shell("fit", votes, *meaning, "--titles", titles, "--point", "--events", 2, "-o", model)
    assert fitted.exit_code == 0, fitted.output
    assert "Motion number" in fitted.output
    assert "Motion number" in shell("recommend", model, "v0", "--include-seen").output
    for item in ("m2", "Motion number 2"):
        assert "v0 is expected to give Motion number 2 a rating of 0." in shell("explain", model, "v0", item).output
    # The file is read as the model's was.
    assert "was trained on all" in shell("evaluate", model, votes).output
