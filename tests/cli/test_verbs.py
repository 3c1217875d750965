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

from .conftest import FAST, SHORT, every_verb


def rows_of(result):
    return list(csv.DictReader(io.StringIO(result.stdout)))


def numbers(rows, name):
    return [float(row[name]) for row in rows]


def test_every_verb_has_help_with_an_example(shell, done):
    for names, _ in every_verb():
        said = done(*names, "--help").output
        assert f"kolmogorov {' '.join(names)}" in said
        assert "None" not in said
        assert "\\b" not in said
    assert "Usage:" in shell().output


def test_demo(done):
    words = " ".join(done("demo").output.split())
    for promised in ("The 6 learned events", "of everybody", "Why Austria", "What if a country", "General Assembly"):
        assert promised in words
    told, *guessed = map(float, re.search(r"rmse │ ([\d.]+) │ ([\d.]+) │ ([\d.]+) │ ([\d.]+)", words).groups())
    assert told < min(guessed)


# --- fit, update, tune ------------------------------------------------------------------------------------------------


OPTIONS = [
    (("--psi", "soft"), {"psi": "soft"}),
    (("--learn-from", "ratings", "--set", "user_reg=0.3"), {"learn_from": "ratings", "user_reg": 0.3}),
    (("--set", "max_iter=2", "--n-jobs", 1), {"max_iter": 2, "n_jobs": 1}),
]


@pytest.mark.parametrize(("options", "parameters"), OPTIONS)
def test_fit_learns_what_the_library_learns(done, zoo_files, tmp_path, options, parameters):
    fitted = done("fit", zoo_files[0], "--n-events", 3, *options, "-o", tmp_path / "m.km")
    # Without a held-out part nothing is said of errors.
    assert "--test-size 0.2" in fitted.stderr
    assert "rmse" not in fitted.stdout
    expected = km.KolmogorovModel(3, random_state=0, **parameters).fit(km.read_ratings(zoo_files[0]))
    assert (km.load(tmp_path / "m.km").theta_ == expected.theta_).all()


def test_draws_are_fitted_unless_one_model_is_asked_for(done, stars, drawn, tmp_path):
    train, _ = km.read_ratings(stars).split(0.2, random_state=0)
    expected = km.BayesianKolmogorovModel(3, n_chains=2, burn_in=10, n_samples=4, random_state=0).fit(train)
    assert (km.load(drawn).posterior_.theta == expected.posterior_.theta).all()


