"""One model in the shell: what explains a prediction sums to it, settings share draws, older models are refused."""

import csv
import io
import json
import re

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.cli.process import INTERRUPTED
from kolmogorov.descent.distillation import CompletionEngine
from kolmogorov.draws.sampler import Sampler


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """A file of ratings from 1 to 5, given by three kinds of people."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("stars") / "stars.csv"
    liked = np.arange(30)[:, None] % 3 == np.arange(12)[None, :] % 3
    rated = np.clip(np.rint(2.5 + 2.0 * liked + 0.7 * rng.normal(size=liked.shape)), 1, 5)
    lines = [f"u{u},i{i},{rated[u, i]:g}" for u in range(30) for i in range(12) if rng.random() < 0.8]
    path.write_text("user,item,rating\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def models(shell, stars, zoo_files):
    """Models of every kind, and a user and an item of each."""
    few = ["--chains", 2, "--burn-in", 10, "--samples", 4]
    found = {"yes and no": (zoo_files[1], "dolphin", "milk")}
    for name, data, options, pair in (
        ("chances", stars, ["--psi", "soft"], ("u4", "i1")),
        ("draws", stars, ["--bayes", *few], ("u4", "i1")),
    ):
        path = stars.with_name(f"{name}.km")
        fitted = shell("fit", data, *options, "--events", 3, "-q", "-o", path)
        assert fitted.exit_code == 0, fitted.output
        found[name] = (path, *pair)
    return found


KINDS = ("yes and no", "chances", "draws")


def explained(shell, model, user, item, *more):
    result = shell("explain", model, user, item, *more)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_is_that_of_the_model_in_every_form(shell, models, kind):
    path, user, item = models[kind]
    why = km.load(path).explain(user, item)
    rows = json.loads(explained(shell, path, user, item, "--format", "json"))["parts"]
    for name, column in why.columns().items():
        if name in ("part", "amount"):
            assert [row[name] for row in rows] == list(column)
    listed = list(csv.DictReader(io.StringIO(explained(shell, path, user, item, "--format", "csv"))))
    assert [(each["part"], float(each["amount"])) for each in listed] == [(row["part"], row["amount"]) for row in rows]
    sentence, table = explained(shell, path, user, item).split("\n", 1)
    assert sentence == why.sentence
    # What is not told is less than a thousandth of the scale, and every step is rounded.
    amounts = re.findall(r"│ +([+-]?\d+\.\d+) +│$", table.split("Rules that lead to it")[0], re.MULTILINE)
    reached = why.probability if why.binary else why.rating
    assert sum(map(float, amounts)) == pytest.approx(reached, abs=0.006 * (1 + len(amounts)))


# --- Ctrl-C -------------------------------------------------------------------------------------------------------


@pytest.fixture
def interrupted(monkeypatch):
    """Let Ctrl-C come in the midst of something that is done again and again."""

    def at(kind, name, count):
        right, calls = getattr(kind, name), []

        def once(self, *given):
            calls.append(given)
            if len(calls) == count:
                raise KeyboardInterrupt
            return right(self, *given)

        monkeypatch.setattr(kind, name, once)

    return at


@pytest.mark.parametrize(
    ("kind", "name", "count", "words"),
    [
        (Sampler, "_take", 80, "Interrupted while the table was completed; what was done so far is used."),
        (CompletionEngine, "sweep", 2, "Interrupted"),
    ],
    ids=["chains", "descent"],
)
def test_what_there_is_at_an_interrupt_is_kept(shell, stars, tmp_path, interrupted, kind, name, count, words):
    path = tmp_path / "m.km"
    interrupted(kind, name, count)
    result = shell("fit", stars, "--point", "--events", 3, "--max-iter", 5, "--tol", 0, "--jobs", 1, "-o", path)
    assert result.exit_code == INTERRUPTED, result.output
    assert words in " ".join(result.output.split())
    assert "Model written to" in result.output
    assert km.load(path).learned_from_ == "draws"


def test_before_the_first_draw_there_is_nothing_to_keep(shell, stars, tmp_path, interrupted):
    interrupted(Sampler, "_take", 3)
    result = shell("fit", stars, "--point", "--events", 3, "-o", tmp_path / "m.km")
    assert result.exit_code == INTERRUPTED
    assert "Interrupted." in result.output
    assert not (tmp_path / "m.km").exists()


# --- tune ---------------------------------------------------------------------------------------------------------


@pytest.mark.long("more kinds of models")
def test_settings_are_learned_from_draws(shell, stars, tmp_path):
    path = tmp_path / "m.km"
    result = shell("tune", stars, "--events", "2,3", "--folds", 2, "-o", path)
    assert result.exit_code == 0, result.output
    found = km.load(path)
    assert found.learned_from_ == "draws"
    assert "user_reg" not in result.output
    best = re.search(r"│ (\d) +│ 0\.", result.output)
    assert found.n_events == int(best.group(1))


def test_ridges_are_tried_on_ratings_and_nobody_is_told_again_and_again(shell, stars, tmp_path, caplog):
    caplog.set_level("INFO", logger="kolmogorov")
    path = tmp_path / "m.km"
    result = shell("tune", stars, "--events", "2", "--user-reg", "1,10", "--item-reg", 0, "--folds", 2, "-o", path)
    assert result.exit_code == 0, result.output
    assert not [record for record in caplog.records if "Learning from" in record.message]
    found = km.load(path)
    assert found.learned_from_ == "ratings"
    assert found.user_reg in (1.0, 10.0)


@pytest.mark.long("more kinds of models")
def test_draws_are_tuned_by_their_events_alone(shell, stars):
    result = shell("tune", stars, "--model", "draws", "--events", "2", "--folds", 2)
    assert result.exit_code == 0, result.output
    for wrong in (["--user-reg", 1], ["--item-reg", 1], ["--max-iter", 3], ["--implicit"]):
        refused = shell("tune", stars, "--model", "draws", *wrong)
        assert refused.exit_code == 2
        assert f"{wrong[0]}: does not go with --model draws." in " ".join(refused.output.split())
    gone = shell("tune", stars, "--model", "relaxed")
    assert gone.exit_code == 2
    assert "'relaxed' is not one of 'point', 'draws'" in " ".join(gone.output.split())


# --- older files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name", "count"), [(Sampler, "_take", 60), (CompletionEngine, "sweep", 2)])
@pytest.mark.long("processes that are interrupted")
def test_a_page_whose_test_is_interrupted_is_not_written(shell, stars, tmp_path, interrupted, kind, name, count):
    """A page would tell the quality of a fit that was ended early as if it were the model's."""
    path, page = tmp_path / "m.km", tmp_path / "page.html"
    model = km.KolmogorovModel(3, max_iter=5, tol=0.0, random_state=0, n_jobs=1).fit(km.read_ratings(stars))
    model.save(path)
    interrupted(kind, name, count)
    result = shell("report", path, "-o", page)
    assert result.exit_code == INTERRUPTED, result.output
    assert not page.exists()
