import csv
import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

import kolmogorov as km
from kolmogorov.cli import main
from kolmogorov.cli.display import table
from kolmogorov.models.metrics import trained_on

VERBS = ["demo", "fit", "predict", "recommend", "explain", "rules", "report", "evaluate", "data", "doctor"]


def run(*arguments, stdin=None):
    return CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "zoo.csv"
    assert run("data", "export", "zoo", "-o", path).exit_code == 0
    return path


@pytest.fixture(scope="module")
def model(ratings):
    path = ratings.with_name("zoo.km")
    result = run(
        "fit", ratings, "--events", 5, "--learn-from", "ratings", "--user-reg", 0.3, "--test-size", 0.2, "-o", path
    )
    assert result.exit_code == 0, result.output
    assert "held out" in result.output
    assert "Model written" in result.output
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"kolmogorov {verb}" in result.output


def test_the_demo_shows_what_it_promises():
    result = run("demo")
    assert result.exit_code == 0
    words = " ".join(result.output.split())
    for promised in ("The 6 learned events", "⇒", "Why Austria", "What if a country", "General Assembly"):
        assert promised in words
    told, guessed = re.search(r"called right .*?: ([\d.]+)% .*? vote: ([\d.]+)%", words).groups()
    assert float(told) > float(guessed)


def test_fit_is_what_the_library_does(ratings, model, zoo_files):
    train, _ = km.read_ratings(ratings).split(0.2, random_state=0)
    for path, options in (
        (model, {"n_events": 5, "learn_from": "ratings", "user_reg": 0.3}),
        (zoo_files[1], {"n_events": 3}),
    ):
        found, expected = km.load(path), km.KolmogorovModel(**options, random_state=0).fit(train)
        assert found.learned_from_ == options.get("learn_from", "draws")
        assert (found.theta_ == expected.theta_).all()
        assert (found.psi_ == expected.psi_).all()