def test_held_out_errors_stand_beside_guesses(done, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "noise.csv"
    rows = [f"{u},{i},{rng.integers(1, 6)}" for u in range(30) for i in range(20) if rng.random() < 0.5]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    options = ("--maximum", 5, "--learn-from", "ratings", "--set", "user_reg=0", "--test-size", 0.3)
    fitted = done("fit", path, *options, "-o", tmp_path / "m.km").output
    for words in ("overall mean", "biases", "rmse_rating", "The model does not beat the overall mean: rmse"):
        assert words in fitted
    assert "does not beat" in done("tune", path, "--maximum", 5, "--max-seconds", 1, "--folds", 2).output


def test_lists_are_fitted_where_only_yes_is_recorded(shell, done, tmp_path):
    rng, path, clicks = np.random.default_rng(0), tmp_path / "m.km", tmp_path / "clicks.csv"
    games = rng.random((150, 10)) < 0.3
    users, items = np.nonzero(np.hstack([games, games & (rng.random(games.shape) < 0.6)]))
    clicks.write_text("user,item\n" + "".join(f"u{u},i{i}\n" for u, i in zip(users, items, strict=True)))
    fitted = done("fit", clicks, "--implicit", "--n-events", 3, "--test-size", 0.2, "-o", path).output
    assert "ndcg" in fitted
    assert "most popular" in fitted
    assert type(km.load(path)) is km.ListModel
    train, _ = km.read_ratings(clicks, implicit=True).split(0.2, by="user", random_state=0)
    expected = km.ListModel(3, random_state=0).fit(train).recommend("u3", n=4)
    listed = json.loads(done("recommend", path, "u3", "--n", 4, "--format", "json").stdout)
    assert [row["item"] for row in listed] == expected["item"].tolist()
    assert [row["score"] for row in listed] == pytest.approx(expected["score"].tolist())
    scores = json.loads(done("evaluate", path, clicks, "--format", "json").stdout)
    assert [row["score"] for row in scores][:3] == ["recall", "precision", "ndcg"]
    assert list(rows_of(done("predict", path, stdin="u3,i4\n"))[0]) == ["user", "item", "score"]
    assert "has no rules" in shell("rules", path).output
    done("fit", clicks, "--implicit", "--point", "--n-events", 2, "-q", "-o", path)
    assert km.load(path).unobserved == "auto"


def test_attributes_place_who_has_no_ratings(shell, done, tmp_path):
    rng = np.random.default_rng(0)
    genres, jobs = np.array(["Drama", "War"])[np.arange(20) % 2], np.array(["nurse", "cook"])[np.arange(30) % 2]
    users, items = np.nonzero(rng.random((30, 18)) < 0.6)
    ratings = np.where(genres[items] == "War", 5, 2) - (jobs[users] == "cook")
    pd.DataFrame({"user": users, "item": items, "rating": ratings}).to_csv(tmp_path / "ratings.csv", index=False)
    pd.DataFrame({"id": range(20), "genres": genres}).to_csv(tmp_path / "films.csv", index=False)
    pd.DataFrame({"user": range(30), "job": jobs}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "new.csv").write_text("item,genres\n101,War\n100,Drama\n")
    model, beside = tmp_path / "m.km", ("--users", tmp_path / "people.csv", "--items", tmp_path / "films.csv")
    fitted = done("fit", tmp_path / "ratings.csv", *beside, *SHORT, "-o", model).stderr
    for said in ("30 of 30 users", "18 of 18 items", "2 items without ratings: placed by what is known of them"):
        assert said in fitted
    new = ("--items", tmp_path / "new.csv")
    war, drama = numbers(rows_of(done("predict", model, "-", *new, stdin="5,101\n5,100\n")), "rating")
    assert war > drama + 1.0
    assert "War (genres)" in done("explain", model, 5, 101, *new).stdout
    listed = done("recommend", model, 5, *new, "--n", 30, "--format", "csv")
    assert {"100", "101"} <= {row["item"] for row in rows_of(listed)}
    done("update", model, *new, "-o", tmp_path / "u.km")
    assert {"100", "101"} <= set(km.load(tmp_path / "u.km").items_.ids.tolist())
    refused = shell("fit", tmp_path / "ratings.csv", *beside, "--learn-from", "ratings", "-o", tmp_path / "x.km")
    assert (refused.exit_code, "attributes" in refused.output) == (2, True)


def test_tune(done, stars, tmp_path):
    path, grid = tmp_path / "m.km", ("--try", "n_events=2", "--try", "user_reg=1,10", "--try", "psi=soft")
    tuned = done("tune", stars, *grid, "--folds", 2, "-o", path).output
    found = km.load(path)
    assert (found.learned_from_, found.psi, found.n_events) == ("ratings", "soft", 2)
    assert found.user_reg == float(re.search(r"│ +2 │ +(\d+) │ soft", tuned)[1])


def test_update(shell, done, copies, tmp_path):
    model, (new, pairs, none) = copies[1], (tmp_path / name for name in ("new.csv", "pairs.csv", "none.csv"))
    new.write_text("user,item,rating\nunicorn,hair,1\nunicorn,milk,1\nunicorn,feathers,0\nbear,feathers,1\n")
    before = km.load(model)
    training = before.fitted_.training
    said = done("update", model, new, "-o", model).stderr
    assert f"{len(training):,} ratings of 101 users × 15 items before" in said
    after, left = km.load(model), tmp_path / "left.km"
    assert len(after.users_) == len(before.users_) + 1
    user, item = training.users.ids[training.user_rows()[0]], training.items.ids[training.item_rows()[0]]
    pairs.write_text(f"user,item\n{user},{item}\n")
    done("update", model, "--remove", pairs, "--forget", "wolf", "-o", left)
    assert "wolf" not in km.load(left).users_.ids
    assert len(km.load(left).fitted_.training) < len(after.fitted_.training)
    none.write_text("user,item,rating\n")
    for options in ((none,), ("--remove", none)):
        assert "none.csv" in done("update", model, *options, "-o", left).stderr
        assert km.load(left).theta_.tobytes() == after.theta_.tobytes()
    assert shell("update", model, "-o", model).exit_code == 2


# --- what a model is asked --------------------------------------------------------------------------------------------


def test_predict(done, zoo_files, drawn, tmp_path):
    ratings, path = zoo_files
    model, frame = km.load(path), pd.read_csv(ratings).head(30)
    expected = pytest.approx(model.predict(frame["user"].tolist(), frame["item"].tolist(), output="probability"))
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    frame.to_parquet(tmp_path / "pairs.parquet")
    km.pack(frame, tmp_path / "pairs")
    frame.rename(columns={"user": "a", "item": "b"})[["rating", "b", "a"]].to_csv(tmp_path / "odd.csv", index=False)
    for name, more in (("pairs.csv", ()), ("pairs.parquet", ()), ("odd.csv", ("--user", "a", "--item", 1))):
        found = rows_of(done("predict", path, tmp_path / name, *more))
        # Ratings from 0 to 1 are probabilities, and are written once.
        assert list(found[0]) == ["user", "item", "probability"]
        assert numbers(found, "probability") == expected
    assert len(rows_of(done("predict", path, tmp_path / "pairs"))) == 30
    done("predict", path, "-o", tmp_path / "out.csv", stdin="nobody,milk\ndove,milk\n")
    written = next(csv.DictReader((tmp_path / "out.csv").open()))
    assert float(written["probability"]) == pytest.approx(model.predict("nobody", "milk", unknown="ignore"))
    (row,) = rows_of(done("predict", drawn, "--interval", 0.9, stdin="u4,i1\n"))
    assert (float(row["low"]), float(row["high"])) == km.load(drawn).predict_interval("u4", "i1")


@pytest.mark.parametrize("kind", ["one", "draws"])
@pytest.mark.parametrize("layout", ["ids", "no ids", "standard input", "list"])
def test_predict_completes_a_table_of_new_rows(done, stars, drawn, tmp_path, kind, layout):
    path, given, table = (
        tmp_path / "m.km",
        np.array([[5, np.nan, 1], [np.nan, 2, np.nan], [np.nan] * 3]),
        tmp_path / "t",
    )
    if kind == "one":
        done("fit", stars, *FAST, "--maximum", 5, "-q", "-o", path)
    model = km.load(path if kind == "one" else drawn)
    items = model.items_.ids.tolist()
    whole = np.full((3, len(items)), np.nan)
    whole[:, [items.index(name) for name in ("i3", "i1", "i7")]] = given
    expected = model.predict(whole)
    where = path if kind == "one" else drawn
    if layout == "list":
        table.write_text("user,item,rating\nann,i3,5\nann,i7,1\nbob,i1,2\n")
        rows = rows_of(done("predict", where, table))
        found = {(row["user"], row["item"]): float(row["rating"]) for row in rows}
        wanted = {(name, item): expected[u, i] for u, name in enumerate(("ann", "bob")) for i, item in enumerate(items)}
        for answered in (("ann", "i3"), ("ann", "i7"), ("bob", "i1")):
            del wanted[answered]
        assert found == pytest.approx(wanted)
        return
    frame = pd.DataFrame(given, columns=["i3", "i1", "i7"])
    if layout == "ids":
        frame.insert(0, "person", ["u1", "new", "1"])
        frame["age"] = [30, 40, 50]
    frame.to_csv(table, index=False)
    told = done("predict", where, *([] if layout == "standard input" else [table]), stdin=table.read_text())
    completed = pd.read_csv(io.StringIO(told.stdout))
    assert sorted(completed.columns) == sorted({*frame.columns, *items})
    assert completed[items].to_numpy() == pytest.approx(np.where(np.isnan(whole), expected, whole))
    if layout == "ids":
        assert completed[["person", "age"]].astype(str).equals(frame[["person", "age"]].astype(str))


def test_a_table_whose_columns_had_scales_of_their_own_is_not_completed(shell, done, tmp_path):
    table = tmp_path / "ages.csv"
    table.write_text("who,tea,price\n" + "".join(f"u{k},{k % 5},{10 * (k % 7)}\n" for k in range(40)))
    done("fit", table, "--wide", "--set", "scale=column", *FAST, "-q", "-o", tmp_path / "m.km")
    assert "KolmogorovImputer" in shell("predict", tmp_path / "m.km", table).output


def test_recommend(done, zoo_files, tmp_path):
    path = zoo_files[1]
    listed = json.loads(done("recommend", path, "dolphin", "--include-seen", "--n", 3, "--format", "json").stdout)
    expected = km.load(path).recommend("dolphin", 3, exclude_seen=False)
    assert [row["item"] for row in listed] == expected["item"].tolist()
    several = rows_of(done("recommend", path, "dolphin", "gull", "--n", 2, "--format", "csv"))
    assert {row["user"] for row in several} == {"dolphin", "gull"}
    guests = tmp_path / "guests.csv"
    guests.write_text("user,item,rating\npokemon,feathers,yes\npokemon,milk,no\npokemon,warp,no\n")
    found = done("recommend", path, "--ratings", guests, "--n", 2, "--format", "csv")
    assert {row["user"] for row in rows_of(found)} == {"pokemon"}
    assert not {row["item"] for row in rows_of(found)} & {"feathers", "milk"}
    assert "1 unknown item ('warp')" in found.stderr


def test_explain(done, zoo_files, drawn):
    for path, user, item in ((zoo_files[1], "dove", "eggs"), (drawn, "u4", "i1")):
        why = km.load(path).explain(user, item)
        assert done("explain", path, user, item).stdout == f"{why}\n"
        whole = json.loads(done("explain", path, user, item, "--format", "json").stdout)
        assert [part["amount"] for part in whole["parts"]] == list(why.columns()["amount"])
        assert whole["probability"] == why.probability
        listed = rows_of(done("explain", path, user, item, "--format", "csv"))
        assert [row["part"] for row in listed] == [part["part"] for part in whole["parts"]]


def test_rules(done, zoo_files):
    ratings, path = zoo_files
    model = km.load(path)
    chosen = model.rules()[:5]
    fresh = chosen.on(held_out(model.fitted_, km.read_ratings(ratings)))
    found = json.loads(done("rules", path, "--data", ratings, "--n", 5, "--format", "json").stdout)
    assert [rule["antecedents"] for rule in found] == chosen.columns()["antecedents"]
    assert [rule["held"] for rule in found] == chosen.held.tolist()
    assert [rule["support_held_out"] for rule in found] == fresh.support.tolist()
    said = done("rules", path, "--n", 3).stdout
    assert all(sentence in said for sentence in chosen[:3].sentences())
    about = rows_of(done("rules", path, "--about", "feathers", "--format", "csv"))
    assert all("feathers" in row["antecedents"] + row["consequents"] for row in about)
    longer = rows_of(done("rules", path, "--max-antecedents", 2, "--n", 100, "--format", "csv"))
    short = rows_of(done("rules", path, "--max-antecedents", 2, "--n", 100, "--basis", "--format", "csv"))
    assert 0 < len(short) < len(longer)


def test_evaluate(shell, done, zoo_files, tmp_path):
    ratings, path = zoo_files
    scores = json.loads(done("evaluate", path, ratings, "--format", "json").stdout)
    model = km.load(path)
    expected = model.evaluate(held_out(model.fitted_, km.read_ratings(ratings)))
    # Of yes and no, errors in rating units are the same.
    assert {row["score"]: row["held out"] for row in scores} == pytest.approx(
        {name: score for name, score in expected.items() if not name.endswith("_rating")}
    )
    done("fit", ratings, *FAST, "-q", "-o", tmp_path / "all.km")
    for words in (("evaluate", tmp_path / "all.km", ratings), ("rules", tmp_path / "all.km", "--data", ratings)):
        refused = shell(*words)
        assert (refused.exit_code, "was trained on all" in refused.output) == (1, True)


def test_report(done, zoo_files, tmp_path):
    pytest.importorskip("jinja2", reason="reports need the extra 'report'")
    ratings, path = zoo_files
    page = tmp_path / "zoo.html"
    done("report", path, "--data", ratings, "--nouns", "animal", "trait", "-o", page)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "animals" in page.read_text(encoding="utf-8")


def test_data_and_doctor(done, zoo_files, tmp_path):
    assert "ml-100k" in done("data", "list").output
    assert "1,515 of 101 users" in done("data", "describe", zoo_files[0]).output
    table = tmp_path / "table"
    done("data", "pack", zoo_files[0], "-o", table)
    assert len(km.Observations.open(table)) == 1515
    assert done("fit", table, *SHORT, "-q", "-o", tmp_path / "m.km").output == ""
    doctor = done("doctor").output
    for word in ("numba", "usable processors", "kernel cache", "GPU"):
        assert word in doctor
