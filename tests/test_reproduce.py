"""The tables and figures of the paper: quick runs have the stored columns, and the page shows what is stored."""

import re
from importlib import import_module

import numpy as np
import pytest

import naive
from kolmogorov import Observations, datasets
from kolmogorov.errors import DataError
from reproduce import common, errata, lemmas
from reproduce.__main__ import ABLATIONS, MODULES, computation, main
from reproduce.baselines import MatrixFactorization, SVDpp, svdpp_epoch
from reproduce.page import PAGE, filled, markdown
from reproduce.printed import EXAMPLE, TABLE_6
from reproduce.table_6 import taste

# What several items fit is fitted once in a process.
pytestmark = pytest.mark.xdist_group("reproduce")

FEW = ("table_1", "figure_2", "figure_6", "lemmas")
ON_MOVIELENS = ("table_5", "table_6", "figure_8", "sweeps")
ON_TOYS = [name for name in [*MODULES, *ABLATIONS] if name not in ON_MOVIELENS]


def check_quick_run(name, folder):
    """A quick run has the columns of the stored results, finite numbers, and for a figure lines to draw."""
    tables = computation(name)(True)
    for stem, rows in tables.items():
        common.write(rows, folder / f"{stem}.csv")
        found, stored = common.read(folder / f"{stem}.csv"), common.read(common.RESULTS / f"{stem}.csv")
        assert list(found[0]) == list(stored[0])
        assert all(np.isfinite(value) for row in found for value in row.values() if isinstance(value, float))
    if hasattr(module := import_module(f"reproduce.{name}") if name in MODULES else None, "panels"):
        panels = module.panels(tables)
        assert all(len(x) == len(y) > 0 for panel in panels for x, y in panel.lines.values())


@pytest.mark.parametrize("name", FEW)
def test_quick_runs_have_the_stored_columns(name, tmp_path):
    check_quick_run(name, tmp_path)


@pytest.mark.long("the paper's items")
@pytest.mark.parametrize("name", [name for name in ON_TOYS if name not in FEW])
def test_other_quick_runs_have_the_stored_columns(name, tmp_path):
    check_quick_run(name, tmp_path)


@pytest.mark.long("the paper's items")
@pytest.mark.parametrize("name", ON_MOVIELENS)
def test_quick_runs_on_movielens_have_the_stored_columns(name, tmp_path, data_directory):
    check_quick_run(name, tmp_path)


def test_the_page_shows_what_is_stored():
    """If not: python -m reproduce page."""
    page = PAGE.read_text("utf-8")
    assert filled(page) == page
    stored = {path.stem for path in common.RESULTS.iterdir()}
    made = {place.split(";")[0] for place in re.findall(r"<!-- reproduce: (.*?) -->", page)}
    assert made <= stored
    pictures = {f"{name}.png" for name in MODULES if hasattr(import_module(f"reproduce.{name}"), "panels")}
    assert {path.name for path in PAGE.with_suffix("").iterdir()} == pictures
    assert all(f"(paper/{name})" in page for name in pictures)


def test_a_quick_run_keeps_the_stored_results(tmp_path, monkeypatch, capsys):
    before = {path: path.read_bytes() for path in [PAGE, *common.RESULTS.iterdir()]}
    monkeypatch.setattr("tempfile.mkdtemp", lambda **options: str(tmp_path))
    main(["figure_6", "errata", "--quick"])
    assert {path: path.read_bytes() for path in before} == before
    assert {path.name for path in tmp_path.iterdir()} == {
        "figure_6.csv",
        "figure_6_stops.csv",
        "figure_6.png",
        "errata.csv",
    }
    assert "| max error |" in capsys.readouterr().out


def test_tables_are_shown_whole_or_turned(tmp_path):
    rows = [{"a": 1, "D": n, "x": n / 3, "y": None if n == 8 else 2.0} for n in (4, 8)]
    common.write(rows, tmp_path / "t.csv")
    assert common.read(tmp_path / "t.csv")[1] == {"a": 1, "D": 8, "x": 2.66667, "y": None}
    assert markdown([{"a|b": 1234.5}]) == "| a\\|b |\n|---|\n| 1,234 |"
    text = filled("<!-- reproduce: t; rows: a; columns: D; cells: x, y; digits: 2 -->\nold\n<!-- end -->", tmp_path)
    assert "| a | D = 4 | D = 8 |\n|---|---|---|\n| 1 | 1.3 / 2 | 2.7 |\n" in text
    text = filled("<!-- reproduce: t; where: D = 8 & a = 1 | 2 -->\n<!-- end -->", tmp_path)
    assert "| 1 | 8 | 2.667 |  |" in text
    assert "| 1 | 4 |" not in text


