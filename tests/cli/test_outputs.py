"""What verbs write: never onto what they read; the true text for programs, what cannot act for people."""

import csv
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import kolmogorov as km
from helpers.processes import PATIENCE, tool


def writing(ratings, model):
    """Words of verbs, and the files that they read."""
    yield ("fit", ratings, "--point"), [ratings]
    yield ("update", model, ratings), [ratings]
    yield ("predict", model, ratings), [ratings, model]
    yield ("recommend", model, "--ratings", ratings), [ratings, model]
    yield ("report", model, "--data", ratings), [ratings, model]
    yield ("tune", ratings, "--try", "n_events=2"), [ratings]


@pytest.mark.parametrize("way", ["path", "symlink", "hard link"])
def test_no_verb_writes_onto_what_it_reads(shell, copies, tmp_path, way):
    before = [path.read_bytes() for path in copies]
    for arguments, inputs in writing(*copies):
        for number, path in enumerate(inputs):
            target = path if way == "path" else tmp_path / f"{arguments[0]} {number}"
            if way == "symlink":
                target.symlink_to(path)
            elif way == "hard link":
                os.link(path, target)
            result = shell(*arguments, "-o", target)
            assert result.exit_code == 2, result.output
            assert "is an input of this command" in result.output
    assert [path.read_bytes() for path in copies] == before


def test_read_only_files_and_folders_stay_and_links_are_followed(shell, done, copies, tmp_path):
    ratings, model = copies
    target, precious, packed = tmp_path / "target", tmp_path / "precious", tmp_path / "table"
    target.write_text("precious")
    target.chmod(0o440)
    for arguments, _ in writing(*copies):
        result = shell(*arguments, "-o", target)
        assert (result.exit_code, "it is read-only" in result.output) == (1, True)
    assert target.read_text() == "precious"
    precious.mkdir()
    assert shell("data", "pack", ratings, "-o", precious).exit_code == 1
    for _ in range(2):
        done("data", "pack", ratings, "-o", packed)
    link, fifo = tmp_path / "link.km", tmp_path / "fifo"
    model.chmod(0o600)
    link.symlink_to(model)
    done("fit", ratings, "--point", "--n-events", 2, "-q", "-o", link)
    assert link.is_symlink()
    assert model.stat().st_mode & 0o777 == 0o600
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["link.km", "precious", "table", "target", "zoo.csv", "zoo.km"]
    os.mkfifo(fifo)
    assert "no regular file" in shell("explain", fifo, "bear", "milk").output
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE)
    done("data", "export", "zoo", "-o", fifo)
    assert reader.communicate()[0].startswith(b"user,item,rating")


def saved(path, names):
    table = km.Observations.from_arrays(["a", *["b"] * len(names)], [names[0], *names], [1, *np.arange(len(names)) % 2])
    km.KolmogorovModel(2, learn_from="ratings", random_state=0, max_iter=2).fit(table).save(path)
    return "recommend", path, "b", "--include-seen"


def test_machines_get_the_true_text_and_people_what_cannot_act(done, tmp_path):
    names = ["a\x1b[31m", "b\nc", "d\u202ee"]
    listed = saved(tmp_path / "m.km", names)
    rows = json.loads(done(*listed, "--format", "json").stdout)
    assert {row["item"] for row in rows} == set(names)
    text = done(*listed, "--format", "csv").stdout
    assert {row["item"] for row in csv.DictReader(io.StringIO(text, newline=""))} == set(names)
    done(*listed, "-o", tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text()) == rows
    shown = done(*listed).output
    assert not set("\x1b\u202e") & set(shown)
    assert all(escaped in shown for escaped in ("a\\x1b[31m", "b\\nc", "d\\u202ee"))


def test_utf_8_whatever_the_locale(tmp_path):
    listed = saved(tmp_path / "m.km", ["Amélie", "七人の侍"])
    gone = ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG", "LC_CTYPE")
    environment = {name: value for name, value in os.environ.items() if name not in gone}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for form in ("csv", "table"):
        words = [sys.executable, "-m", "kolmogorov", *map(str, listed), "--format", form]
        done = subprocess.run(words, capture_output=True, env=environment, check=True)
        assert all(name in done.stdout.decode("utf-8") for name in ("Amélie", "七人の侍"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_cleans_up(tmp_path, number):
    run = subprocess.Popen(
        tool("data", "pack", "-", "-o", tmp_path / "table"),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"KOLMOGOROV_PATIENCE": "0"},
    )
    run.stdin.write("user,item,rating\na,b,1\n")
    run.stdin.flush()
    while "Packing" not in run.stderr.readline():
        assert run.poll() is None
    run.send_signal(number)
    error = run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == 128 + number
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())
