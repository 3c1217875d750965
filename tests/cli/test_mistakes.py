"""Every mistake ends in one sentence that speaks the language of the shell; names never act."""

import re
import signal
import subprocess
import sys
import warnings

import pytest

from kolmogorov.cli.shell import INTERRUPTED
from kolmogorov.draws.chain import Chain
from kolmogorov.errors import ConvergenceWarning
from kolmogorov.models.kolmogorov import KolmogorovModel

from .conftest import FAST, every_verb

COMMANDS = dict(every_verb())


def one_sentence(result, status=1):
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    assert "This is a bug in kolmogorov" not in result.output
    (message,) = re.findall(r"^Error: (.*)$", result.output, re.MULTILINE)
    return message


def speaks_shell(message, command):
    """Check that a message names no parameter as Python does for which the verb has an option, and no other option."""
    names = "|".join(parameter.name for parameter in command.params)
    assert not re.search(rf"\b({names})=|'({names})' must", re.sub(r"--(map|set) \S+", "", message)), message
    flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", message)) <= flags, message


#: Files, and what is advised to `fit`.
BAD_RATINGS = {
    "user,item,rating\nПривет,b,1\n".encode("cp1251"): "--set encoding",
    b"user,item,rating\na,b,1\na,b,0\n": "--set duplicates=mean or --set duplicates=last",
    b"user,item,rating\na,b,yes\na,c,abstain\na,d,no\n": "--map no=0,yes=1,abstain=NUMBER",
    b"user,item,rating\na,b,1\na,c,\n": "--missing ''",
    b"user,item,rating\na,b,-1\n": "--set minimum",
    b"user,item,rating\na,b,7\n": "--maximum",
    b"a/b/1\n": "--set sep",
    b"rating,user,x\n1,a,1\n": "--item",
}
READING = {
    ("fit",): lambda bad, model: (bad, "-o", bad.with_name("m.km"), "--maximum", 5),
    ("predict",): lambda bad, model: (model, bad, "--unknown", "error"),
    ("recommend",): lambda bad, model: (model, "--ratings", bad),
    ("rules",): lambda bad, model: (model, "--data", bad),
    ("report",): lambda bad, model: (model, "--data", bad, "-o", bad.with_name("r.html")),
    ("evaluate",): lambda bad, model: (model, bad),
    ("update",): lambda bad, model: (model, bad, "-o", bad.with_name("u.km")),
    ("tune",): lambda bad, model: (bad, "--maximum", 5),
    ("data", "describe"): lambda bad, model: (bad, "--maximum", 5),
    ("data", "pack"): lambda bad, model: (bad, "-o", bad.with_name("t.table"), "--maximum", 5),
}


@pytest.mark.parametrize("content", BAD_RATINGS)
def test_remedies_are_options_of_the_verb(shell, zoo_files, tmp_path, content):
    (bad := tmp_path / "bad.csv").write_bytes(content)
    assert {names for names, verb in COMMANDS.items() if any(p.name == "settings" for p in verb.params)} == set(READING)
    for names, call in READING.items():
        result = shell(*names, *call(bad, zoo_files[1]))
        if result.exit_code or names != ("predict",):
            speaks_shell(message := one_sentence(result), COMMANDS[names])
            assert names != ("fit",) or BAD_RATINGS[content] in message


#: Wrong words for a verb, its status, and what is said.
WRONG = [
    ("fit {ratings} -o {new} --n-events 0", 2, "--n-events must be an integer >= 1"),
    ("fit {ratings} -o {new} --random-state -1", 2, "--random-state"),
    ("fit {ratings} -o {new} --n-jobs 0", 2, "--n-jobs"),
    ("fit {ratings} -o {new} --test-size 2", 2, "--test-size"),
    ("fit {ratings} -o {new} --maximum nan", 2, "--maximum"),
    ("fit {ratings} -o {ratings}/x.km", 1, "cannot be written"),
    ("fit {ratings} -o -", 2, "not to standard output"),
    ("fit {ratings} -o {new} --bayes --set user_reg=3", 2, "--set user_reg: goes only with --point"),
    ("fit {ratings} -o {new} --point --set n_chains=7", 2, "--set n_chains: goes only with --bayes"),
    ("fit {ratings} -o {new} --psi soft --bayes", 2, "--psi: goes only with --point"),
    ("fit {ratings} -o {new} --set item_solver=magic", 2, "magic"),
    ("fit {ratings} -o {new} --set tool=3", 2, "no such parameter. Did you mean 'tol'?"),
    ("fit dataset:zoo -o {new} --maximum 5", 2, "own layout"),
    ("fit {folder}/none.csv -o {new}", 1, "There is no file"),
    ("recommend {model} bear --n 0", 2, "--n must"),
    ("recommend {model} Dolfin", 1, "no data on user 'Dolfin'. Did you mean 'dolphin'"),
    ("recommend {model}", 2, "Give users"),
    ("recommend {folder}/none.km bear", 2, "does not exist"),
    ("explain {model} Dolfin milk", 1, "Did you mean 'dolphin'"),
    ("explain {model} bear Mlik", 1, "Did you mean 'milk'"),
    ("rules {model} --about Mlik", 1, "Did you mean 'milk'"),
    ("rules {model} --likes 7", 2, "--likes"),
    ("predict {model} {ratings} --interval 0.9", 2, "--bayes"),
    ("predict {model} {ratings} -o {model}", 2, "is an input of this command"),
    ("tune {ratings} --folds 1", 2, "folds"),
    ("tune {ratings} --try tool=3", 2, "tool"),
    ("data describe {ratings} --map yes=much", 2, "--map"),
    ("data describe {ratings} --set x", 2, "--set"),
    ("data describe {ratings} --set sepp=1", 2, "Did you mean 'sep'?"),
    ("recomend {model}", 2, "Did you mean 'recommend'?"),
]


