"""The items run, say what their numbers say, and are written whole."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from kolmogorov.cli import main
from kolmogorov.errors import ParameterError
from kolmogorov.paper import ITEMS, Effort, run_item
from kolmogorov.paper.runner import join, run_items

QUICK = Effort(quick=True)
pytest.importorskip("matplotlib", reason="the paper's figures need the extra 'paper'")


@pytest.mark.parametrize("name", ["table1", "table2", "fig1", "fig2", "fig3", "fig5", "fig6"])
def test_items_on_the_toy(name):
    result = run_item(name, QUICK)
    lengths = {len(column) for column in result.columns.values()}
    assert len(lengths) == 1
    assert lengths.pop() > 0
    assert result.sentences
    assert result.panels
    for panel in result.panels:
        for x, y in panel.lines.values():
            assert len(x) == len(y) > 0
            assert np.isfinite(y).all()


def test_the_descents_of_fig_1_are_one_curve():
    columns = run_item("fig1", QUICK).columns
    curves = {}
    for gamma, solver, gap in zip(columns["gamma"], columns["solver"], columns["gap"], strict=True):
        curves.setdefault((gamma, solver), []).append(gap)
    for gamma in (10, 100, 1000):
        np.testing.assert_allclose(curves[gamma, "gd"], curves[gamma, "enhanced_gd"], atol=1e-9)


def test_newton_needs_fewest_decompositions_in_fig_2():
    result = run_item("fig2", QUICK)
    evds = result.panels[1].lines
    assert evds["newton"][0][-1] * 4 <= evds["gd"][0][-1]


def test_lemma_2_holds_in_fig_6():
    result = run_item("fig6", QUICK)
    assert "holds" in result.sentences[0]


def test_shares_of_table_2_sum_to_one_hundred():
    columns = run_item("table2", QUICK).columns
    for name, cells in columns.items():
        if name not in ("phase", "nearest - paper"):
            assert sum(cells) == pytest.approx(100)


def test_relations_of_table_6_on_movielens(data_directory):
    result = run_item("table6", QUICK)
    assert any("our direction" in sentence for sentence in result.sentences)
    assert all(0 <= share <= 100 for share in result.columns["accuracy %"])


def test_results_are_written_and_taken_up_again(tmp_path):
    told = []
    run_items(["fig6"], tmp_path, quick=True, say=told.append)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"fig6.{kind}" for kind in ("csv", "json", "md", "png", "svg")}
    with (tmp_path / "fig6.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 12
    record = json.loads((tmp_path / "fig6.json").read_text())
    assert record["environment"]["processors"] >= 1
    before = (tmp_path / "fig6.png").stat().st_mtime_ns
    run_items(["fig6"], tmp_path, quick=True, say=told.append)
    assert told[-1] == "fig6: already there"
    assert (tmp_path / "fig6.png").stat().st_mtime_ns == before
    run_items(["fig6"], tmp_path, quick=True, say=told.append, fresh=True)
    assert (tmp_path / "fig6.png").stat().st_mtime_ns != before
    join(tmp_path)
    assert "Fig. 6" in (tmp_path / "index.md").read_text()
    assert "fig6.svg" in (tmp_path / "index.html").read_text()


def test_the_verb(tmp_path):
    runner = CliRunner()
    listing = runner.invoke(main, ["paper", "list"])
    assert all(name in listing.output for name in ITEMS)
    wrong = runner.invoke(main, ["paper", "table7"])
    assert wrong.exit_code == 1
    assert "no 'table7'" in wrong.output
    done = runner.invoke(main, ["paper", "table1", "--quick", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "table1.md").exists()
    with pytest.raises(ParameterError, match="Did you mean"):
        run_item("tabel1", QUICK)
