"""The items compute, store, and say what their numbers say."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kolmogorov.cli import main
from kolmogorov.data.datasets.movielens import official_folds
from kolmogorov.errors import ParameterError
from kolmogorov.paper import ITEMS, Effort, item
from kolmogorov.paper.document import write_document, write_items
from kolmogorov.paper.printed import TABLE_6
from kolmogorov.paper.result import CONTRADICTED, NOT_REPRODUCED, REPRODUCED, Part, verdict
from kolmogorov.paper.runner import compute, environments, presented, stored
from kolmogorov.paper.tables.table6 import taste

# What the items on the toy say is computed once.
pytestmark = pytest.mark.xdist_group("paper")

QUICK = Effort(quick=True)
ON_TOYS = ("table1", "table2", "fig1", "fig2", "fig3", "fig5", "fig6", "speedup")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the items on the toy say."""
    folder = tmp_path_factory.mktemp("paper")
    compute(ON_TOYS, folder, QUICK, say=lambda message: None)
    return {name: presented(name, folder, QUICK)[0] for name in ON_TOYS}


@pytest.mark.long("the paper's items")
@pytest.mark.parametrize("name", ON_TOYS)
def test_items_on_the_toy(name, results):
    result = results[name]
    assert result.rows
    assert all(list(row) == list(result.rows[0]) for row in result.rows)
    assert result.claims
    assert {claim.verdict for claim in result.claims} <= {REPRODUCED, NOT_REPRODUCED, CONTRADICTED}
    for panel in result.panels:
        for x, y in panel.lines.values():
            assert len(x) == len(y) > 0
            assert np.isfinite(y).all()
        assert set(panel.bands) | set(panel.dashed) <= set(panel.lines)


def test_verdicts():
    assert verdict(True) == verdict(True, True) == REPRODUCED
    assert verdict(False) == NOT_REPRODUCED
    assert verdict(False, True) == CONTRADICTED


def test_the_descents_of_fig_1_are_one_curve(results):
    claim = next(claim for claim in results["fig1"].claims if "same points" in claim.says)
    assert claim.verdict == REPRODUCED
    slope = next(claim for claim in results["fig1"].claims if "independent of gamma" in claim.says)
    assert slope.verdict == CONTRADICTED


def test_newton_and_screening_need_fewest_decompositions_in_fig_2(results):
    evds = {row["method"]: row["EVDs to a gap of 1e-06"] for row in results["fig2"].rows}
    assert 2 * evds["newton"] <= evds["gd"]
    assert 2 * evds["enhanced_gd, screened"] <= evds["enhanced_gd"]


def test_the_speed_up_is_made_by_the_start(results):
    ratio = {
        row["u_0"]: row["EVD ratio, D = 16"]
        for row in results["speedup"].rows
        if (row["step"], row["tol"]) == (0.2, 1e-2)
    }
    assert 1.1 < ratio[1.0] < 1.3
    assert 8 < ratio[50.0] < 12
    assert ratio[150.0] > 26


def test_lemma_2_holds_in_fig_6_and_lanczos_stops_where_printed(results):
    lemma, stop, *_ = results["fig6"].claims
    assert lemma.verdict == stop.verdict == REPRODUCED


def test_shares_of_table_2_sum_to_one_hundred(results):
    for name in results["table2"].rows[0]:
        if name != "phase":
            assert sum(row[name] for row in results["table2"].rows) == pytest.approx(100)


def test_table_6_comes_from_u1_to_the_last_digit(data_directory):
    folds = official_folds()
    found = [(item, user, *taste(folds[0][0], user)) for item, user, _, _ in TABLE_6]
    assert [(item, user, count, round(share, 2)) for item, user, count, share in found] == TABLE_6
    for train, _ in folds[1:]:
        assert [taste(train, user)[0] for _, user, *_ in TABLE_6] != [count for *_, count, _ in TABLE_6]


def test_relations_of_table_6_on_movielens(data_directory, tmp_path):
    compute(["table6"], tmp_path, QUICK, say=lambda message: None)
    result, _ = presented("table6", tmp_path, QUICK)
    assert any("our direction" in sentence for sentence in result.sentences)
    assert result.claims[0].verdict == REPRODUCED
    assert all(0 <= row["accuracy %"] <= 100 for row in result.rows)


