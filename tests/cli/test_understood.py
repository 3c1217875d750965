"""What the tool says of files that nobody prepared: what it understood, advice that works, and recipes in models."""

import json
import re
import shlex

import pytest

from kolmogorov import load

SURVEY = "Name,Age,Smokes,Drinks,Likes jazz\n" + "".join(
    f"person {k},{20 + k % 50},{'yes' if k % 3 else 'no'},{'yes' if k % 2 else 'no'},{'no' if k % 5 else 'yes'}\n"
    for k in range(40)
)
GERMAN = "Kunden-Nr;Titel;Bewertung;Datum\r\n" + "".join(
    f"{1000 + k // 3};Amélie {k % 4};{'3,5' if k % 2 else '5'};01.02.2024\r\n" for k in range(60)
)
CLICKS = "session_id,page\n" + "".join(f"s{k // 4},/p{k % 7}\n" for k in range(120))
EXCEL = "sep=;\r\nKunde;Produkt;Zufriedenheit\r\n" + "".join(
    f"K{k // 3};P{k % 5};{25 * (k % 5)}%\r\n" for k in range(60)
)


def rated(*values):
    return "user,item,rating\n" + "".join(f"u{k},tea,{value}\n" for k, value in enumerate(values))


TWO_AGES = 'who,tea,rum,gin,"age, now",year\n' + "".join(
    f"u{k},{k % 2},{k % 2},{1 - k % 2},{30 + k},{1990 + k}\n" for k in range(9)
)
#: Files at which the tool stops, and what each suggestion in its message has to come to: how many are read, or words
#: of the next message. A placeholder is for the user to fill in, and is not run.
REFUSED = {
    "survey": (SURVEY, {"--wide": "--ignore Age"}),
    "two ages, wide": (TWO_AGES, {"--ignore '\"age, now\",year'": 27, "--set scale=column": 45}),
    "clicks": (CLICKS, {"--implicit": 120}),
    "empty": (rated(1, 0, "", 1), {"--missing ''": 3}),
    "marks": (rated(1, 2, "NA", 3, "?", 4), {"--missing '?,NA'": 4}),
    "thousands": (rated("900", "1.000"), {"--set decimal=.": 2, "--set thousands=.": 2}),
    "twins": ("user,item,rating,rating\na,x,1,2\nb,x,2,1\n", {"--value 2": 2}),
    "repeated": ("user,item,rating\n1,7,5\n1,7,3\n", {"--set duplicates=mean": 1, "--set duplicates=last": 1}),
    "header": ("ann,tea,like\nbob,tea,1\n", {"--set header=True": 1, "--set header=False": 2}),
    "words": (rated("agree", "disagree", "agree"), {"--map disagree=1,agree=2": 3}),
}


def suggestions(message):
    """Return the options that a message tells the user to give, as they are written."""
    found = []
    for text in re.findall(r"--[a-z-]+(?:[ ](?:\w+=)?(?:'[^']*'|\.(?=\s|\.)|,|[^\s']+))?", message):
        flag, _, value = text.partition(" ")
        value = value.rstrip(".") if value not in (".", "") and not value.endswith("=.") else value
        found.append(flag.rstrip(".") if value in ("or", "and", "by", "") else f"{flag} {value}")
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_advice_works(name, shell, tmp_path):
    content, outcomes = REFUSED[name]
    path = tmp_path / "file.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ["--wide"] if name.endswith(", wide") else []
    stopped = shell("data", "describe", path, *words)
    assert stopped.exit_code == 1, stopped.output
    found = [text for text in suggestions(stopped.stderr) if "NUMBER" not in text]
    # What only the user knows has no value behind it.
    complete = [text for text in found if text not in ("--maximum", "--item", "--value") and "VALUE" not in text]
    assert set(complete) == set(outcomes), stopped.stderr
    for text, outcome in outcomes.items():
        told = shell("data", "describe", path, *words, *shlex.split(text), "--format", "json")
        if isinstance(outcome, str):
            assert outcome in told.stderr
        else:
            assert told.exit_code == 0, told.stderr
            assert json.loads(told.stdout)["n_observed"] == outcome


@pytest.mark.parametrize(("content", "options", "said"), [
    (SURVEY, ["--wide", "--ignore", "Age"], ["user = Name", "Not used: Age", "yes = 1, no = 0", "0 to 1 by 1"]),
    (GERMAN, [], ["item = Titel", "separator semicolon", "decimal comma", "3.5 to 5 by 0.5", "Not used: Datum"]),
    (GERMAN.encode("cp1252"), [], ["encoding cp1252"]),
    (CLICKS, ["--implicit"], ["user = session_id, item = page", "120 read, 0 missing"]),
    (EXCEL, [], ["user = Kunde", "separator semicolon, with header", "0 to 1 by 0.25"]),
])  # fmt: skip
def test_fit_and_describe_say_what_was_understood(content, options, said, shell, tmp_path):
    path = tmp_path / "file.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    described = shell("data", "describe", path, *options)
    fast = ["--events", 2, "--set", "max_iter=2", "--learn-from", "ratings"]
    fitted = shell("fit", path, *options, *fast, "-o", tmp_path / "m.km")
    assert (described.exit_code, fitted.exit_code) == (0, 0), described.stderr + fitted.stderr
    for words in said:
        assert words in described.stdout
        assert words in fitted.stderr


def test_a_model_reads_the_next_file_as_its_own(shell, tmp_path):
    path, model = tmp_path / "file.csv", tmp_path / "m.km"
    path.write_bytes(b"wer;was;wie sehr\n" + GERMAN.partition("\r\n")[2].replace(";01.02.2024", "").encode("latin-1"))
    fast = ["--events", 2, "--set", "max_iter=2", "--learn-from", "ratings"]
    told = ["--set", "encoding=latin-1", "--user", "wer", "--item", "was", "--value", "wie sehr"]
    assert shell("fit", path, *told, *fast, "-o", model).exit_code == 0
    assert load(model).fitted_.training.source.recipe["encoding"] == "latin-1"
    # The columns are in another order, and nothing is said of them.
    later = tmp_path / "later.csv"
    later.write_bytes("wie sehr;was;wer\n3,5;Amélie 2;1001\n5;Amélie 2;1002\n".encode("latin-1"))
    scored = shell("evaluate", model, later, "--format", "json")
    assert scored.exit_code == 0, scored.stderr
    predicted = shell("predict", model, later)
    assert predicted.exit_code == 0, predicted.stderr
    assert predicted.stdout.splitlines()[1].startswith("1001,Amélie 2,")
    # What is said goes before what is stored.
    assert shell("evaluate", model, later, "--set", "encoding=ascii").exit_code == 1
    # A file of pairs without a header is still one.
    bare = tmp_path / "bare.csv"
    bare.write_bytes("1001;Amélie 1\n".encode("latin-1"))
    assert shell("predict", model, bare).stdout.splitlines()[1].startswith("1001,Amélie 1,")


def test_a_model_of_a_survey_reads_the_next_one(shell, tmp_path):
    path, model = tmp_path / "file.csv", tmp_path / "m.km"
    path.write_text(SURVEY)
    fast = ["--events", 2, "--set", "max_iter=2", "--learn-from", "ratings"]
    assert shell("fit", path, "--wide", "--ignore", "Age", *fast, "-o", model).exit_code == 0
    assert "was trained on all" in shell("evaluate", model, path).stderr
    assert shell("report", model, "--data", path, "-o", tmp_path / "page.html").exit_code == 0