# --- what the items compute --------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", errata.ERRATA, ids=lambda check: check.__name__)
def test_the_counter_example_works(check):
    assert check() is True


def test_the_printed_example_gives_the_printed_numbers():
    theta, psi = map(np.array, EXAMPLE)
    np.testing.assert_allclose(theta @ psi.T, [[0.8, 0.4], [0.7, 0.6]])


@pytest.mark.long("the paper's items")
def test_table_6_comes_from_u1_to_the_last_digit(data_directory):
    folds = datasets.folds("ml-100k")
    found = [(item, user, *taste(folds[0][0], user)) for item, user, _, _ in TABLE_6]
    assert [(item, user, count, round(share, 2)) for item, user, count, share in found] == TABLE_6
    for train, _ in folds[1:]:
        assert [taste(train, user)[0] for _, user, *_ in TABLE_6] != [count for *_, count, _ in TABLE_6]


@pytest.mark.parametrize("reorthogonalised", [True, False])
def test_errors_of_ritz_values_are_those_of_the_krylov_space(reorthogonalised):
    matrix, start = lemmas.final_matrix(6, 0)
    true = np.linalg.eigvalsh(matrix)
    diagonal, off = lemmas.lanczos_run(matrix, start, reorthogonalised=reorthogonalised)
    for m in (1, 3, 5):
        values = naive.krylov_ritz_values(matrix, start, m)
        distances = np.abs(true[None] - values[:, None]).min(axis=1)
        largest, beta, smallest, small, modulus, top = lemmas.ritz_errors(true, diagonal, off, m)
        assert largest == pytest.approx(distances.max(), abs=1e-9)
        assert smallest == pytest.approx(distances.min(), abs=1e-9)
        assert modulus == pytest.approx(abs(np.abs(true).max() - np.abs(values).max()), abs=1e-9)
        assert top == pytest.approx(abs(true[-1] - values[-1]), abs=1e-9)
        assert small <= beta


def test_fits_are_guarded_or_not():
    with_them, without = (common.fitted("D1", 8, common.lanczos(1.0) + how, 6) for how in ("", ", as printed"))
    assert (np.diff(with_them.train) <= 0).all()
    assert (np.diff(without.train) > 0).any()


# --- baselines ---------------------------------------------------------------------------------------------------


def test_svdpp_against_its_twin(rng):
    table = np.where(rng.random((6, 5)) < 0.6, rng.random((6, 5)), np.nan)
    table[2] = np.nan
    table[0, 0] = 0.5
    view = Observations.from_dense(table, maximum=1).rows
    start = [rng.normal(size=shape) for shape in [(6,), (5,), (6, 3), (5, 3), (5, 3)]]
    ours, theirs = [a.copy() for a in start], [a.copy() for a in start]
    order = np.array([3, 0, 1, 2, 5, 4])
    svdpp_epoch(view.indptr, view.indices, view.values, order, 0.4, 0.05, 0.1, *ours)
    entries = [[(i, table[u, i]) for i in range(5) if not np.isnan(table[u, i])] for u in range(6)]
    naive.svdpp_epoch(entries, order, 0.4, 0.05, 0.1, *theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("model", [MatrixFactorization(4, 1.0), SVDpp(4, 0.007, 0.07)])
def test_baselines_beat_the_mean_and_predict_by_their_formula(model):
    train, test = datasets.load("digits").split(random_state=0)
    model.fit(train)
    assert model.error(test) < 0.8 * np.sqrt(((test.values - train.values.mean()) ** 2).mean())
    parts = (model.mean, model.user_bias, model.item_bias, model.user_factors, model.item_factors)
    pairs = zip(test.user_rows()[:5], test.item_rows()[:5], strict=True)
    np.testing.assert_allclose(model.predict(test)[:5], [naive.biased_prediction(*parts, u, i) for u, i in pairs])


def test_what_has_no_data_is_left_out_with_a_sentence(monkeypatch, capsys):
    def absent(name):
        raise DataError("MovieLens is not here.")

    monkeypatch.setattr("reproduce.__main__.computation", absent)
    main(["all", "--quick"])
    assert "table_6 is left out: MovieLens is not here." in capsys.readouterr().err
    with pytest.raises(SystemExit, match="1"):
        main(["table_6", "--quick"])
