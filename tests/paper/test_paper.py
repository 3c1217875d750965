"""The items compute, store, and say what their numbers say. No test expects a verdict: they are found, not chosen."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import naive
from kolmogorov.cli import main
from kolmogorov.data.datasets.movielens import official_folds
from kolmogorov.errors import ParameterError
from kolmogorov.kernels.binary.dual import shifted
from kolmogorov.paper import ITEMS, Effort, item
from kolmogorov.paper.ablations.start import printed_ratios
from kolmogorov.paper.data import NEAREST, lanczos, solved, solver, toy_equations, toy_problems
from kolmogorov.paper.document import write_document, write_items
from kolmogorov.paper.figures.comparison import distances
from kolmogorov.paper.figures.fig8 import influence
from kolmogorov.paper.fits import Fit
from kolmogorov.paper.printed import TABLE_5, TABLE_6
from kolmogorov.paper.result import PAPER, Part
from kolmogorov.paper.runner import compute, environments, presented, runs, stored
from kolmogorov.paper.spectra import errors_at, final_matrix, lanczos_run, spectrum
from kolmogorov.paper.tables.prediction import claims as prediction_claims
from kolmogorov.paper.tables.table2 import shares
from kolmogorov.paper.tables.table6 import taste
from kolmogorov.paper.theory.lemmas import trace_bounds

# What the items on the toy say is computed once.
pytestmark = pytest.mark.xdist_group("paper")

QUICK, FULL = Effort(quick=True), Effort(quick=False)
ON_TOYS = (
    "table1",
    "table2",
    "fig1",
    "fig2",
    "fig3",
    "fig5",
    "fig6",
    "fig7",
    "start",
    "roundings",
    "safeguards",
    "lemmas",
)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The parts of the items on the toy."""
    folder = tmp_path_factory.mktemp("paper")
    compute(ON_TOYS, folder, QUICK, say=lambda message: None)
    return folder


def found_of(name, folder):
    return {part.key: stored(folder, part)["data"] for part in item(name).parts(QUICK)}


@pytest.mark.parametrize("name", ON_TOYS)
def test_items_on_the_toy(name, computed):
    result, _ = presented(name, computed, QUICK)
    assert result.rows
    assert result.claims
    for claim in result.claims:
        assert claim.trials
        assert all((claim.where, claim.says, claim.reading, claim.found))
        assert all(trial.reading for trial in claim.trials) or len(claim.trials) == 1
    for panel in result.panels:
        for label, (x, y) in panel.lines.items():
            assert len(x) == len(y) > 0
            assert np.isfinite(y).all() or label.startswith(PAPER)
        assert set(panel.bands) | set(panel.pale) <= set(panel.lines)


#: What names a row of stored data, or says how many there are, and is no finding.
NAMES = ("D", "tol", "u_0", "gamma", "initial_dual", "step", "armijo", "shrink", "settings", "tried", "of")


def shaken(data, rng, scale):
    """The same data with every number multiplied by something, every yes or no perhaps turned round.

    To what is negative, logarithms and values of BQPs, something is added.
    """
    if isinstance(data, bool):
        return data if scale == 0 else bool(rng.random() < 0.5)
    if isinstance(data, float) and data < 0:
        return data + scale * float(rng.normal())
    if isinstance(data, int | float):
        return type(data)(data * float(np.exp(np.clip(scale * rng.normal(), -40, 40))))
    if isinstance(data, list):
        return [shaken(one, rng, scale) for one in data]
    if isinstance(data, dict):
        return {name: one if name in NAMES else shaken(one, rng, scale) for name, one in data.items()}
    return data


@pytest.mark.parametrize("name", ON_TOYS)
def test_every_row_can_fail(name, computed):
    """A verdict that no numbers could change would be none."""
    rng = np.random.default_rng(0)
    verdicts = {}
    found = found_of(name, computed)
    for k in range(100):
        with np.errstate(all="ignore"):
            result = item(name).present(shaken(found, rng, (0.0, 0.01, 0.3, 2.0, 20.0)[k % 5]), QUICK)
        for claim in result.claims:
            verdicts.setdefault(claim.says, set()).add(claim.verdict)
    assert {says: seen for says, seen in verdicts.items() if len(seen) == 1} == {}


def test_one_claim_has_one_row(computed):
    said = [claim.says for name in ON_TOYS for claim in presented(name, computed, QUICK)[0].claims]
    assert len(said) == len(set(said))


# --- computations ------------------------------------------------------------------------------------------------