def test_predict_from_file_and_from_standard_input(model, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\ndolphin,milk\nnobody,eggs\n")
    result = run("predict", model, pairs, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert float(rows[0]["probability"]) == pytest.approx(km.load(model).predict("dolphin", "milk"))
    assert float(rows[1]["probability"]) == pytest.approx(km.load(model).predict("nobody", "eggs"))
    piped = run("predict", model, stdin="dolphin,milk\n")
    assert piped.exit_code == 0, piped.output
    assert next(csv.DictReader(io.StringIO(piped.stdout)))["probability"] == rows[0]["probability"]
    refused = run("predict", model, pairs, "--unknown", "error")
    assert refused.exit_code == 1
    assert "no data on user 'nobody'" in refused.output


def test_recommend_known_and_new_users(model, tmp_path):
    result = run("recommend", model, "dolphin", "--include-seen", "--top", 3, "--format", "json")
    rows = json.loads(result.stdout)
    assert len(rows) == 3
    assert rows[0]["probability"] >= rows[2]["probability"]
    new = tmp_path / "new.csv"
    new.write_text("user,item,rating\npokemon,feathers,1\npokemon,milk,0\n")
    result = run("recommend", model, "--ratings", new, "--top", 2, "--format", "csv")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert {row["user"] for row in rows} == {"pokemon"}
    assert not {row["item"] for row in rows} & {"feathers", "milk"}
    assert run("recommend", model).exit_code == 2
    assert run("recommend", model, "pokemon").exit_code == 1


def test_evaluate(model, ratings):
    scores = json.loads(run("evaluate", model, ratings, "--format", "json").stdout)
    loaded, table = km.load(model), km.read_ratings(ratings)
    trained = trained_on(loaded.fitted_, table)
    for column, part in (("held out", ~trained), ("training", trained)):
        expected = loaded.evaluate(table.subset(part))
        assert {row["score"]: row[column] for row in scores} == pytest.approx(expected)
    learned = ratings.with_name("learned.km")
    assert run("fit", ratings, "--point", "--events", 2, "-q", "-o", learned).exit_code == 0
    found = run("evaluate", learned, ratings)
    assert "held out" not in found.output
    assert "The model was trained on all of these ratings" in found.stderr


def test_data_and_doctor(ratings):
    listing = run("data", "list").output
    assert "ml-100k" in listing
    assert "1,515 of 101 users" in run("data", "describe", ratings).output
    doctor = run("doctor").output
    for word in ("numba", "BLAS", "usable processors", "kernel cache", "extra excel"):
        assert word in doctor


def test_fit_takes_named_datasets_and_layout_options(tmp_path):
    assert run("fit", "dataset:toy", "--events", 2, "-q", "-o", tmp_path / "toy.km").output == ""
    odd = tmp_path / "odd.txt"
    odd.write_text("9;ann;tea;4\n9;bob;tea;2\n")
    arguments = ("--user", 1, "--item", 2, "--value", 3, "--no-header", "--maximum", 5)
    result = run("fit", odd, *arguments, "--events", 2, "-o", tmp_path / "odd.km")
    assert result.exit_code == 0, result.output
    assert km.load(tmp_path / "odd.km").users_.ids.tolist() == ["ann", "bob"]


def test_bad_input_is_one_sentence_and_status_one_and_nothing_written(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("1,2,3\n1,3,abc\n")
    result = run("fit", path, "-o", tmp_path / "bad.km")
    assert result.exit_code == 1
    assert "line 2" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "bad.km").exists()


def test_other_mistakes(tmp_path, ratings, model):
    assert run("frobnicate").exit_code == 2
    no_folder = run("fit", ratings, "-o", tmp_path / "nowhere" / "m.km")
    assert no_folder.exit_code == 1
    assert "m.km cannot be written" in no_folder.output
    broken = tmp_path / "broken.km"
    broken.write_bytes(model.read_bytes()[:-9])
    for verb in (("predict", broken), ("evaluate", broken, ratings), ("recommend", broken, "x")):
        result = run(*verb, stdin="a,b\n")
        assert result.exit_code == 1
        assert "damaged" in result.output
    assert "Did you mean 'auto'" in run("fit", ratings, "--item-solver", "auot", "-o", tmp_path / "m.km").output


def test_titles_are_shown_and_never_interpreted(tmp_path):
    evil = tmp_path / "evil.csv"
    evil.write_text('user,item,rating\na,"[red]x[/red]\x1b[31m",1\nb,=1+1,0\na,=1+1,1\n')
    result = run("fit", evil, "--events", 2, "-o", tmp_path / "evil.km")
    assert result.exit_code == 0
    shown = run("recommend", tmp_path / "evil.km", "b").output
    assert "[red]x[/red]" in shown
    assert "\x1b" not in shown


def environment():
    return {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "200"}


def test_it_runs_as_a_process_in_a_plain_terminal(model):
    command = [sys.executable, "-m", "kolmogorov", "explain", model, "dove", "eggs"]
    result = subprocess.run(command, capture_output=True, env=environment(), check=True)
    assert b"eggs" in result.stdout
    assert result.stdout.isascii()


def test_a_closed_pipe_is_no_traceback(ratings):
    command = f"{sys.executable} -m kolmogorov data export zoo | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "user,item,rating"
    assert "Traceback" not in result.stderr


def test_outputs_that_cannot_be_written_are_one_sentence(model, ratings, tmp_path):
    nowhere = tmp_path / "no" / "x.csv"
    for arguments in (
        ("predict", model, ratings, "-o", nowhere),
        ("recommend", model, "bear", "--format", "csv", "-o", nowhere),
        ("fit", ratings, "--learn-from", "ratings", "--checkpoint", nowhere, "-o", tmp_path / "m.km"),
        ("fit", ratings, "-o", tmp_path),
    ):
        result = run(*arguments)
        assert result.exit_code in (1, 2), result.output
        assert "Traceback" not in result.output
        assert "part" not in result.output.replace("part of", "")


def test_pipes_and_links_survive_being_written_to(model, tmp_path):
    link, real = tmp_path / "link.km", tmp_path / "real.km"
    real.write_text("old")
    link.symlink_to(real)
    km.load(model).save(link)
    assert link.is_symlink()
    assert km.load(real).n_iter_ == km.load(model).n_iter_
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE)
    assert run("data", "export", "zoo", "-o", fifo).exit_code == 0
    assert reader.communicate()[0].startswith(b"user,item,rating")
    assert fifo.is_fifo()


def test_small_promises(ratings, tmp_path, model):
    assert run("fit", "dataset:zoo", "--maximum", 5, "-o", tmp_path / "m.km").exit_code == 2
    assert run("fit", ratings, "-o", "-").exit_code == 2
    assert run("data", "export", "zoo", "--format", "table").exit_code == 2
    big = tmp_path / "big.csv"
    big.write_text("user,item,rating\n1234567,7654321,1\n2,7654321,0\n1234567,3,1\n")
    assert run("fit", big, "--events", 2, "-q", "-o", tmp_path / "b.km").exit_code == 0
    assert "7654321" in run("recommend", tmp_path / "b.km", 1234567, "--include-seen").output
    unknown = run("recommend", tmp_path / "b.km", "9" * 30)
    assert unknown.exit_code == 1
    assert "Traceback" not in unknown.output


def test_rules_are_counted_on_what_the_model_has_not_seen(model, ratings):
    result = run("rules", model, "--data", ratings, "--top", 5, "--format", "json")
    assert result.exit_code == 0, result.output
    rules = json.loads(result.output)
    assert len(rules) == 5
    learned = km.load(model)
    fresh = km.read_ratings(ratings)
    known = set(zip(learned.fitted_.training.user_rows(), learned.fitted_.training.item_rows(), strict=True))
    held = fresh.subset(
        np.array([pair not in known for pair in zip(fresh.user_rows(), fresh.item_rows(), strict=True)])
    )
    chosen = learned.relations().rules(max_rules=5)
    expected = chosen.on(held).columns()
    assert [rule["antecedents"] for rule in rules] == expected["antecedents"]
    assert [rule["support"] for rule in rules] == expected["support"].tolist()
    # What a rule was chosen by is that of the training data.
    for name, column in (
        ("p_value", chosen.p_value),
        ("p_adjusted", chosen.p_adjusted),
        ("stated", chosen.stated),
        ("support_in_training", chosen.support),
        ("held_in_training", chosen.held),
    ):
        assert [rule[name] for rule in rules] == column.tolist()
    about = run("rules", model, "--data", ratings, "--about", "feathers", "--kind", "exclusion", "--format", "csv")
    for row in csv.DictReader(io.StringIO(about.output)):
        assert "feathers" in (row["antecedents"], row["consequents"].removeprefix("not "))
    table = run("rules", model, "--data", ratings)
    assert "held-out ratings" in table.output
    assert "training data" in run("rules", model).output
    every = learned.relations().rules()
    assert f"3 of {len(every)} supported" in " ".join(run("rules", model, "--top", 3).output.split())
    longer = run("rules", model, "--antecedents", 2, "--top", 100, "--format", "json")
    names = [rule["antecedents"] for rule in json.loads(longer.output)]
    assert any(" and " in name for name in names)
    short = run("rules", model, "--antecedents", 2, "--top", 100, "--basis", "--format", "json")
    assert {rule["antecedents"] for rule in json.loads(short.output)} <= set(names)
    assert len(json.loads(short.output)) < len(names)
    assert "--antecedents" in run("rules", model, "--all", "--antecedents", 2).output
    assert f"{len(every)} are supported" in run("rules", model, "--max-p", 0).output


def test_likes_outside_the_scale_are_refused(model, tmp_path):
    for verb in (["rules", model], ["report", model, "-o", tmp_path / "x.html"]):
        result = run(*verb, "--likes", 7)
        assert result.exit_code == 2
        assert "at most 1" in result.output


def test_numbers_that_json_lacks_become_null(model, ratings, tmp_path):
    path = tmp_path / "zeros.csv"
    path.write_text("".join(f"{line.rsplit(',', 1)[0]},0\n" for line in ratings.read_text().splitlines()[1:]))
    result = run("rules", model, "--data", path, "--on", "all", "--no-header", "--format", "json")
    assert result.exit_code == 0, result.output
    json.loads(result.output, parse_constant=lambda name: pytest.fail(name))


def test_explain_names_rules(model):
    result = run("explain", model, "dove", "eggs")
    _, rules = result.output.split("Rules that lead to it")
    (first, *_) = km.load(model).explain("dove", "eggs").reasons
    assert first.consequent == "eggs"
    for words in (first.antecedent, f"{first.held} of {first.support}", f"{first.base_rate:.0%}"):
        assert words in rules


def test_rules_refuse_data_that_was_all_trained_on(model, ratings, tmp_path):
    path = tmp_path / "all.km"
    assert run("fit", ratings, "--events", 3, "--learn-from", "ratings", "-o", path).exit_code == 0
    result = run("rules", path, "--data", ratings)
    assert result.exit_code == 1
    assert "trained on all 1,515 ratings" in result.output
    assert run("rules", path, "--data", ratings, "--on", "all").exit_code == 0


def test_a_report_is_written_whole_or_not_at_all(model, ratings, tmp_path):
    pytest.importorskip("jinja2", reason="reports need the extra 'report'")
    path = tmp_path / "zoo.html"
    result = run("report", model, "--data", ratings, "-o", path)
    assert result.exit_code == 0, result.output
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    for wrong, words in ((["--image", "8 by 8"], "height x width"), (["--image", "4x4"], "16 pixels")):
        result = run("report", model, "--data", ratings, "-o", tmp_path / "no.html", *wrong)
        assert result.exit_code != 0
        assert words in result.output
    assert not (tmp_path / "no.html").exists()
    assert run("report", model, "-o", tmp_path / "absent" / "x.html").exit_code == 1


@pytest.fixture(scope="module")
def sampled(ratings):
    path = ratings.with_name("bayes.km")
    few = ["--chains", 2, "--burn-in", 10, "--samples", 4, "--events", 4]
    result = run("fit", ratings, "--bayes", *few, "--test-size", 0.2, "-o", path)
    assert result.exit_code == 0, result.output
    assert "8 draws" in result.output
    assert "coverage_90" in result.output
    return path


def test_options_of_the_other_fit_are_refused(ratings, tmp_path):
    wrong = {
        ("--bayes", "--user-reg", 3): "--user-reg:",
        ("--point", "--chains", 7): "--chains:",
        ("--n-init", 2, "--samples", 7): "--samples:",
        ("--bayes", "--learn-from", "draws"): "--learn-from:",
        ("--bayes", "--implicit"): "--implicit:",
        ("--bayes", "--psi", "soft"): "--psi soft:",
        ("--psi", "soft", "--chains", 2): "--chains:",
        ("--user-reg", 1): "--user-reg:",
        ("--learn-from", "draws", "--item-reg", 1): "--item-reg:",
        ("--learn-from", "draws", "--prior", "uniform"): "--prior:",
        ("--learn-from", "draws", "--checkpoint", tmp_path / "c"): "--checkpoint:",
    }
    for options, named in wrong.items():
        result = run("fit", ratings, *options, "-o", tmp_path / "x.km")
        assert result.exit_code == 2
        assert f"Error: {named}" in result.output
    assert not (tmp_path / "x.km").exists()


def test_models_are_drawn_unless_one_is_asked_for(ratings, tmp_path):
    path = tmp_path / "m.km"
    few = ["--chains", 2, "--burn-in", 10, "--samples", 4, "--events", 3]
    for options, learned_from in (
        (few, None),
        (["--bayes", *few], None),
        (["--point"], "draws"),
        (["--n-init", 2], "draws"),
        (["--psi", "soft"], "draws"),
        (["--learn-from", "draws"], "draws"),
        (["--learn-from", "ratings"], "ratings"),
        (["--learn-from", "ratings", "--user-reg", 3], "ratings"),
        (["--learn-from", "ratings", "--item-reg", 0.1, "--prior", "uniform"], "ratings"),
    ):
        options = [*options, *([] if learned_from is None else ["--events", 3])]
        result = run("fit", ratings, *options, "-o", path)
        assert result.exit_code == 0, result.output
        learned = km.load(path)
        if learned_from is None:
            assert type(learned) is km.BayesianKolmogorovModel
        else:
            assert type(learned) is km.KolmogorovModel
            assert learned.learned_from_ == learned_from


def test_draws_predict_with_intervals(sampled, model, tmp_path):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("user,item\ndolphin,milk\ngull,eggs\n")
    result = run("predict", sampled, pairs, "--interval", 0.9)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.output)))
    learned = km.load(sampled)
    for row in rows:
        assert float(row["probability"]) == pytest.approx(learned.predict(row["user"], row["item"]), abs=1e-9)
        low, high = learned.predict_interval(row["user"], row["item"])
        assert (float(row["low"]), float(row["high"])) == (low, high)
    refused = run("predict", model, pairs, "--interval", 0.9)
    assert refused.exit_code == 2
    assert "--bayes" in refused.output


