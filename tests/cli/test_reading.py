"""The files people have, in the shell: words, marks, wide tables, titles, guests, pairs of every make."""

import csv
import io
import json
from dataclasses import fields

import click
import pandas as pd
import pytest

import kolmogorov as km
from kolmogorov.cli.options import READING, adding
from kolmogorov.data.told import Reading

VOTES = "voter,motion,vote\n" + "".join(
    f"v{k},m{m},{('yes', 'no', 'abstain', 'absent')[(k * m + k // 3) % 4]}\n" for k in range(12) for m in range(6)
)
MEANING = ("--map", "yes=1,abstain=0.5,no=0", "--missing", "absent", "--item", "motion")


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


@pytest.fixture
def titles(tmp_path):
    path = tmp_path / "motions.txt"
    path.write_text("".join(f"m{m}|Motion number {m}|x\n" for m in range(6)))
    return path


def rows_of(result):
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_words_and_marks_go_all_the_way(shell, votes, titles, tmp_path):
    model, table = tmp_path / "v.km", tmp_path / "v.table"
    refused = shell("data", "describe", votes, "--item", "motion")
    assert refused.exit_code == 1
    assert "line 10: value must be a number, got 'abstain'" in refused.output
    assert "--map no=0,yes=1,absent=NUMBER,abstain=NUMBER" in refused.output
    described = shell("data", "describe", votes, *MEANING)
    assert f"{72 - VOTES.count(',absent')} of 12 users × 6 items" in described.output
    assert shell("data", "pack", votes, *MEANING, "--titles", titles, "-o", table).exit_code == 0
    assert km.Observations.open(table).items.name(2) == "Motion number 2"
    for data, more in ((votes, (*MEANING, "--titles", titles)), (table, ())):
        fitted = shell("fit", data, *more, "--point", "--events", 2, "-o", model)
        assert fitted.exit_code == 0, fitted.output
        assert "Motion number" in fitted.output
        assert "Motion number" in shell("recommend", model, "v0", "--include-seen").output
        for item in ("m2", "Motion number 2"):
            shown = shell("explain", model, "v0", item).output
            assert "v0 is expected to give Motion number 2 a rating of 0." in shown
    scores = shell("evaluate", model, votes, *MEANING, "--format", "json")
    assert json.loads(scores.stdout)[0]["score"] == "rmse"


def test_titles_can_be_given_to_a_model_that_has_none(shell, votes, titles, tmp_path):
    model = tmp_path / "v.km"
    assert shell("fit", votes, *MEANING, "--events", 2, "-q", "-o", model).exit_code == 0
    for verb in (
        ("recommend", model, "v0", "--include-seen"),
        ("explain", model, "v0", "m2"),
    ):
        assert "Motion number" not in shell(*verb).output
        assert "Motion number" in shell(*verb, "--titles", titles).output
    page = tmp_path / "r.html"
    assert shell("report", model, "--titles", titles, "-o", page).exit_code == 0
    assert "Motion number 2" in page.read_text()
    assert "There is no file" in shell("explain", model, "v0", "m2", "--titles", "absent").output


def test_rules_show_titles(shell, zoo_files, tmp_path):
    titles = tmp_path / "traits.tsv"
    titles.write_text("trait\ttitle\nmilk\tGives milk\nhair\tHas hair\n")
    shown = shell("rules", zoo_files[1], "--about", "milk", "--titles", titles).output
    assert "Gives milk" in shown
    assert "Gives milk" in shell("rules", zoo_files[1], "--about", "Gives milk", "--titles", titles).output


@pytest.mark.parametrize("wrong", ["yes", "yes=", "yes=much", "=", "yes=1;no=0"])
def test_maps_that_are_none(shell, votes, wrong):
    result = shell("data", "describe", votes, "--map", wrong)
    assert result.exit_code in (1, 2)
    assert "--map" in result.output


def test_pairs_of_every_make(shell, zoo_files, tmp_path):
    ratings, model = zoo_files
    frame = pd.read_csv(ratings).head(30)
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    frame.to_parquet(tmp_path / "pairs.parquet")
    km.pack(frame, tmp_path / "pairs.table")
    expected = {
        (row["user"], row["item"]): row["probability"]
        for row in rows_of(shell("predict", model, tmp_path / "pairs.csv"))
    }
    assert len(expected) == 30
    for name in ("pairs.parquet", "pairs.table"):
        found = rows_of(shell("predict", model, tmp_path / name))
        assert {(row["user"], row["item"]): row["probability"] for row in found} == expected
    frame.rename(columns={"user": "a", "item": "b"})[["rating", "b", "a"]].to_csv(tmp_path / "odd.csv", index=False)
    found = rows_of(shell("predict", model, tmp_path / "odd.csv", "--user", "a", "--item", 1))
    assert {(row["user"], row["item"]): row["probability"] for row in found} == expected


def test_one_column_of_predictions(shell, zoo_files, tmp_path):
    model = zoo_files[1]
    both = rows_of(shell("predict", model, stdin="dolphin,milk\n"))[0]
    # Ratings from 0 to 1 are probabilities, and are written once.
    assert list(both) == ["user", "item", "probability"]
    for units in ("rating", "probability"):
        row = rows_of(shell("predict", model, "--output", units, stdin="dolphin,milk\n"))[0]
        assert row == {"user": "dolphin", "item": "milk", units: both["probability"]}
    out = tmp_path / "out.csv"
    assert shell("predict", model, "--output", "rating", "-o", out, stdin="dolphin,milk\n").exit_code == 0
    assert out.read_text().splitlines()[0] == "user,item,rating"
    refused = shell("predict", model, "-o", out, "-o", tmp_path / "other.csv", stdin="dolphin,milk\n")
    assert refused.exit_code == 2
    assert "expected one file" in refused.output


def test_guests_with_items_that_are_unknown(shell, zoo_files, tmp_path):
    guests = tmp_path / "guests.csv"
    guests.write_text("user,item,rating\ng,milk,yes\ng,warp,no\n")
    found = shell("recommend", zoo_files[1], "--ratings", guests, "--top", 2, "--format", "csv")
    assert len(rows_of(found)) == 2
    assert "1 unknown item ('warp')" in found.stderr
    guests.write_text("user,item,rating\ng,mlik,1\n")
    refused = shell("recommend", zoo_files[1], "--ratings", guests)
    assert refused.exit_code == 1
    assert "Did you mean 'milk'?" in refused.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--events", 0), "--events must be an integer >= 1"),
        (("--events", 0, "--bayes"), "--events must be an integer >= 1"),
        (("--test-size", 2), "--test-size must be a number between 0 and 1"),
        (("--item-solver", "magic"), "magic"),
        (("--max-iter", 0), "--max-iter must be"),
        (("--samples", 0, "--bayes"), "--samples must be"),
    ],
)
def test_settings_are_refused_before_a_file_is_read(shell, tmp_path, options, words):
    # The file is no ratings file, and nobody finds out.
    path = tmp_path / "never.csv"
    path.write_text("not,at\nall\n")
    result = shell("fit", path, *options, "-o", tmp_path / "m.km")
    assert result.exit_code == 2
    assert words in result.output
    assert "never.csv" not in result.output


def test_every_option_of_a_reader_has_a_flag_with_its_default():
    @click.command()
    @adding(*READING)
    def verb(**given):
        return given

    defaults = {option.name: option.default for option in fields(Reading) if option.init and option.name != "known"}
    assert verb.main([], standalone_mode=False) == defaults
