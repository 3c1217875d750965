"""Tables of words in the shell."""

import csv
import io

import pytest

import kolmogorov as km

ROWS = "".join(f"p{k},{'tea,train,cat' if k % 2 else 'coffee,car,dog'}\n" for k in range(40))
SHORT = ("--chains", 1, "--burn-in", 30, "--samples", 10, "--seed", 0)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    path.write_text(f"who,drink,travel,pet\n{ROWS}eve,tea,,cat\nfay,?,car,dog\n")
    return path


@pytest.fixture(scope="module")
def model(shell, survey):
    path = survey.with_name("survey.km")
    result = shell("fit", survey, "--nominal", "--wide", "--missing", "?", *SHORT, "-o", path)
    assert result.exit_code == 0, result.output
    assert "124 answers of 42 users to 3 items" in result.output
    return path


def test_missing_answers_are_predicted(shell, survey, model):
    found = list(csv.DictReader(io.StringIO(shell("predict", model, survey).stdout)))
    said = [(row["user"], row["item"], row["answer"]) for row in found]
    assert said == [("fay", "drink", "coffee"), ("eve", "travel", "train")]
    table = km.read_answers(survey, wide=True, missing="?")
    chances = km.load(model).predict_distribution(table, "travel")
    assert float(found[1]["probability"]) == chances[40].max() > 0.8


def test_what_does_not_go_with_it(shell, survey, model, zoo_files):
    for wrong in (["--bayes"], ["--maximum", 5], ["--levels", "2"], ["--test-size", 0.2], ["--only-yes"]):
        refused = shell("fit", survey, "--nominal", "--wide", *wrong, "-o", survey.with_name("x.km"))
        assert refused.exit_code == 2
        assert f"{wrong[0]}: does not go with --nominal" in refused.output
    for wrong in (["--interval", 0.9], ["--output", "rating"]):
        assert "does not go with a model of answers" in shell("predict", model, survey, *wrong).output
    for verb in (["recommend", model, "--user", "p1"], ["evaluate", model, survey], ["serve", model]):
        refused = shell(*verb)
        assert refused.exit_code == 1
        assert "holds a NominalModel" in refused.output
    for verb in (["explain", model, "--user", "p1", "--item", "pet"], ["rules", model], ["report", model]):
        refused = shell(*verb)
        assert refused.exit_code != 0
        assert "holds a NominalModel" in refused.output
