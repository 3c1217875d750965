import logging
import pickle

import pytest

import kolmogorov as km
from kolmogorov._support.progress import notice
from kolmogorov._support.wording import advice, named, option, shown, worded

ACTING = [
    "\x1b[31m",
    "\n",
    "\r",
    "\t",
    "\x00",
    "\x07",
    "\x7f",
    "\x9b",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u2028",
    "\ud800",
]


@pytest.mark.parametrize("text", ACTING)
def test_what_acts_is_escaped(text):
    escaped = shown(f"a{text}b")
    assert escaped.isprintable()
    assert escaped.startswith("a\\")
    assert shown(escaped) == escaped


def test_what_is_only_unusual_stays():
    for text in ("Amélie", "七人の侍", "می\u200cروم", "👩\u200d🚀", "[red]x[/red]", "a\\b"):
        assert shown(text) == text


def test_remedies_in_python_and_in_the_shell():
    flags = {"duplicates": "--duplicates", "sep": "--sep"}
    assert option("duplicates", "mean").worded(None) == "duplicates='mean'"
    assert option("duplicates", "mean").worded(flags) == "--duplicates mean"
    assert option("sep", "a b").worded(flags) == "--sep 'a b'"
    assert worded(advice("Pass {}.", option("duplicates", "last")), flags) == " Pass --duplicates last."
    assert worded(advice("Pass {}.", option("encoding", "latin-1")), flags) == ""
    assert worded(advice("Pass {}.", option("encoding", "latin-1"), otherwise="Drop it."), flags) == " Drop it."
    assert str(named("maximum")) == worded(named("maximum"), flags) == "'maximum'"
    assert worded(named("sep"), flags) == "--sep"


def test_a_message_keeps_its_options_as_data():
    message = "line 2: " + named("sep") + " is wrong." + advice("Pass {}.", option("encoding", "latin-1"))
    error = pickle.loads(pickle.dumps(km.errors.DataError(message)))
    assert str(error) == "line 2: 'sep' is wrong. Pass encoding='latin-1'."
    assert worded(error.args[0], {"sep": "--sep"}) == "line 2: --sep is wrong."
    assert worded("as it is", {}) == "as it is"
    with pytest.raises(TypeError, match=r"Join messages with \+"):
        f"{message}"


def test_python_hears_python(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("a,b,1\na,b,2\n")
    with pytest.raises(km.errors.DataError, match="Pass duplicates='mean' or duplicates='last'"):
        km.read_ratings(path)


def test_notices_cannot_act(capsys, caplog):
    with caplog.at_level(logging.INFO, "kolmogorov"):
        notice("a\x1b[31m\nb", always=True)
    assert capsys.readouterr().err == "kolmogorov: a\\x1b[31m\\nb\n"
    assert caplog.messages == ["a\\x1b[31m\\nb"]
