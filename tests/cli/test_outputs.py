"""What verbs write: never onto what they read, never onto what is read-only, nothing that a spreadsheet runs."""

import csv
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

import kolmogorov as km
from helpers.processes import PATIENCE, tool
from kolmogorov.cli.display import safe_cell, table

from .conftest import every_verb

WRITING = {
    "fit": lambda ratings, model: [("fit", ratings, "--events", 2, "--point"), [ratings]],
    "update": lambda ratings, model: [("update", model, ratings), [ratings]],
    "predict": lambda ratings, model: [("predict", model, ratings), [ratings, model]],
    "recommend": lambda ratings, model: [("recommend", model, "--ratings", ratings), [ratings, model]],
    "explain": lambda ratings, model: [("explain", model, "bear", "milk"), [model]],
    "rules": lambda ratings, model: [("rules", model, "--data", ratings), [ratings, model]],
    "report": lambda ratings, model: [("report", model, "--data", ratings), [ratings, model]],
    "evaluate": lambda ratings, model: [("evaluate", model, ratings), [ratings, model]],
    "tune": lambda ratings, model: [("tune", ratings, "--events", "2", "--try", "user_reg=1"), [ratings]],
    "data pack": lambda ratings, model: [("data", "pack", ratings), [ratings]],
}


def test_every_verb_that_writes_is_tested_here():
    writing = {" ".join(names) for names, command in every_verb() if any(p.name == "output" for p in command.params)}
    assert writing == WRITING.keys() | {"data export"}


@pytest.mark.parametrize("way", ["path", "symlink", "hard link", "roundabout"])
def test_no_verb_writes_onto_what_it_reads(shell, copies, tmp_path, way):
    before = [path.read_bytes() for path in copies]
    for verb, written in WRITING.items():
        arguments, inputs = written(*copies)
        for number, path in enumerate(inputs):
            target = tmp_path / f"{verb} {number}" if "link" in way else path
            if way == "symlink":
                target.symlink_to(path)
            elif way == "hard link":
                os.link(path, target)
            elif way == "roundabout":
                target = path.parent / ".." / path.parent.name / path.name
            result = shell(*arguments, "-o", target)
            assert result.exit_code == 2, result.output
            assert "is an input of this command" in result.output
    assert [path.read_bytes() for path in copies] == before


def test_standard_input_folders_and_patterns_are_inputs_too(shell, copies, tmp_path):
    ratings, model = copies
    command = [sys.executable, "-m", "kolmogorov", "predict", str(model), "-o", str(ratings)]
    with ratings.open("rb") as stdin:
        result = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "would be overwritten" in result.stderr
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.parquet").write_bytes(b"x")
    for source in (folder, folder / "*.parquet"):
        assert "would be overwritten" in shell("fit", source, "-o", folder / "1.parquet").output
    assert shell("recommend", model, "bear", "-o", "/dev/null").exit_code == 0


def test_read_only_files_and_folders_stay(shell, copies, tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    target.chmod(0o440)
    for verb in ("fit", "predict", "rules"):
        result = shell(*WRITING[verb](*copies)[0], "-o", target)
        assert result.exit_code == 1
        assert "target is read-only" in result.output
    assert target.read_text() == "precious"
    precious, packed = tmp_path / "precious", tmp_path / "table"
    precious.mkdir()
    assert shell("data", "pack", copies[0], "-o", precious).exit_code == 1
    for _ in range(2):
        assert shell("data", "pack", copies[0], "-o", packed).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "table", "target", "zoo.csv", "zoo.km"]
    for arguments in (("predict", *reversed(copies)), ("fit", copies[0])):
        assert "cannot be written" in shell(*arguments, "-o", tmp_path / "no" / "x").output


def test_links_pipes_and_permissions_survive(shell, copies, tmp_path):
    ratings, model = copies
    model.chmod(0o600)
    link, fifo = tmp_path / "link.km", tmp_path / "fifo"
    link.symlink_to(model)
    assert shell("fit", ratings, "--point", "--events", 2, "-q", "-o", link).exit_code == 0
    assert link.is_symlink()
    assert model.stat().st_mode & 0o777 == 0o600
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE)
    assert shell("data", "export", "zoo", "-o", fifo).exit_code == 0
    assert reader.communicate()[0].startswith(b"user,item,rating")


# --- CSV, JSON, tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1"])
def test_formulas_are_defused(cell):
    assert safe_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-3.5", "+4", "-1e-3", "Alien", "a=b", "1-2", "", " =x", -2.5, None, 3])
def test_other_cells_stay(cell):
    assert safe_cell(cell) == cell


def saved(path, names):
    table = km.Observations.from_arrays(["a", *["b"] * len(names)], [names[0], *names], [1, *np.arange(len(names)) % 2])
    km.KolmogorovModel(2, learn_from="ratings", random_state=0, max_iter=2).fit(table).save(path)
    return "recommend", path, "b", "--include-seen"


def test_safe_cells_on_request(shell, tmp_path):
    listed = saved(tmp_path / "m.km", ["=1+1", "x"])
    assert "\n=1+1," in shell(*listed, "--format", "csv").stdout
    assert "\n'=1+1," in shell(*listed, "--format", "csv", "--safe-cells").stdout
    assert shell(*listed, "--safe-cells", "-o", tmp_path / "x.csv").exit_code == 0
    assert "'=1+1" in (tmp_path / "x.csv").read_text()
    pairs = shell("predict", tmp_path / "m.km", "--safe-cells", "--unknown", "ignore", stdin="user,item\n-a,@b\n")
    assert "'-a,'@b" in pairs.stdout
    refused = shell(*listed, "--safe-cells", "--format", "json")
    assert refused.exit_code == 2
    assert "--safe-cells works only with CSV" in refused.output


def test_machines_get_the_true_text_and_people_what_cannot_act(shell, tmp_path):
    names = ["a\x1b[31m", "b\nc", "d\u202ee"]
    listed = saved(tmp_path / "m.km", names)
    rows = json.loads(shell(*listed, "--format", "json").stdout)
    assert {row["item"] for row in rows} == set(names)
    text = shell(*listed, "--format", "csv").stdout
    assert {row["item"] for row in csv.DictReader(io.StringIO(text, newline=""))} == set(names)
    shown = shell(*listed).output
    assert not set("\x1b\u202e") & set(shown)
    assert all(escaped in shown for escaped in ("a\\x1b[31m", "b\\nc", "d\\u202ee"))


def test_utf_8_whatever_the_locale(tmp_path):
    listed = saved(tmp_path / "m.km", ["Amélie", "七人の侍"])
    gone = ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG", "LC_CTYPE")
    environment = {name: value for name, value in os.environ.items() if name not in gone}
    environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "kolmogorov", *map(str, listed), "--format"]
    for form in ("csv", "table"):
        done = subprocess.run([*command, form], capture_output=True, env=environment, check=True)
        assert all(name in done.stdout.decode("utf-8") for name in ("Amélie", "七人の侍"))


def test_numbers_and_headers_are_not_broken_in_a_narrow_terminal():
    columns = {"item": ["a rather long title " * 3], "probability": [0.1234], "share of users": [1234.5678]}
    screen = Console(width=50, file=io.StringIO())
    screen.print(table("Narrow", columns))
    for words in ("probability", "0.1234", "share of users", "1234.5678"):
        assert words in screen.file.getvalue()


# --- the process ------------------------------------------------------------------------------------------------------


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


def test_a_closed_pipe_is_no_traceback():
    command = f"{sys.executable} -m kolmogorov data export zoo | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "user,item,rating"
    assert "Traceback" not in result.stderr