def test_newton_and_screening_need_fewest_decompositions_in_fig_2(computed):
    evds = {row["method"]: row["EVDs to a gap of 1e-06"] for row in presented("fig2", computed, QUICK)[0].rows}
    assert 2 * evds["newton"] <= evds["gd"]
    assert 2 * evds["enhanced_gd, screened"] <= evds["enhanced_gd"]


def test_the_speed_up_is_made_by_the_start(computed):
    rows = presented("start", computed, QUICK)[0].rows
    at = {(row["u_0"], row["D"]): row for row in rows if (row["step"], row["tol"]) == (0.2, 1e-2)}
    for size in (4, 8, 16):
        # One start only lengthens phase I-A of gd, in which enhanced_gd makes no EVD.
        assert at[51.0 - 1.0, size]["gd"] - at[1.0, size]["gd"] == pytest.approx(245, abs=0.5)
        assert at[50.0, size]["enhanced_gd"] == at[1.0, size]["enhanced_gd"]
    assert printed_ratios()[100] == pytest.approx(67.6 / 2.56)


def test_shares_of_table_2_are_averages_over_problems():
    gram, moment = toy_equations(8, 0)
    batch, _ = solved(solver("enhanced_gd"), gram, moment)
    expected = np.mean([100 * row / row.sum() for row in batch.phases], axis=0)
    np.testing.assert_allclose(shares(NEAREST, range(1)), expected)
    assert shares(NEAREST, range(2)).sum() == pytest.approx(100)


@pytest.mark.parametrize("reorthogonalised", [True, False])
def test_errors_of_ritz_values_are_those_of_the_krylov_space(reorthogonalised):
    matrix, start = final_matrix(6, 0)
    true = spectrum(matrix)
    diagonal, off = lanczos_run(matrix, start, reorthogonalised=reorthogonalised)
    for m in (1, 3, 5):
        values = naive.krylov_ritz_values(matrix, start, m)
        distances = np.abs(true[None] - values[:, None]).min(axis=1)
        largest, beta, smallest, small, modulus, top = errors_at(true, diagonal, off, m)
        assert largest == pytest.approx(distances.max(), abs=1e-9)
        assert smallest == pytest.approx(distances.min(), abs=1e-9)
        assert modulus == pytest.approx(abs(np.abs(true).max() - np.abs(values).max()), abs=1e-9)
        assert top == pytest.approx(abs(true[-1] - values[-1]), abs=1e-9)
        assert small <= beta


def test_final_matrices_are_those_of_a_descent():
    problem = toy_problems(4, 1, 3)[0]
    matrix, start = final_matrix(4, 3)
    lifted, _ = naive.lifted(problem.gram, problem.moment)
    dual = -np.diag(matrix) - np.diag(lifted)
    np.testing.assert_allclose(matrix, shifted(lifted, dual))
    assert np.linalg.norm(start) == pytest.approx(1.0)


def test_bounds_of_lemma_3(rng):
    a = rng.normal(size=(7, 7))
    low, high, norm = trace_bounds(a + a.T)
    assert low <= np.linalg.eigvalsh(a + a.T)[-1] <= high
    assert norm == pytest.approx(np.abs(a + a.T).sum() / 7)


def test_influence_counts_the_supports_inside(rng):
    psi = rng.integers(0, 2, size=(30, 5)).astype(bool)
    expected = [np.mean([(other <= own).all() for other in psi]) for own in psi]
    np.testing.assert_allclose(influence(psi @ (1 << np.arange(5))), expected)


def test_distances_are_measured_after_as_many_sweeps_as_all_have():
    fits = {"a": {"train": [[0.5, 0.4, 0.1]]}, "b": {"train": [[0.5, 0.5]]}}
    assert distances(fits, "a") == (2, {"b": (pytest.approx(0.25), False)})


def test_a_fits_key_tells_what_it_is():
    usual = Fit("D2", 8, "enhanced_gd", 20, 10)
    assert usual.key == "fit-D2-D8-enhanced_gd-30-0-gamma100-20x10"
    changed = Fit("D2", 8, lanczos(3.0), 20, n_draws=7, fold=1, guarded=False, to_mean=True)
    assert changed.key == "fit-D2-D8-lanczos_a_3-30-0-gamma100-20x1-draws7-split2-unguarded-to_mean"
    keys = [part.key for name in ITEMS for part in item(name).parts(FULL)]
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") for key in keys)


def test_fits_are_guarded_or_not():
    with_them, without = (
        Fit("D1", 8, lanczos(1.0), 6, guarded=guarded).compute(1)["train"][0] for guarded in (True, False)
    )
    assert (np.diff(with_them) <= 0).all()
    assert (np.diff(without) > 0).any()


