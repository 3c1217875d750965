"""Every mistake ends in one sentence that speaks the language of the shell."""

import re
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

from kolmogorov._support.optional import installed
from kolmogorov.cli.shell import INTERRUPTED, flags_of
from kolmogorov.draws.chain import Chain
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
    ("fit",): ["--events 0", "--seed -1", "--jobs 0", "--test-size 2", "--maximum nan"],
    ("recommend",): ["bear --n 0", "nobody", "bear --min-count 0"],
    ("explain",): ["nobody milk", "bear nothing"],
    ("tune",): ["--folds 1", "--seed -1"],
    ("data", "describe"): ["--maximum inf", "--map yes", "--map yes=", "--map yes=much", "--set x", "--set sepp=1"],
}
#: What only one kind of model, or of reading, has: options of `fit`, and words of the refusal.
OTHERS = {
    ("--bayes", "--set", "user_reg=3"): "--set user_reg: goes only with --point",
    ("--point", "--set", "n_chains=7"): "--set n_chains: goes only with --bayes",
    ("--bayes", "--learn-from", "draws"): "--learn-from: goes only with --point",
    ("--psi", "soft", "--bayes"): "--psi: goes only with --point",
    ("--set", "item_solver=magic"): "magic",
    ("--set", "max_iter=0"): "must be an integer",
    ("--set", "tool=3"): "no such parameter. Did you mean tol?",
    ("--psi", "many"): "'binary', 'soft'",
    ("--gpu", "--dask", "local:1"): "--gpu does not go with --dask",
}


def speaks_shell(output, command):
    """Check that a message names no parameter as Python does for which the verb has an option, and no other option."""
    (message,) = re.findall(r"^Error: (.*)$", output, re.MULTILINE)
    names = "|".join(map(re.escape, flags_of(command)))
    assert not re.search(rf"\b({names})=|'({names})' must", re.sub(r"--(map|set) \S+", "", message)), message
    flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", message):
        assert flag in flags, message
    return message


@pytest.mark.parametrize("kind", BAD_RATINGS)
def test_remedies_are_options_of_the_verb(shell, zoo_files, tmp_path, kind):
    bad = tmp_path / "bad.csv"
    bad.write_bytes(BAD_RATINGS[kind])
    commands = dict(every_verb())
    readers = {names for names, command in commands.items() if any(p.name == "more" for p in command.params)}
    assert readers == set(READING)
    said = {}
    for names, call in READING.items():
        result = shell(*call(bad, zoo_files[1]))
        if result.exit_code or names != ("predict",):
            said[names] = speaks_shell(one_sentence(result), commands[names])
    remedy = {
        "cyrillic": "--set encoding",
        "duplicates": "--set duplicates=mean or --set duplicates=last",
        "words": "--map no=0,yes=1,abstain=NUMBER",
        "empty": "--missing ''",
        "negative": "--set minimum",
        "large": "--maximum",
        "narrow": "--set sep",
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
            assert re.search(rf"{words.split()[-2]}\b", message), message


@pytest.mark.parametrize("options", OTHERS)
def test_settings_are_refused_before_a_file_is_read(shell, tmp_path, options):
    # The file is no ratings file, and nobody finds out.
    path = tmp_path / "never.csv"
    path.write_text("not,at\nall\n")
    message = one_sentence(shell("fit", path, *options, "-o", tmp_path / "m.km"), 2)
    assert OTHERS[options] in " ".join(message.split())
    assert "never.csv" not in message


def test_a_misspelled_verb_and_a_missing_model_are_said_at_once(shell, tmp_path, monkeypatch):
    assert "No such command 'recomend'. Did you mean 'recommend'?" in one_sentence(shell("recomend", "m.km"), 2)
    absent = tmp_path / "absent.km"
    monkeypatch.setattr("kolmogorov.models.loading.load", None)
    for verb in (["predict", absent], ["evaluate", absent, "x.csv"], ["recommend", absent, "x"]):
        assert f"There is no file {absent}." in one_sentence(shell(*verb))


def test_damage_and_layouts_that_do_not_go(shell, copies, tmp_path):
    ratings, model = copies
    model.write_bytes(model.read_bytes()[:-9])
    for verb in (("predict", model), ("evaluate", model, ratings), ("recommend", model, "x")):
        assert "damaged" in one_sentence(shell(*verb, stdin="a,b\n"))
    assert "own layout" in one_sentence(shell("fit", "dataset:zoo", "--maximum", 5, "-o", tmp_path / "m.km"), 2)
    assert "standard output" in one_sentence(shell("fit", ratings, "-o", "-"), 2)
    bad = tmp_path / "bad.csv"
    bad.write_text("1,2,3\n1,3,abc\n")
    assert "line 2" in one_sentence(shell("fit", bad, "-o", tmp_path / "m.km"))
    assert not (tmp_path / "m.km").exists()


@pytest.mark.skipif(installed("cupy"), reason="CuPy is installed")
def test_a_missing_extra_is_named(shell, tmp_path):
    assert "pip install '.[cuda]'" in one_sentence(shell("fit", "dataset:zoo", "--gpu", "-o", tmp_path / "zoo.km"))


def test_likes_outside_the_scale_are_refused(shell, zoo_files, tmp_path):
    for verb in (["rules", zoo_files[1]], ["report", zoo_files[1], "-o", tmp_path / "x.html"]):
        assert "at most 1" in one_sentence(shell(*verb, "--likes", 7), 2)


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "kept"), [(80, True), (3, False)])
def test_what_there_is_at_an_interrupt_is_kept(shell, stars, tmp_path, monkeypatch, count, kept):
    right, calls, path = Chain.sweep, [], tmp_path / "m.km"

    def once(self, *given, **options):
        calls.append(given)
        if len(calls) == count:
            raise KeyboardInterrupt
        return right(self, *given, **options)

    monkeypatch.setattr(Chain, "sweep", once)
    result = shell("fit", stars, "--point", "--events", 3, "--jobs", 1, "-o", path)
    assert result.exit_code == INTERRUPTED, result.output
    assert ("Model written to" in result.output) is kept
    assert path.exists() is kept


def test_unknown_ids(shell, zoo_files):
    model = zoo_files[1]
    for arguments in (["explain", model, "Dolfin", "milk"], ["recommend", model, "Dolfin"]):
        output = one_sentence(shell(*arguments))
        assert "no data on user 'Dolfin'. Did you mean 'dolphin'" in output
        assert shell(*arguments, "--unknown", "average").exit_code == 0
    assert "Did you mean 'milk'" in one_sentence(shell("rules", model, "--about", "Mlik"))
    assert shell("predict", model, stdin="nobody,milk\n").exit_code == 0
    assert "--unknown average" in one_sentence(shell("predict", model, "--unknown", "error", stdin="nobody,milk\n"))


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
        shell("fit", ratings, "--set", f"item_solver={EVIL}", "-o", tmp_path / "m.km"),
        shell("fit", ratings, "--dask", EVIL, "-o", tmp_path / "m.km"),
        shell(EVIL),
        shell("fit", f"--{EVIL}"),
        shell(f"--{EVIL}"),
        shell("fit", tmp_path / "nowhere" / EVIL, "-o", tmp_path / EVIL / "m.km"),
        shell("fit", ratings, "--events", 2, "--set", "max_iter=1", "-o", evil),
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