def test_draws_are_read_as_any_model(sampled, tmp_path):
    assert "dolphin" in run("explain", sampled, "dolphin", "milk").output
    assert run("recommend", sampled, "dolphin").exit_code == 0
    assert run("evaluate", sampled, "dataset:zoo").exit_code == 0
    page = str(tmp_path / "page.html")
    assert run("report", sampled, "--data", "dataset:zoo", "-o", page).exit_code == 0
    assert "draws of" in Path(page).read_text(encoding="utf-8")


def test_rules_of_draws(tmp_path):
    model = str(tmp_path / "b.km")
    chains = ("--events", "4", "--chains", "2", "--burn-in", "10", "--samples", "5")
    two = ("--psi", "binary", "--test-size", "0.2")
    assert run("fit", "dataset:zoo", "--bayes", *chains, *two, "-o", model).exit_code == 0
    shown = run("rules", model, "--all", "--data", "dataset:zoo", "--top", "5", "--format", "csv")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    header = next(k for k, line in enumerate(lines) if line.startswith("probability,"))
    assert 1 <= len(lines) - header - 1 <= 5
    assert all(float(line.split(",")[0]) >= 0.5 for line in lines[header + 1 :])
    assert "antecedent_at" not in lines[header]
    assert not any(">=" in line for line in lines[header + 1 :])
    about = run("rules", model, "--about", "milk", "--min-probability", "0.1", "--format", "csv")
    assert all("milk" in line for line in about.output.splitlines()[1:])
    assert "probability" in run("rules", model, "--format", "csv").output
    point = str(tmp_path / "p.km")
    run("fit", "dataset:zoo", "--point", "-o", point)
    assert run("rules", point, "--min-probability", "0.5").exit_code == 2


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """A file of ratings from 1 to 5."""
    path = tmp_path_factory.mktemp("stars") / "stars.csv"
    rng = np.random.default_rng(0)
    rated = np.clip(np.rint(5 * rng.dirichlet(np.ones(3), 40) @ rng.random((3, 12)) + rng.normal(size=(40, 12))), 1, 5)
    lines = [f"u{u},i{i},{rated[u, i]:g}" for u in range(40) for i in range(12) if rng.random() < 0.7]
    path.write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("more", [[], ["--psi", "binary"]])