@pytest.mark.parametrize(("words", "status", "said"), WRONG)
def test_what_is_wrong_is_said_by_its_option(shell, copies, tmp_path, words, status, said):
    places = {"ratings": copies[0], "model": copies[1], "new": tmp_path / "new.km", "folder": tmp_path}
    message = one_sentence(shell(*(word.format(**places) for word in words.split())), status)
    assert re.search(said.replace("?", r"\?").replace(".", r"\."), message), message
    assert not (tmp_path / "new.km").exists()


def test_damage_memory_and_what_nobody_foresaw(shell, copies, tmp_path, monkeypatch):
    ratings, model = copies
    model.write_bytes(model.read_bytes()[:-9])
    assert "damaged" in one_sentence(shell("recommend", model, "bear"))

    def raising(error):
        def fit(self, *args, **kwargs):
            raise error

        monkeypatch.setattr(KolmogorovModel, "fit", fit)
        return "fit", ratings, "--point", "-o", tmp_path / "m.km"

    assert "Not enough memory (8 PiB). Try a smaller --n-events" in one_sentence(shell(*raising(MemoryError("8 PiB"))))
    arguments = raising(ZeroDivisionError("no\x1b[31m\nsuch"))
    result = shell(*arguments, env={"KOLMOGOROV_DEBUG": None})
    assert result.exit_code == 1
    assert "This is a bug in kolmogorov (ZeroDivisionError: no\\x1b[31m\\nsuch)" in result.output
    assert "Traceback" not in result.output
    assert "Traceback" in shell(*arguments, env={"KOLMOGOROV_DEBUG": "1"}).stderr


@pytest.mark.parametrize(("count", "kept"), [(80, True), (3, False)])
def test_what_there_is_at_an_interrupt_is_kept(shell, stars, tmp_path, monkeypatch, count, kept):
    right, calls, path = Chain.sweep, [], tmp_path / "m.km"

    def once(self, *given, **options):
        calls.append(given)
        if len(calls) == count:
            raise KeyboardInterrupt
        return right(self, *given, **options)

    monkeypatch.setattr(Chain, "sweep", once)
    result = shell("fit", stars, "--point", "--n-events", 3, "--n-jobs", 1, "-o", path)
    assert result.exit_code == INTERRUPTED, result.output
    assert ("Model written to" in result.output) is kept
    assert path.exists() is kept


@pytest.mark.long("processes with closed streams")
@pytest.mark.parametrize(
    ("redirection", "words", "said"),
    [
        ("<&-", "fit - -o {folder}/m.km", "Error: standard input is empty.\n"),
        ("<&-", "predict {model}", "Error: Standard input is closed. Name a file, or pipe lines in.\n"),
        (">&-", "data export zoo", "Error: Standard output is closed. Name a file with --output.\n"),
        (">&-", "recommend {model} bear", "Error: Standard output is closed. Name a file with --output.\n"),
        (">/dev/full", "recommend {model} bear", "Error: No space left on device.\n"),
        ("2>&-", "explain {model} bear milk", ""),
        ("| head -n 1", "data export zoo", ""),
    ],
)
def test_closed_streams(zoo_files, tmp_path, redirection, words, said):
    given = [word.format(model=zoo_files[1], folder=tmp_path) for word in words.split()]
    command = ["bash", "-c", f'{sys.executable} -m kolmogorov "$@" {redirection}', "bash", *given]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stderr, bool(result.returncode)) == (said, bool(said))


# --- names that would act, and warnings -----------------------------------------------------------------------------

EVIL = "x\x1b[31m\u202e\n[red]y"


def test_names_of_all_kinds_are_shown_and_never_act(shell, zoo_files, tmp_path):
    ratings, model = zoo_files
    evil, twice = tmp_path / EVIL, tmp_path / "twice.csv"
    twice.write_text(f'user,item,rating\na,"{EVIL}",1\na,"{EVIL}",1\n')
    for told, words in [
        (True, ("fit", evil, "-o", tmp_path / "m.km")),
        (True, ("fit", ratings, "--user", EVIL, "-o", tmp_path / "m.km")),
        (True, ("fit", twice, "-o", tmp_path / "m.km")),
        (True, ("fit", ratings, *FAST, "-o", evil)),
        (True, ("report", model, "-o", tmp_path / f"{EVIL}.html")),
        (False, ("explain", model, EVIL, "milk")),
        (False, ("recommend", model, EVIL, "--unknown", "average")),
        (False, ("data", "export", EVIL)),
        (False, (EVIL,)),
        (False, ("fit", f"--{EVIL}")),
    ]:
        output = shell(*words).output
        assert not set("\x1b\u202e") & set(output), output
        assert "\n[red]y" not in output, output
        assert "\\x1b[31m\\u202e" in output or not told, output


def test_warnings_are_one_plain_line_and_quiet_means_errors_only(done, zoo_files, tmp_path, monkeypatch):
    fit = KolmogorovModel.fit

    def warning(self, *args, **kwargs):
        for _ in range(3):
            warnings.warn("users\x1b[31m 'a' are new", ConvergenceWarning, stacklevel=2)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(KolmogorovModel, "fit", warning)
    before = warnings.showwarning, signal.getsignal(signal.SIGTERM)
    arguments = ("fit", zoo_files[0], "--point", "--n-events", 2, "-o", tmp_path / "m.km")
    assert done(*arguments).stderr.count("kolmogorov: users\\x1b[31m 'a' are new\n") == 1
    assert done(*arguments, "-q").output == ""
    assert (warnings.showwarning, signal.getsignal(signal.SIGTERM)) == before
