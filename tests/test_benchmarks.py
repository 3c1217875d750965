"""Tables in the documents are those of benchmarks/results, and the harness keeps its word."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = sorted((BENCHMARKS / "results").glob("*.json"))


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def test_documents_show_what_was_measured(module):
    render = module("render")
    differing = [path.name for path in render.documents() if render.rendered(text := path.read_text("utf-8")) != text]
    assert not differing, "run: python benchmarks/render.py"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_are_whole(path, module, tmp_path):
    table = module("tables").Table.read(path.stem)
    assert table.name == path.stem
    assert table.title
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table.date)
    assert all(len(row) == len(table.columns) for row in table.rows)
    script = table.command.split()[1]
    assert (ROOT / script).exists()
    assert table.transcribed or table.environment
    assert not re.search(r'/home|/root|/work|/tmp|\\\\|"(node|host)', path.read_text("utf-8"))
    assert path.read_text("utf-8") == table.write(tmp_path).read_text("utf-8")


def test_every_result_is_shown_and_every_script_described(module):
    render = module("render")
    shown = {m["name"] for path in render.documents() for m in render.PLACE.finditer(path.read_text("utf-8"))}
    assert {path.stem for path in RESULTS} <= shown
    described = (BENCHMARKS / "README.md").read_text("utf-8")
    for script in BENCHMARKS.glob("*.py"):
        assert f"`{script.name}`" in described or f"benchmarks/{script.name}" in described, script.name


def test_cells(module):
    column = module("tables").Column
    assert column("a", ".1%").text(0.255) == "25.5%"
    assert column("a", ".1f").text(None) == ""
    assert column("a", ".1f", missing="–").text(None) == "–"
    assert column("a", ".1f").text("as it is") == "as it is"
    assert column("a", ["significant", ".0%"], "{} ({})").text([1234.5, 0.5]) == "1234 (50%)"
    assert column("a", ["gap", ".0f"]).text([0.0, 7]) == "0 / 7"
    assert column("a", ["gap", ".0f"]).text([3e-5]) == "3e-05"


def test_a_table_is_written_read_and_shown(module, tmp_path, capsys):
    tables, render = module("tables"), module("render")
    columns = [tables.Column("D"), tables.Column("error", ".2f")]
    table = tables.Table("t", "Errors", "python benchmarks/t.py", columns, transposed=True)
    table.add(4, 0.125)
    table.add(8, None)
    assert "| 4 | 0.12 |" in capsys.readouterr().out
    table.write(tmp_path)
    assert tables.Table.read("t", tmp_path) == table
    text = "before\n<!-- table: t -->\nold\n<!-- end -->\nafter <!-- table: none -->\n<!-- end -->\n"
    new = render.rendered(text, tmp_path)
    assert "| D | 4 | 8 |\n|---|---|---|\n| error | 0.12 |  |\n" in new
    assert "old" not in new
    assert "Not measured yet." in new
    assert render.rendered(new, tmp_path) == new


def test_the_harness_times_in_turns(module):
    harness = module("harness")
    calls = []
    ours, theirs, times = harness.ratio(lambda: calls.append(1), lambda: calls.append(2))
    assert calls == [1, 2] * 3
    assert times == pytest.approx(ours.median / theirs.median)
    timing = harness.timed(lambda: 7, repeats=5, warm_up=lambda: calls.append(3))
    assert timing.result == 7
    assert len(timing.seconds) == 5
    assert timing.best <= timing.median
    assert calls[-1] == 3


def test_a_run_without_a_peer_is_not_saved(module, monkeypatch, tmp_path, capsys):
    harness, tables = module("harness"), module("tables")
    monkeypatch.setattr(harness, "_ABSENT", {})
    written = []
    monkeypatch.setattr(tables.Table, "write", lambda self: written.append(self.name))
    table = tables.Table("t", "Errors", "", [tables.Column("D")])
    table.add(4)
    assert harness.peer("json")
    harness.finish(table)
    harness.finish(table, complete=False)
    assert written == ["t"]
    assert not harness.peer("no_such_peer")
    assert "pip install '.[bench]'" in capsys.readouterr().out
    harness.finish(table)
    assert written == ["t"]
    assert "not saved: without no_such_peer" in capsys.readouterr().out


def test_tags_of_wheels(module):
    fits = module("install").fits
    here = f"cp3{sys.version_info.minor}"
    assert all(fits(*tags) for tags in ((here, here), ("cp39", "abi3"), ("py3", "none"), ("py2.py3", "none")))
    assert not any(fits(*tags) for tags in (("cp39", "cp39"), (here, f"{here}t"), ("cp399", "abi3"), ("py2", "none")))


def test_lists_of_peers_have_the_settings_that_were_chosen_for_them(module):
    peers = module("peers")
    chosen = peers.chosen_before()
    for method, (_, _, grid) in peers.LISTERS.items():
        assert grid is not None or method in chosen
    assert set(chosen["ALS (implicit)"]) == {"factors", "reg", "alpha"}
    assert isinstance(chosen["ALS (implicit)"]["factors"], int)