def test_draws_with_levels(stars, tmp_path, more):
    model = tmp_path / "m.km"
    few = ["--chains", 2, "--burn-in", 10, "--samples", 4, "--test-size", 0.2, "--maximum", 5]
    fitted = run("fit", stars, "--bayes", *few, *more, "-o", model)
    assert fitted.exit_code == 0, fitted.output
    assert "log_score" in fitted.output
    assert (km.load(model).posterior_.levels.tolist() == [0.0, 1.0]) is (more == ["--psi", "binary"])
    shown = run("rules", model, "--data", stars, "--min-probability", 0.1, "--format", "csv")
    assert shown.exit_code == 0, shown.output
    assert "antecedent_at" in shown.output
    assert "u3" in run("explain", model, "u3", "i1").output
    for verb in (["evaluate", model, stars], ["recommend", model, "u3"]):
        assert run(*verb).exit_code == 0
    assert run("report", model, "--data", stars, "-o", tmp_path / "page.html").exit_code == 0


def test_sizes_of_chains_are_automatic_and_time_is_kept(stars, tmp_path):
    model = tmp_path / "m.km"
    result = run("fit", stars, "--bayes", "--max-seconds", 0.5, "--maximum", 5, "-o", model)
    assert result.exit_code == 0, result.output
    assert re.search(r"Stopped at 0.5 s: \d+ of \d+ |within 0.5 s\.", result.stderr)
    assert km.load(model).get_params()["n_events"] == "auto"
    assert run("fit", stars, "--bayes", "--max-seconds", -1, "-o", tmp_path / "x.km").exit_code != 0
    for wrong in (["--max-seconds", 3], ["--likelihood", "gaussian"]):
        refused = run("fit", stars, "--point", *wrong, "-o", tmp_path / "x.km")
        assert refused.exit_code == 2
        assert "--bayes" in refused.output


