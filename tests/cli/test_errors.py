"""Every mistake ends in one sentence that speaks the language of the shell."""

import re
import subprocess
import sys
import warnings
import zipfile

import click
import numpy as np
import pytest

from kolmogorov.cli.process import flags_of
from kolmogorov.errors import ConvergenceWarning, UnknownIdWarning

from .conftest import every_verb

UNFORESEEN = "This is a bug in kolmogorov"


def one_sentence(result, status=1):
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    assert UNFORESEEN not in result.output
    assert len(re.findall(r"^Error: ", result.output, re.MULTILINE)) == 1, result.output
    return result.output


# --- what used to be a traceback -----------------------------------------------------------------------------------


def test_a_loop_of_links(shell, zoo_files, tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert "levels of symbolic links" in one_sentence(shell("fit", zoo_files[0], "-o", loop))
    assert "loop" in one_sentence(shell("fit", loop, "-o", tmp_path / "m.km"))


def closed(redirection, *arguments):
    command = f'{sys.executable} -m kolmogorov "$@" {redirection}'
    return subprocess.run(
        ["bash", "-c", command, "bash", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.mark.long("processes that are interrupted")
def test_closed_streams(tmp_path, zoo_files):
    result = closed("<&-", "fit", "-", "-o", tmp_path / "m.km")
    assert result.returncode == 1
    assert result.stderr == "Error: Standard input is closed. Name a file, or pipe lines in.\n"
    result = closed(">&-", "data", "export", "zoo")
    assert result.returncode == 1
    assert result.stderr == "Error: Standard output is closed. Name a file with --output.\n"
    assert closed("2>&-", "explain", zoo_files[1], "bear", "milk").returncode == 0


def test_too_little_memory(shell, zoo_files, tmp_path, monkeypatch):
    from kolmogorov.models.kolmogorov import KolmogorovModel

    def greedy(self, *args, **kwargs):
        np.empty(2**50)

    # The real thing, many events, may do harm on a machine that lends more memory than it has.
    monkeypatch.setattr(KolmogorovModel, "fit", greedy)
    output = one_sentence(shell("fit", zoo_files[0], "--point", "-o", tmp_path / "m.km"))
    assert "Not enough memory (Unable to allocate 8.00 PiB" in output
    assert "Try a smaller --events." in output


@pytest.mark.parametrize("events", ["nan", "2.9", "inf", "0", "-3", "4,,8", "", "1e3", "9" * 30])
def test_tune_counts_events_in_whole_numbers(shell, zoo_files, events):
    result = shell("tune", zoo_files[0], "--events", events)
    assert "expected whole numbers >= 1 separated by commas" in one_sentence(result, 2)


def test_no_path_holds_nul(shell, zoo_files, tmp_path):
    for arguments in (["fit", "a\0b", "-o", tmp_path / "m"], ["fit", zoo_files[0], "-o", "a\0b"], ["explain", "a\0b"]):
        assert "NUL" in one_sentence(shell(*arguments), 2)


def cheap_call(names, command, files):
    """Return arguments with which a verb does little."""
    ratings, model = files
    calls = {
        ("fit",): (ratings, "--max-iter", 1, "-q", "-o", ratings.with_name("m2.km")),
        ("predict",): (model, ratings, "-o", ratings.with_name("p.csv")),
        ("recommend",): (model, "bear"),
        ("explain",): (model, "bear", "milk"),
        ("rules",): (model,),
        ("report",): (model, "-o", ratings.with_name("r.html")),
        ("evaluate",): (model, ratings),
        ("tune",): (ratings, "--events", 2, "--user-reg", 1, "--item-reg", 0, "--folds", 2, "--max-iter", 1),
        ("data", "describe"): (ratings,),
        ("data", "pack"): (ratings, "-o", ratings.with_name("t.table")),
    }
    return calls.get(names)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", str(10**30)])
@pytest.mark.long("more kinds of models")
def test_numbers_outside_all_ranges(shell, copies, value):
    for names, command in every_verb():
        call = cheap_call(names, command, copies)
        for parameter in command.params if call else ():
            if not isinstance(parameter.type, (click.types.IntParamType, click.types.FloatParamType)):
                continue
            result = shell(*names, *call, max(parameter.opts, key=len), value)
            assert UNFORESEEN not in result.output, (names, parameter.name, result.output)
            assert result.exit_code in (0, 1, 2), (names, parameter.name, result.output)
            if value in ("nan", "inf", "-inf"):
                assert result.exit_code == 2, (names, parameter.name, result.output)


# --- what nobody foresaw -------------------------------------------------------------------------------------------


def test_the_unforeseen_is_a_sentence_with_a_way_to_report_it(shell, zoo_files, monkeypatch):
    import kolmogorov.models.loading as persistence

    def broken(path):
        raise ZeroDivisionError("no\x1b[31m\nsuch")

    monkeypatch.setattr(persistence, "load", broken)
    arguments = ("explain", zoo_files[1], "a", "b")
    result = shell(*arguments, env={"KOLMOGOROV_DEBUG": None})
    assert result.exit_code == 1
    assert f"{UNFORESEEN} (ZeroDivisionError: no\\x1b[31m\\nsuch)" in result.output
    assert "Traceback" not in result.output
    debugged = shell(*arguments, env={"KOLMOGOROV_DEBUG": "1"})
    assert debugged.exit_code == 1
    assert "Traceback" in debugged.stderr
    assert "in broken" in debugged.stderr


# --- the language of the reader --------------------------------------------------------------------------------------

BAD_RATINGS = {
    "cyrillic": "user,item,rating\nПривет,b,1\n".encode("cp1251"),
    "duplicates": b"user,item,rating\na,b,1\na,b,0\n",
    "words": b"user,item,rating\na,b,yes\na,c,abstain\na,d,no\n",
    "empty": b"user,item,rating\na,b,1\na,c,\n",
    "negative": b"user,item,rating\na,b,-1\n",
    "large": b"user,item,rating\na,b,7\n",
    "narrow": b"a/b/1\n",
    "which column": b"item,rating\na,1\n",
    "which": b"rating,user,x\n1,a,1\n",
}
READING = {
    ("fit",): lambda bad, model: ("fit", bad, "-o", bad.with_name("m.km"), "--maximum", 5),
    ("predict",): lambda bad, model: ("predict", model, bad, "--unknown", "error"),
    ("recommend",): lambda bad, model: ("recommend", model, "--ratings", bad),
    ("rules",): lambda bad, model: ("rules", model, "--data", bad),
    ("report",): lambda bad, model: ("report", model, "--data", bad, "-o", bad.with_name("r.html")),
    ("evaluate",): lambda bad, model: ("evaluate", model, bad),
    ("update",): lambda bad, model: ("update", model, bad, "-o", bad.with_name("u.km")),
    ("tune",): lambda bad, model: ("tune", bad, "--maximum", 5),
    ("data", "describe"): lambda bad, model: ("data", "describe", bad, "--maximum", 5),
    ("data", "pack"): lambda bad, model: ("data", "pack", bad, "-o", bad.with_name("t.table"), "--maximum", 5),
}
WRONG_VALUES = {
    ("fit",): [
        "--events 0",
        "--seed -1",
        "--jobs 0",
        "--test-size 2",
        "--scaling max --minimum 2",
        "--tol -1",
        "--user-reg -1",
    ],
    ("recommend",): ["bear --top 0", "nobody", "bear --min-count 0"],
    ("explain",): ["nobody milk", "bear nothing"],
    ("tune",): ["--folds 1", "--seed -1", "--max-iter 0"],
    ("data", "describe"): ["--scaling max --minimum 1", "--minimum 5 --maximum 4", "--missing 9 --thousands 12"],
}


def speaks_shell(output, command):
    """Check that a message names no parameter as Python does for which the verb has an option, and no other option."""
    (message,) = re.findall(r"^Error: (.*)$", output, re.MULTILINE)
    names = "|".join(map(re.escape, flags_of(command)))
    assert not re.search(rf"\b({names})=|'({names})' must", re.sub(r"--map \S+", "", message)), message
    flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", message):
        assert flag in flags, message
    return message


@pytest.mark.parametrize("kind", BAD_RATINGS)
def test_remedies_are_options_of_the_verb(shell, zoo_files, tmp_path, kind):
    bad = tmp_path / "bad.csv"
    bad.write_bytes(BAD_RATINGS[kind])
    commands = dict(every_verb())
    readers = {names for names, command in commands.items() if any(p.name == "encoding" for p in command.params)}
    assert readers == set(READING)
    said = {}
    for names, call in READING.items():
        result = shell(*call(bad, zoo_files[1]))
        if result.exit_code or names != ("predict",):
            said[names] = speaks_shell(one_sentence(result), commands[names])
    remedy = {
        "cyrillic": "--encoding",
        "duplicates": "--duplicates mean or --duplicates last",
        "words": "--map no=0,yes=1,abstain=NUMBER",
        "empty": "--missing ''",
        "negative": "--minimum",
        "large": "--maximum",
        "narrow": "--sep",
        "which column": "",
        "which": "--item",
    }[kind]
    assert remedy in said[("fit",)]
    if kind in ("negative", "large"):
        assert "--" not in said[("evaluate",)]


@pytest.mark.parametrize("names", WRONG_VALUES)
def test_wrong_values_are_named_by_their_options(shell, copies, names):
    ratings, model = copies
    command = dict(every_verb())[names]
    given = {("fit",): (ratings, "-o", ratings.with_name("m2.km"))}
    start = given.get(names, (model if names in (("recommend",), ("explain",)) else ratings,))
    for words in WRONG_VALUES[names]:
        unknown = "nobody" in words or "nothing" in words
        message = speaks_shell(one_sentence(shell(*names, *start, *words.split()), 1 if unknown else 2), command)
        if not unknown:
            assert message.startswith(tuple(re.findall(r"--[a-z-]+", words))), message


def test_unknown_ids(shell, zoo_files):
    model = zoo_files[1]
    for arguments in (["explain", model, "Dolfin", "milk"], ["recommend", model, "Dolfin"]):
        output = one_sentence(shell(*arguments))
        assert "no data on user 'Dolfin'. Did you mean 'dolphin'" in output
        assert "--unknown average uses the average instead." in output
        assert shell(*arguments, "--unknown", "average").exit_code == 0
    assert "Did you mean 'milk'" in one_sentence(shell("rules", model, "--about", "Mlik"))
    assert shell("predict", model, stdin="nobody,milk\n").exit_code == 0
    assert "--unknown average" in one_sentence(shell("predict", model, "--unknown", "error", stdin="nobody,milk\n"))
    assert shell("recommend", model, "--ratings", zoo_files[0], "--unknown", "average").exit_code == 2


# --- names that would act ----------------------------------------------------------------------------------------

EVIL = "x\x1b[31m\u202e\n[red]y"


def acts(text):
    return bool(set("\x1b\u202e") & set(text)) or "\n[red]y" in text


def test_names_of_all_kinds_are_shown_and_never_act(shell, zoo_files, tmp_path):
    ratings, model = zoo_files
    evil = tmp_path / EVIL
    archive = tmp_path / "two.zip"
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr(EVIL, "a")
        content.writestr("b", "b")
    header = tmp_path / "header.csv"
    header.write_text(f'item,"{EVIL}"\na,1\n')
    twice = tmp_path / "twice.csv"
    twice.write_text(f'user,item,rating\na,"{EVIL}",1\na,"{EVIL}",1\n')
    said = [
        shell("fit", evil, "-o", tmp_path / "m.km"),
        shell("fit", archive, "-o", tmp_path / "m.km"),
        shell("fit", header, "-o", tmp_path / "m.km"),
        shell("fit", ratings, "--user", EVIL, "-o", tmp_path / "m.km"),
        shell("fit", twice, "-o", tmp_path / "m.km"),
        shell("explain", model, EVIL, "milk"),
        shell("recommend", model, EVIL),
        shell("recommend", model, EVIL, "--unknown", "average"),
        shell("data", "export", EVIL),
        shell("fit", ratings, "--item-solver", EVIL, "-o", tmp_path / "m.km"),
        shell("fit", ratings, "--dask", EVIL, "-o", tmp_path / "m.km"),
        shell(EVIL),
        shell("fit", f"--{EVIL}"),
        shell(f"--{EVIL}"),
        shell("fit", tmp_path / "nowhere" / EVIL, "-o", tmp_path / EVIL / "m.km"),
        shell("fit", ratings, "--events", 2, "--max-iter", 1, "-o", evil),
        shell("report", model, "-o", tmp_path / f"{EVIL}.html"),
        shell("data", "pack", ratings, "-o", tmp_path / f"{EVIL}"),
    ]
    for result in said:
        assert not acts(result.output), result.output
    for result in said[:2] + said[3:5] + said[15:]:
        assert "\\x1b[31m\\u202e" in result.output, result.output
    assert shell("recommend", model, EVIL, "--unknown", "average").exit_code == 0


# --- warnings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", [UnknownIdWarning, ConvergenceWarning])
def test_warnings_of_the_library_are_one_plain_line(shell, zoo_files, monkeypatch, category):
    import kolmogorov.models.loading as persistence

    load = persistence.load

    def warning(path):
        for _ in range(3):
            warnings.warn("users\x1b[31m 'a' and 'b' are new", category, stacklevel=2)
        return load(path)

    monkeypatch.setattr(persistence, "load", warning)
    result = shell("explain", zoo_files[1], "bear", "milk")
    assert result.exit_code == 0
    assert result.stderr == "kolmogorov: users\\x1b[31m 'a' and 'b' are new\n"


def test_quiet_means_errors_only(shell, zoo_files, tmp_path, monkeypatch):
    from kolmogorov.models.kolmogorov import KolmogorovModel

    fit = KolmogorovModel.fit

    def warning(self, *args, **kwargs):
        warnings.warn("not settled", ConvergenceWarning, stacklevel=2)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(KolmogorovModel, "fit", warning)
    arguments = ("fit", zoo_files[0], "--point", "--events", 2, "-o", tmp_path / "m.km")
    assert "kolmogorov: not settled\n" in shell(*arguments).stderr
    assert shell(*arguments, "-q").output == ""


def test_the_group_leaves_warnings_and_signals_as_they_were(shell, zoo_files):
    import signal

    before = (warnings.showwarning, signal.getsignal(signal.SIGTERM))
    assert shell("explain", zoo_files[1], "bear", "milk").exit_code == 0
    assert (warnings.showwarning, signal.getsignal(signal.SIGTERM)) == before