def test_parts_are_stored_and_taken_up_again(tmp_path):
    told = []
    compute(["fig6"], tmp_path, QUICK, say=told.append)
    (part,) = item("fig6").parts(QUICK)
    assert told == [f"fig6: {part.key}"]
    record = json.loads((tmp_path / "parts" / f"{part.key}.json").read_text())
    assert record["environment"]["processors"] >= 1
    compute(["fig6"], tmp_path, QUICK, say=told.append)
    assert len(told) == 1
    compute(["fig6"], tmp_path, QUICK, say=told.append, fresh=True)
    assert len(told) == 2
    # What another version computed stands, unless it computed something else.
    record["environment"]["kolmogorov"] = "0.0.0"
    path = tmp_path / "parts" / f"{part.key}.json"
    path.write_text(json.dumps(record))
    assert stored(tmp_path, part) == record
    assert environments(tmp_path, QUICK)[0].startswith("kolmogorov 0.0.0, Python")
    record["protocol"] += 1
    path.write_text(json.dumps(record))
    assert stored(tmp_path, part) is None


def test_the_stored_reproduction_is_whole():
    folder = Path(__file__).resolve().parents[2] / "docs" / "paper"
    missing = [part.key for name in ITEMS for part in item(name).parts(Effort(quick=False)) if not stored(folder, part)]
    assert missing == []
    page = (folder.parent / "paper.md").read_text("utf-8")
    assert all(where in page for where in environments(folder, Effort(quick=False)))


def test_shares_divide_the_parts(tmp_path, monkeypatch):
    done = []
    parts = [Part(f"part-{k}", lambda k=k: done.append(k)) for k in range(5)]
    monkeypatch.setattr(
        "kolmogorov.paper.runner.item", lambda name: type("Item", (), {"parts": lambda self, e: parts})()
    )
    for k in (1, 2):
        compute(["any"], tmp_path, QUICK, say=lambda message: None, share=(k, 2))
    assert done == [0, 2, 4, 1, 3]


def test_parts_without_their_module_are_left_out(tmp_path, monkeypatch):
    told = []
    part = Part("never", lambda: 1 / 0, needs="no_such_module")
    monkeypatch.setattr(
        "kolmogorov.paper.runner.item", lambda name: type("Item", (), {"parts": lambda self, e: [part]})()
    )
    compute(["any"], tmp_path, QUICK, say=told.append)
    assert "left out" in told[0]


def test_documents_are_written_from_what_is_stored(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'paper'")
    compute(["fig6"], tmp_path, QUICK, say=lambda message: None)
    written = write_items(["fig6", "table1"], tmp_path, QUICK, say=lambda message: None)
    assert list(written) == ["fig6"]  # Of table1 nothing is stored.
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"parts", *(f"fig6.{kind}" for kind in ("csv", "md", "png", "svg"))}
    with (tmp_path / "fig6.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 12
    write_document(written, tmp_path, QUICK)
    page = (tmp_path / "index.md").read_text()
    assert "## Claims and verdicts" in page
    assert "Fig. 6" in page
    assert "fig6.svg" in (tmp_path / "index.html").read_text()


def test_without_matplotlib_all_but_the_pictures_is_written(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr("kolmogorov.paper.document.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    compute(["fig6"], tmp_path, QUICK, say=told.append)
    write_items(["fig6"], tmp_path, QUICK, say=told.append)
    assert {path.name for path in tmp_path.iterdir()} == {"parts", "fig6.csv", "fig6.md"}
    assert any("pictures left out" in message for message in told)


def test_the_verb(tmp_path):
    runner = CliRunner()
    listing = runner.invoke(main, ["paper", "list"])
    assert all(name in listing.output for name in ITEMS)
    wrong = runner.invoke(main, ["paper", "table7"])
    assert wrong.exit_code == 1
    assert "no 'table7'" in wrong.output
    assert "K/N" in runner.invoke(main, ["paper", "fig6", "--share", "3/2"]).output
    done = runner.invoke(main, ["paper", "fig6", "--quick", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "fig6.md").exists()
    again = runner.invoke(main, ["paper", "fig6", "--quick", "--share", "1/2", "--out", str(tmp_path / "out")])
    assert again.exit_code == 0, again.output
    with pytest.raises(ParameterError, match="Did you mean"):
        item("tabel1")
