"""Tables in the documents are those of benchmarks/results, and the harness keeps its word."""

import importlib
import re
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
    tables = module("tables")
    differing = [path.name for path in tables.documents() if tables.rendered(text := path.read_text("utf-8")) != text]
    assert not differing, "run: python benchmarks/tables.py"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_are_whole(path, module, tmp_path):
    table = module("tables").Table.read(path.stem)
    assert table.name == path.stem
    assert table.title
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", table.date)
    assert all(len(row) == len(table.columns) for row in table.rows)
    script = table.command.split()[1]
    assert (ROOT / script).exists()
    assert table.environment
    assert not re.search(r'/home|/root|/work|/tmp|\\\\|"(node|host)', path.read_text("utf-8"))
    assert path.read_text("utf-8") == table.write(tmp_path).read_text("utf-8")


def test_every_result_is_shown_and_every_script_described(module):
    tables = module("tables")
    shown = {m["name"] for path in tables.documents() for m in tables.PLACE.finditer(path.read_text("utf-8"))}
    assert {path.stem for path in RESULTS} <= shown
    described = (BENCHMARKS / "README.md").read_text("utf-8")
    for script in BENCHMARKS.glob("*.py"):
        assert f"`{script.name}`" in described or f"benchmarks/{script.name}" in described, script.name


def test_a_table_is_written_read_and_shown(module, tmp_path, capsys):
    tables = module("tables")
    columns = [tables.Column("D"), tables.Column("error", ".2f")]
    table = tables.Table("t", "Errors", "python benchmarks/t.py", columns)
    table.add(4, 0.125)
    table.add(8, None)
    assert "| 4 | 0.12 |" in capsys.readouterr().out
    table.write(tmp_path)
    assert tables.Table.read("t", tmp_path) == table
    text = "before\n<!-- table: t -->\nold\n<!-- end -->\nafter"
    new = tables.rendered(text, tmp_path)
    assert "| D | error |\n|---|---|\n| 4 | 0.12 |\n| 8 |  |\n" in new
    assert "old" not in new
    assert tables.rendered(new, tmp_path) == new


def test_rows_of_parts_that_were_not_run_stay_as_they_were_stored(module, tmp_path):
    tables, harness = module("tables"), module("harness")

    def table(*rows):
        return tables.Table("t", "Errors", "python benchmarks/t.py", [tables.Column("part")] * 2, list(rows))

    stored = table(["a", 1], ["a", 2], ["b", 3])
    stored.environment = {"2026-01-01, elsewhere": ["a", "b"]}
    stored.write(tmp_path)
    new = table(["c", 4], ["a", 5])
    harness.beside_stored(new, tmp_path)
    assert new.rows == [["a", 5], ["b", 3], ["c", 4]]
    assert new.environment.pop("2026-01-01, elsewhere") == ["b"]
    assert list(new.environment.values()) == [["c", "a"]]