def test_predictions_are_compared_on_both_scales():
    """KM is last in stars, and behind NNM on the scales of Table V unless NNM has the printed mu_i."""
    stars = {"KM enhanced_gd": 0.95, "MF": 0.93, "SVD++": 0.92}
    errors = {
        ("D2", model, reading, size): [value / 5]
        for model, value in stars.items()
        for reading in ("u1", "mean of u1 to u5")
        for size in (8, 24)
    }
    ridges = {"mu_i to 0": 0.94, "mu_i to the mean": 0.97, "no mu_i": 0.93}
    errors |= {("D2", "NNM", f"u1, {kind}", size): [value / 5] for kind, value in ridges.items() for size in (8, 24)}
    claims = prediction_claims(errors, None)
    in_stars, on_scales = (claim for claim in claims if "significantly better" in claim.says)
    assert [trial.reading for trial in in_stars.trials] == [
        f"{nnm}, D = {size}" for nnm in ("best NNM", "NNM with the printed mu_i") for size in (8, 24)
    ]
    assert [(trial.agrees, trial.opposes) for trial in in_stars.trials] == [(False, True)] * 2 + [(False, False)] * 2
    assert [(trial.agrees, trial.opposes) for trial in on_scales.trials] == [(False, False)] * 2 + [(True, False)] * 2
    row = next(claim for claim in claims if "KM enhanced_gd" in claim.says)
    assert row.trials[0].agrees == all(abs(0.19 / TABLE_5["D2"]["KM enhanced_gd"][n][0] - 1) <= 0.02 for n in (8, 24))
    rows = next(claim for claim in claims if "NNM" in claim.says)
    assert [trial.reading for trial in rows.trials] == ["u1, mu_i to 0", "u1, mu_i to the mean"]


@pytest.mark.long("the paper's items")
def test_table_6_comes_from_u1_to_the_last_digit(data_directory):
    folds = official_folds()
    found = [(item, user, *taste(folds[0][0], user)) for item, user, _, _ in TABLE_6]
    assert [(item, user, count, round(share, 2)) for item, user, count, share in found] == TABLE_6
    for train, _ in folds[1:]:
        assert [taste(train, user)[0] for _, user, *_ in TABLE_6] != [count for *_, count, _ in TABLE_6]


@pytest.mark.long("the paper's items")
def test_relations_of_table_6_on_movielens(data_directory, tmp_path):
    compute(["table6"], tmp_path, QUICK, say=lambda message: None)
    result, _ = presented("table6", tmp_path, QUICK)
    assert any("our direction" in sentence for sentence in result.sentences)
    assert all(0 <= row["accuracy %"] <= 100 for row in result.rows)


# --- storing and writing -----------------------------------------------------------------------------------------


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
    assert [run["parts"] for run in runs(tmp_path)] == [1, 1]
    # What another version computed stands, unless it computed something else.
    record["environment"]["kolmogorov"] = "0.0.0"
    path = tmp_path / "parts" / f"{part.key}.json"
    path.write_text(json.dumps(record))
    assert stored(tmp_path, part) == record
    assert environments(tmp_path, QUICK)[0].startswith("kolmogorov 0.0.0, Python")
    record["protocol"] += 1
    path.write_text(json.dumps(record))
    assert stored(tmp_path, part) is None


def test_processes_compute_the_same(tmp_path, computed):
    told = []
    compute(["fig6", "lemmas"], tmp_path, QUICK, say=told.append, jobs=2)
    assert "parts to go" in told[0]
    assert [(run["parts"], run["jobs"]) for run in runs(tmp_path)] == [(len(told), 2)]
    for name in ("fig6", "lemmas"):
        assert found_of(name, tmp_path) == found_of(name, computed)


