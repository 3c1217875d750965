"""What verbs write: never onto what they read, never onto what is read-only, nothing that a spreadsheet runs."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.cli.display import safe_cell

from .conftest import every_verb

WRITING = {
    "fit": lambda ratings, model: [("fit", ratings, "--events", 2), [ratings]],
    "fit checkpoint": lambda ratings, model: [("fit", ratings, "-o", model.with_suffix(".new")), [ratings]],
    "update": lambda ratings, model: [("update", model, ratings), [ratings]],
    "predict": lambda ratings, model: [("predict", model, ratings), [ratings, model]],
    "recommend": lambda ratings, model: [("recommend", model, "--ratings", ratings), [ratings, model]],
    "recommend one": lambda ratings, model: [("recommend", model, "bear"), [model]],
    "explain": lambda ratings, model: [("explain", model, "bear", "milk"), [model]],
    "rules": lambda ratings, model: [("rules", model, "--data", ratings), [ratings, model]],
    "report": lambda ratings, model: [("report", model, "--data", ratings), [ratings, model]],
    "evaluate": lambda ratings, model: [("evaluate", model, ratings), [ratings, model]],
    "tune": lambda ratings, model: [("tune", ratings, "--events", "2", "--user-reg", "1"), [ratings]],
    "data pack": lambda ratings, model: [("data", "pack", ratings), [ratings]],
}


def test_every_verb_that_writes_is_tested_here():
    for names, command in every_verb():
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert "--force" in flags or names == ("data", "pack") or not {"--output", "--checkpoint"} & flags
        assert "--safe-cells" in flags or not {"--output", "--format"} <= flags, names
    writing = {" ".join(names) for names, command in every_verb() if any(p.name == "output" for p in command.params)}
    assert writing == {name.removesuffix(" checkpoint").removesuffix(" one") for name in WRITING} | {"data export"}


@pytest.mark.parametrize("way", ["path", "symlink", "hard link", "roundabout"])
@pytest.mark.parametrize("verb", WRITING)
def test_no_verb_writes_onto_what_it_reads(shell, copies, tmp_path, verb, way):
    before = [path.read_bytes() for path in copies]
    arguments, inputs = WRITING[verb](*copies)
    for number, path in enumerate(inputs):
        target = tmp_path / f"alias{number}" if "link" in way else path
        if way == "symlink":
            target.symlink_to(path)
        elif way == "hard link":
            os.link(path, target)
        elif way == "roundabout":
            target = path.parent / ".." / path.parent.name / path.name
        result = shell(*arguments, "--checkpoint" if "checkpoint" in verb else "-o", target)
        assert result.exit_code == 2, result.output
        assert "is an input of this command" in result.output
        assert "Choose another name for" in result.output
    assert [path.read_bytes() for path in copies] == before


def test_standard_input_folders_patterns_and_datasets_are_inputs_too(shell, copies, tmp_path, monkeypatch):
    ratings, model = copies
    command = [sys.executable, "-m", "kolmogorov", "predict", str(model), "-o", str(ratings)]
    with ratings.open("rb") as stdin:
        result = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "on standard input" in result.stderr
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.parquet").write_bytes(b"x")
    for source in (folder, folder / "*.parquet"):
        result = shell("data", "pack", source, "-o", folder / "1.parquet")
        assert result.exit_code == 2, result.output
        assert "would be overwritten" in result.output
    dataset = tmp_path / "ml-100k"
    dataset.mkdir()
    (dataset / "u.data").write_text("1\t1\t5\t0\n")
    monkeypatch.setenv("KOLMOGOROV_DATA", str(tmp_path))
    for verb in (("fit", "dataset:ml-100k"), ("data", "export", "ml-100k")):
        result = shell(*verb, "-o", dataset / "u.data")
        assert result.exit_code == 2, result.output
    assert (dataset / "u.data").read_text() == "1\t1\t5\t0\n"


def test_two_outputs_are_two_files(shell, copies, tmp_path):
    result = shell("fit", copies[0], "-o", tmp_path / "x", "--checkpoint", tmp_path / "." / "x")
    assert result.exit_code == 2
    assert "cannot be both --checkpoint and --output" in result.output


def test_devices_may_be_both(shell, zoo_files):
    assert shell("recommend", zoo_files[1], "bear", "-o", "/dev/null").exit_code == 0


@pytest.mark.parametrize("verb", ["fit", "predict", "recommend", "rules", "tune"])
def test_read_only_files_want_force(shell, copies, tmp_path, verb):
    target = tmp_path / "target"
    target.write_text("precious")
    target.chmod(0o440)
    arguments, _ = WRITING[verb](*copies)
    result = shell(*arguments, "-o", target)
    assert result.exit_code == 1
    assert "target is read-only" in result.output
    assert "--force" in result.output
    assert "--force" in result.output
    assert target.read_text() == "precious"
    result = shell(*arguments, "-o", target, "--force")
    assert result.exit_code == 0, result.output
    assert target.read_bytes() != b"precious"
    assert target.stat().st_mode & 0o777 == 0o440


def test_only_a_packed_table_is_replaced_by_one(shell, copies, tmp_path):
    precious, table = tmp_path / "precious", tmp_path / "table"
    precious.mkdir()
    assert shell("data", "pack", copies[0], "-o", precious).exit_code == 1
    for _ in range(2):
        assert shell("data", "pack", copies[0], "-o", table).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "table", "zoo.csv", "zoo.km"]


def test_a_private_model_stays_private(shell, copies):
    ratings, model = copies
    model.chmod(0o600)
    assert shell("fit", ratings, "--events", 2, "-q", "-o", model).exit_code == 0
    assert model.stat().st_mode & 0o777 == 0o600


# --- CSV and JSON ------------------------------------------------------------------------------------------------

CELLS = ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1"]
HARMLESS = ["-3.5", "+4", "-1e-3", "Alien", "a=b", "1-2", "", " =x"]


@pytest.mark.parametrize("cell", CELLS)
def test_formulas_are_defused(cell):
    assert safe_cell(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", [*HARMLESS, -2.5, None, 3])
def test_other_cells_stay(cell):
    assert safe_cell(cell) == cell


@pytest.fixture
def evil(tmp_path):
    """A model whose items look like formulas."""
    table = km.Observations.from_arrays(["a", "b", "b"], ["=1+1", "=1+1", "x"], [1, 0, 1])
    path = tmp_path / "evil.km"
    km.KolmogorovModel(2, random_state=0, max_iter=2).fit(table).save(path)
    return path


def test_safe_cells_on_request(shell, evil, tmp_path):
    arguments = ("recommend", evil, "b", "--include-seen", "--format", "csv")
    plain = shell(*arguments)
    assert "\n=1+1," in plain.stdout
    safe = shell(*arguments, "--safe-cells")
    assert "\n'=1+1," in safe.stdout
    assert shell(*arguments[:-2], "--safe-cells", "-o", tmp_path / "x.csv").exit_code == 0
    assert "'=1+1" in (tmp_path / "x.csv").read_text()
    pairs = shell("predict", evil, "--safe-cells", "--unknown", "ignore", stdin="user,item\n-a,@b\n")
    assert "'-a,'@b" in pairs.stdout
    for more in (["--format", "json"], [], ["--format", "table", "-o", tmp_path / "x.json"]):
        refused = shell(*arguments[:-2], "--safe-cells", *more)
        assert refused.exit_code == 2
        assert "--safe-cells works only with CSV" in refused.output


def test_machines_get_the_true_text(shell, tmp_path):
    names = ["a\x1b[31m", "b\nc", "d\u202ee"]
    table = km.Observations.from_arrays(["u"] * 3, names, [1.0, 0.5, 0.0])
    path = tmp_path / "m.km"
    km.KolmogorovModel(2, random_state=0, max_iter=2).fit(table).save(path)
    arguments = ("recommend", path, "u", "--include-seen")
    rows = json.loads(shell(*arguments, "--format", "json").stdout)
    assert {row["item"] for row in rows} == set(names)
    text = shell(*arguments, "--format", "csv").stdout
    assert {row["item"] for row in csv.DictReader(io.StringIO(text, newline=""))} == set(names)
    shown = shell(*arguments).output
    assert not set("\x1b\u202e") & set(shown)
    assert all(escaped in shown for escaped in ("a\\x1b[31m", "b\\nc", "d\\u202ee"))


def test_utf_8_whatever_the_locale(tmp_path):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    table = km.Observations.from_arrays(["u", "u"], ["Amélie", "七人の侍"], np.array([1.0, 0.0]))
    path = tmp_path / "m.km"
    km.KolmogorovModel(2, learn_from="ratings", random_state=0, max_iter=2).fit(table).save(path)
    gone = ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG", "LC_CTYPE")
    environment = {name: value for name, value in os.environ.items() if name not in gone} | locale
    code = "import sys; from kolmogorov.cli import main; [main([*sys.argv[1:], f], standalone_mode=False) for f in %s]"
    forms = ("csv", "json", "table")
    command = ["recommend", str(path), "u", "--include-seen", "--format"]
    done = subprocess.run(
        [sys.executable, "-c", code % (forms,), *command], capture_output=True, env=environment, check=True
    )
    for name in ("Amélie", "七人の侍"):
        assert done.stdout.decode("utf-8").count(name) == len(forms)