def test_nothing_asked_for_is_help_that_can_be_read():
    for arguments in ((), ("data",)):
        result = run(*arguments)
        assert "Usage:" in result.output
        assert "\\n" not in result.output
    said = run("fit", "--help").output
    assert "None" not in said
    assert said.index("--chains") < said.index("\nReading the file:\n") < said.index("--sep")
    for verb in ("rules", "report", "evaluate"):
        assert "\\b" not in run(verb, "--help").output


def test_several_users_are_recommended_to(model):
    lines = run("recommend", model, "dolphin", "gull", "--top", "2", "--format", "csv").output
    assert {line.split(",")[0] for line in lines.splitlines()[1:]} == {"dolphin", "gull"}


def test_a_misspelled_verb_and_a_missing_model_are_said_at_once(tmp_path, monkeypatch):
    refused = run("recomend", "m.km")
    assert refused.exit_code == 2
    assert "No such command 'recomend'. Did you mean 'recommend'?" in refused.output
    assert "Did you mean" not in run("xyzzy").output
    absent = tmp_path / "absent.km"
    monkeypatch.setattr("kolmogorov.models.loading.load", None)
    for verb in (["predict", absent], ["evaluate", absent, "x.csv"], ["recommend", absent, "x"]):
        refused = run(*verb)
        assert refused.exit_code == 1
        assert f"There is no file {absent}." in refused.output


def test_numbers_and_headers_are_not_broken_in_a_narrow_terminal():
    columns = {"item": ["a rather long title " * 3], "probability": [0.1234], "share of users": [1234.5678]}
    screen = Console(width=50, file=io.StringIO())
    screen.print(table("Narrow", columns))
    for words in ("probability", "0.1234", "1234.5678"):
        assert words in screen.file.getvalue()


def test_a_silent_verb_says_what_it_does(model, monkeypatch):
    class AtOnce(threading.Timer):
        def start(self):
            self.function(*self.args)

    monkeypatch.setattr(threading, "Timer", AtOnce)
    found = run("predict", model, stdin="dolphin,milk\ndolphin,eggs\n")
    assert "kolmogorov: Predicting 2 pairs ...\n" in found.stderr
    assert found.stdout.startswith("user,item")