def test_the_stored_page_is_what_the_stored_parts_say(tmp_path):
    """Of the full run; parts that are not stored are not in the page."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "paper.md").read_text("utf-8")
    keys = {part.key for name in ITEMS for part in item(name).parts(FULL)}
    assert {path.stem for path in (docs / "paper" / "parts").iterdir()} <= keys
    assert all(where in page for where in environments(docs / "paper", FULL))
    shown = 0
    for name in ITEMS:
        said = presented(name, docs / "paper", FULL)
        if said is not None:
            shown += 1
            assert said[0].title in page
            assert all(claim.row()["what we find"].replace("|", "\\|") in page for claim in said[0].claims)
    assert shown


def test_shares_divide_the_parts(tmp_path, monkeypatch):
    done = []
    parts = [Part(f"part-{k}", lambda k=k: done.append(k)) for k in range(5)]
    monkeypatch.setattr(
        "kolmogorov.paper.runner.item", lambda name: type("Item", (), {"parts": lambda self, e: parts})()
    )
    for k in (1, 2):
        compute(["any"], tmp_path, QUICK, say=lambda message: None, share=(k, 2))
    assert done == [0, 2, 4, 1, 3]


def test_long_parts_begin_first(tmp_path, monkeypatch):
    done = []
    parts = [Part(f"part-{k}", lambda k=k: done.append(k), cost=cost) for k, cost in enumerate((1.0, 9.0, 4.0))]
    monkeypatch.setattr(
        "kolmogorov.paper.runner.item", lambda name: type("Item", (), {"parts": lambda self, e: parts})()
    )
    compute(["any"], tmp_path, QUICK, say=lambda message: None)
    assert done == [1, 2, 0]


def test_timed_parts_come_last_and_have_room(tmp_path, monkeypatch):
    done = []
    parts = [Part(f"part-{k}", lambda k=k: done.append(k), timed=timed) for k, timed in enumerate((True, False, True))]
    monkeypatch.setattr(
        "kolmogorov.paper.runner.item", lambda name: type("Item", (), {"parts": lambda self, e: parts})()
    )
    compute(["any"], tmp_path, QUICK, say=lambda message: None)
    assert done == [1, 0, 2]
    assert [part.room(16) for part in parts] == [4, 1, 4]
    assert [part.room(2) for part in parts] == [2, 1, 2]
    assert Part("busy", lambda: None, slots=3).room(16) == 3


def test_an_interrupted_run_is_recorded(tmp_path, monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    parts = [Part("first", lambda: 1, cost=2.0), Part("second", stopped)]
    monkeypatch.setattr(
        "kolmogorov.paper.runner.item", lambda name: type("Item", (), {"parts": lambda self, e: parts})()
    )
    with pytest.raises(KeyboardInterrupt):
        compute(["any"], tmp_path, QUICK, say=lambda message: None)
    assert [run["parts"] for run in runs(tmp_path)] == [1]
    assert stored(tmp_path, parts[0])["data"] == 1


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
    compute(["fig6", "errata"], tmp_path, QUICK, say=lambda message: None)
    written = write_items(["fig6", "table1", "errata"], tmp_path, QUICK, say=lambda message: None)
    assert list(written) == ["fig6", "errata"]  # Of table1 nothing is stored.
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "parts",
        "runs.json",
        "errata.csv",
        "errata.md",
        *(f"fig6.{kind}" for kind in ("csv", "md", "png", "svg")),
    }
    with (tmp_path / "fig6.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 12
    write_document(written, tmp_path, QUICK)
    page = (tmp_path / "index.md").read_text()
    # The paper first, errors last.
    places = [
        page.index(words) for words in ("What the paper does", "What stands", "## Claims", "## Fig. 6", "## Errors")
    ]
    assert places == sorted(places)
    assert "Not computed yet, and not counted: table1" in page
    assert "fig6.svg" in (tmp_path / "index.html").read_text()


def test_without_matplotlib_all_but_the_pictures_is_written(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr("kolmogorov.paper.document.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    compute(["fig6"], tmp_path, QUICK, say=told.append)
    write_items(["fig6"], tmp_path, QUICK, say=told.append)
    assert {path.name for path in tmp_path.iterdir()} == {"parts", "runs.json", "fig6.csv", "fig6.md"}
    assert any("pictures left out" in message for message in told)


def test_the_verb(tmp_path):
    runner = CliRunner()
    assert "\\b" not in (usage := runner.invoke(main, ["paper", "--help"]).output)
    assert "\n    kolmogorov paper all --jobs 16 --out results\n" in usage
    listing = runner.invoke(main, ["paper", "list"])
    assert all(name in listing.output for name in ITEMS)
    wrong = runner.invoke(main, ["paper", "table7"])
    assert wrong.exit_code == 2
    assert "no 'table7'" in wrong.output
    assert "K/N" in runner.invoke(main, ["paper", "fig6", "--share", "3/2"]).output
    out = ["--quick", "--out", str(tmp_path / "out")]
    done = runner.invoke(main, ["paper", "fig6", *out])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "fig6.md").exists()
    assert not (tmp_path / "out" / "index.md").exists()
    assert runner.invoke(main, ["paper", "fig6", "--share", "1/2", *out]).exit_code == 0
    assert runner.invoke(main, ["paper", "page", *out]).exit_code == 0
    assert (tmp_path / "out" / "index.md").exists()
    with pytest.raises(ParameterError, match="Did you mean"):
        item("tabel1")
