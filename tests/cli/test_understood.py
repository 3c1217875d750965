"""What the tool says of files that nobody prepared: what it understood, advice that works, and recipes in models."""

import re
import shlex

import pytest

from kolmogorov import load

from .conftest import FAST

SURVEY = "Name,Age,Smokes,Drinks,Likes jazz\n" + "".join(
    f"person {k},{20 + k % 50},{'yes' if k % 3 else 'no'},{'yes' if k % 2 else 'no'},{'no' if k % 5 else 'yes'}\n"
    for k in range(40)
)
GERMAN = "Kunden-Nr;Titel;Bewertung;Datum\r\n" + "".join(
    f"{1000 + k // 3};Amélie {k % 4};{'3,5' if k % 2 else '5'};01.02.2024\r\n" for k in range(60)
)
CLICKS = "session_id,page\n" + "".join(f"s{k // 4},/p{k % 7}\n" for k in range(120))
TWO_AGES = 'who,tea,rum,gin,"age, now",year\n' + "".join(
    f"u{k},{k % 2},{k % 2},{1 - k % 2},{30 + k},{1990 + k}\n" for k in range(9)
)


def rated(*values):
    return "user,item,rating\n" + "".join(f"u{k},tea,{value}\n" for k, value in enumerate(values))


#: Files at which the tool stops, and what each suggestion in its message has to come to: how many are read, or words
#: of the next message. A placeholder is for the user to fill in, and is not run.
REFUSED = {
    "survey": (SURVEY, {"--wide": "--ignore Age"}),
    "two ages, wide": (TWO_AGES, {"--ignore '\"age, now\",year'": 27, "--set scale=column": 45}),
    "clicks": (CLICKS, {"--implicit": 120}),
    "empty": (rated(1, 0, "", 1), {"--missing ''": 3}),
    "marks": (rated(1, 2, "NA", 3, "?", 4), {"--missing '?,NA'": 4}),
    "thousands": ("user;item;rating\na;x;1,500\nb;x;2,000\n", {"--set decimal=,": 2}),
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
    (path := tmp_path / "file.csv").write_text(content)
    words = ["--wide"] if name.endswith(", wide") else []
    stopped = shell("data", "describe", path, *words)
    assert stopped.exit_code == 1, stopped.output
    found = [text for text in suggestions(stopped.stderr) if "NUMBER" not in text]
    # What only the user knows has no value behind it.
    complete = [text for text in found if text not in ("--maximum", "--item", "--value") and "VALUE" not in text]
    assert set(complete) == set(outcomes), stopped.stderr
    for text, outcome in outcomes.items():
        told = shell("data", "describe", path, *words, *shlex.split(text))
        assert (outcome if isinstance(outcome, str) else f"Observations: {outcome} of") in told.output


@pytest.mark.parametrize(("content", "options", "said"), [
    (SURVEY, ["--wide", "--ignore", "Age"], ["user = Name", "Not used: Age", "yes = 1, no = 0", "0 to 1"]),
    (GERMAN, [], ["item = Titel", "separator semicolon", "decimal comma", "3.5 to 5", "Not used: Datum"]),
    (CLICKS, ["--implicit"], ["user = session_id, item = page", "120 read, 0 missing"]),
])  # fmt: skip
def test_fit_and_describe_say_what_was_understood(content, options, said, done, tmp_path):
    (path := tmp_path / "file.csv").write_text(content)
    described, fitted = (
        done("data", "describe", path, *options).stdout,
        done("fit", path, *options, *FAST, "-o", tmp_path / "m.km").stderr,
    )
    assert all(words in described and words in fitted for words in said)


def test_a_model_reads_the_next_file_as_its_own(shell, done, tmp_path):
    path, model, later, bare = (tmp_path / name for name in ("file.csv", "m.km", "later.csv", "bare.csv"))
    path.write_bytes(b"wer;was;wie sehr\n" + GERMAN.partition("\r\n")[2].replace(";01.02.2024", "").encode("latin-1"))
    told = ["--set", "encoding=latin-1", "--user", "wer", "--item", "was", "--value", "wie sehr"]
    done("fit", path, *told, *FAST, "-o", model)
    assert load(model).fitted_.training.source.recipe["encoding"] == "latin-1"
    # The columns are in another order, and nothing is said of them.
    later.write_bytes("wie sehr;was;wer\n3,5;Amélie 2;1001\n5;Amélie 2;1002\n".encode("latin-1"))
    done("evaluate", model, later)
    assert done("predict", model, later).stdout.splitlines()[1].startswith("1001,Amélie 2,")
    # What is said goes before what is stored.
    assert shell("evaluate", model, later, "--set", "encoding=ascii").exit_code == 1
    # A file of pairs without a header is still one.
    bare.write_bytes("1001;Amélie 1\n".encode("latin-1"))
    assert done("predict", model, bare).stdout.splitlines()[1].startswith("1001,Amélie 1,")


def test_words_marks_and_titles_go_all_the_way(shell, done, tmp_path):
    votes, titles, model = tmp_path / "votes.csv", tmp_path / "motions.txt", tmp_path / "v.km"
    said = ("yes", "no", "abstain", "absent")
    lines = (f"v{k},m{m},{said[(k * m + k // 3) % 4]}\n" for k in range(12) for m in range(6))
    votes.write_text("voter,motion,vote\n" + "".join(lines))
    titles.write_text("".join(f"m{m}|Motion number {m}|x\n" for m in range(6)))
    meaning = ("--map", "yes=1,abstain=0.5,no=0", "--missing", "absent", "--item", "motion")
    assert "Motion number" in done("fit", votes, *meaning, "--titles", titles, *FAST, "-o", model).output
    assert "Motion number" in done("recommend", model, "v0", "--include-seen").output
    for item in ("m2", "Motion number 2"):
        assert "v0 is expected to give Motion number 2 a rating of 0." in done("explain", model, "v0", item).output
    # The file is read as the model's was.
    assert "was trained on all" in shell("evaluate", model, votes).output
    (wide := tmp_path / "wide.csv").write_text("m0,m1,m2\nyes,absent,no\n")
    header, row = done("predict", model, wide).stdout.splitlines()
    assert header == "m0,m1,m2,m3,m4,m5"
    assert row.startswith("1.0,")
    assert row.split(",")[2] == "0.0"
