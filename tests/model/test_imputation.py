"""The imputer: beside the formula of normal conditioning, scikit-learn's own tests, and what is planted."""

import importlib
import subprocess
import sys
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kolmogorov as km
import naive
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.model.imputation.bends import Bend
from kolmogorov.model.imputation.cells import Cells
from kolmogorov.model.imputation.columns import Constant, Curved, Nominal, Ordered, Straight, column_of
from kolmogorov.model.imputation.nearby import Nearby
from kolmogorov.model.imputation.rows import Rows

SHORT = {"n_chains": 1, "burn_in": 30, "n_samples": 8, "random_state": 0}


def factor_table(rng, n_rows=150, n_columns=6, noise=0.4):
    return rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_columns)) + noise * rng.normal(
        size=(n_rows, n_columns)
    ) * np.linspace(0.5, 1.5, n_columns)


def with_gaps(table, share, rng):
    gaps = rng.random(table.shape) < share
    return np.where(gaps, np.nan, table), gaps


# --- rows -----------------------------------------------------------------------------------------------------------


def some_rows(rng, n_draws=3, n_columns=5, size=3):
    roots = rng.normal(size=(n_draws, size, size))
    return Rows(
        rng.dirichlet(np.ones(size), (n_draws, n_columns)),
        rng.uniform(0.01, 0.2, (n_draws, n_columns)),
        rng.normal(size=(n_draws, size)),
        roots @ roots.transpose(0, 2, 1) + np.eye(size),
    )


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_a_row_is_expected_as_normal_conditioning_says(seed, share):
    rng = np.random.default_rng(seed)
    rows = some_rows(rng)
    table, gaps = with_gaps(rng.normal(0.5, 0.3, (4, 5)), share, rng)
    mean, variance = rows.moments(table)
    for k in range(rows.n_draws):
        model = (rows.theta[k], rows.noise[k], rows.centre[k], rows.precision[k])
        for row in range(len(table)):
            expected, spread = naive.row_given_known_cells(*model, table[row])
            np.testing.assert_allclose(mean[k, row, gaps[row]], expected, atol=1e-9)
            np.testing.assert_allclose(variance[k, row, gaps[row]], spread, atol=1e-9)


def test_drawn_rows_have_the_moments_that_are_expected():
    rng = np.random.default_rng(0)
    rows = some_rows(rng, n_draws=1)
    table = np.tile([0.2, np.nan, 0.7, np.nan, np.nan], (40_000, 1))
    said = rows.drawn(0, table, rng)
    mean, variance = rows.moments(table[:1])
    latent = variance[0, 0] - rows.noise[0]
    assert (np.abs(said.mean(axis=0) - mean[0, 0]) < 5 * np.sqrt(latent / len(said))).all()
    np.testing.assert_allclose(said.var(axis=0), latent, rtol=0.05)


# --- columns --------------------------------------------------------------------------------------------------------


def test_what_a_column_is():
    rng = np.random.default_rng(0)
    likert = rng.integers(1, 6, 100).astype(float)
    assert isinstance(column_of(np.full(5, 3.0), "auto", "auto"), Constant)
    assert isinstance(column_of(rng.normal(size=100), "auto", "auto"), Straight)
    assert isinstance(column_of(rng.lognormal(size=100), "auto", "auto"), Curved)
    assert isinstance(column_of(rng.standard_t(1, size=300), "auto", "auto"), Curved)
    assert isinstance(column_of(rng.lognormal(size=100), "range", "auto"), Straight)
    assert isinstance(column_of(rng.normal(size=100), "quantile", "auto"), Curved)
    assert isinstance(column_of(likert, "auto", "auto"), Ordered)
    assert isinstance(column_of(likert, "auto", "numbers"), Straight)
    assert isinstance(column_of(likert, "auto", "nominal"), Nominal)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=40), st.sampled_from(["range", "quantile"]))
def test_numbers_come_back(numbers, mapping):
    numbers = np.array(numbers)
    column = column_of(numbers, mapping, "numbers")
    if isinstance(column, Constant):
        return
    values = column.values(numbers)
    assert ((values >= -1e-12) & (values <= 1 + 1e-12)).all()
    back = column.expected(values[None], np.zeros_like(values)[None], "mean")
    np.testing.assert_allclose(back, numbers, atol=1e-9 * np.ptp(0.5 * numbers), rtol=1e-9)


def test_drawn_yes_and_no_have_the_chance_that_is_said():
    rng = np.random.default_rng(0)
    column = Ordered(np.array([2.0, 7.0]))
    found = column.drawn(np.full((20_000, 1), 0.3), np.array([0.4]), rng)
    assert set(found) == {2.0, 7.0}
    assert abs((found == 7.0).mean() - 0.3) < 0.015


def test_drawn_categories_have_the_chances_that_are_said():
    rng = np.random.default_rng(0)
    column = Nominal(np.array([10.0, 20.0, 30.0]))
    found = column.drawn(np.tile([0.5, -0.1, 0.5], (20_000, 1)), np.zeros(3), rng)
    assert set(found) == {10.0, 30.0}
    assert abs((found == 10.0).mean() - 0.5) < 0.015
    assert set(column.drawn(np.full((200, 3), -1.0), np.zeros(3), rng)) == {10.0, 20.0, 30.0}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("mapping", ["range", "quantile"])
def test_drawn_numbers_go_beyond_what_is_known_and_keep_its_sign(mapping, sign):
    rng = np.random.default_rng(0)
    known = sign * rng.lognormal(size=200)
    column = column_of(known, mapping, "numbers")
    found = sign * column.drawn(np.linspace(-0.5, 1.5, 400)[:, None], np.array([0.05]), rng)
    assert found.max() > np.abs(known).max()
    assert 0.0 <= found.min() < np.abs(known).min()


# --- the imputer ----------------------------------------------------------------------------------------------------


def test_it_fills_better_than_means_and_leaves_what_is_known():
    rng = np.random.default_rng(1)
    whole = factor_table(rng)
    table, gaps = with_gaps(whole, 0.3, rng)
    found = km.KolmogorovImputer(**SHORT).fit_transform(table)
    assert (found[~gaps] == whole[~gaps]).all()
    means = SimpleImputer().fit_transform(table)
    assert ((found - whole)[gaps] ** 2).mean() < 0.5 * ((means - whole)[gaps] ** 2).mean()


def test_new_rows_are_completed_as_those_of_the_fit():
    rng = np.random.default_rng(2)
    whole = factor_table(rng)
    table, _ = with_gaps(whole[:100], 0.2, rng)
    later, gaps = with_gaps(whole[100:], 0.3, rng)
    imputer = km.KolmogorovImputer(**SHORT)
    np.testing.assert_array_equal(imputer.fit_transform(table), imputer.transform(table))
    found = imputer.transform(later)
    np.testing.assert_allclose(found[::-1], imputer.transform(later[::-1]), atol=1e-9)
    means = SimpleImputer().fit(table).transform(later)
    assert ((found - whole[100:])[gaps] ** 2).mean() < 0.6 * ((means - whole[100:])[gaps] ** 2).mean()


@pytest.mark.long("chains")
def test_many_rows_are_gone_through_in_parts():
    rng = np.random.default_rng(2)
    table, _ = with_gaps(factor_table(rng), 0.2, rng)
    imputer = km.KolmogorovImputer(**SHORT).fit(table)
    many = np.tile(table, (650, 1))
    assert sum(1 for _ in imputer._rows.parts(len(many))) > 1
    np.testing.assert_allclose(imputer.transform(many)[-len(table) :], imputer.transform(table), atol=1e-9)


@pytest.mark.long("chains")
def test_imputations_hold_the_truth_as_often_as_they_say():
    """On average over tables: the cells of one have much in common."""
    held = []
    for seed in (3, 4, 5, 6):
        rng = np.random.default_rng(seed)
        whole = factor_table(rng, 400, 8)
        table, gaps = with_gaps(whole, 0.3, rng)
        tables = km.KolmogorovImputer(random_state=0).fit(table).imputations(table, 200)
        low, high = np.quantile(tables, [0.025, 0.975], axis=0)
        held.append(((whole >= low) & (whole <= high))[gaps].mean())
    assert 0.93 < np.mean(held) < 0.97


def test_sampling():
    rng = np.random.default_rng(4)
    table, gaps = with_gaps(factor_table(rng), 0.3, rng)
    imputer = km.KolmogorovImputer(**SHORT, sample_posterior=True)
    first = imputer.fit_transform(table)
    second = imputer.transform(table)
    assert (first[~gaps] == second[~gaps]).all()
    assert (first[gaps] != second[gaps]).mean() > 0.95
    np.testing.assert_array_equal(imputer.fit_transform(table), first)
    np.testing.assert_array_equal(
        imputer.imputations(table, 10, random_state=1), imputer.imputations(table, 10, random_state=1)
    )
    expected = km.KolmogorovImputer(**SHORT).fit_transform(table)
    mean = imputer.imputations(table, 200).mean(axis=0)
    assert ((mean - expected)[gaps] ** 2).mean() < 0.05 * expected[gaps].var()


def survey(rng, n_rows=300):
    """Two groups of people: yes or no, answers from 1 to 5, a category and a skewed amount."""
    group = rng.random(n_rows) < 0.5
    columns = {
        "yes": rng.random(n_rows) < np.where(group, 0.9, 0.1),
        "again": rng.random(n_rows) < np.where(group, 0.9, 0.1),
        "agree": np.clip(np.round(np.where(group, 4.2, 1.8) + 0.6 * rng.normal(size=n_rows)), 1, 5),
        "town": np.where(rng.random(n_rows) < 0.1, 3, np.where(group, 7, 5)),
        "amount": np.exp(np.where(group, 3.0, 0.0) + 0.3 * rng.normal(size=n_rows)),
    }
    return pd.DataFrame({name: np.asarray(column, dtype=float) for name, column in columns.items()})


def test_yes_no_ordered_and_nominal_columns():
    rng = np.random.default_rng(5)
    whole = survey(rng)
    table = whole.mask(rng.random(whole.shape) < 0.25)
    gaps = table.isna().to_numpy()
    imputer = km.KolmogorovImputer(**SHORT, nominal=["town"], fill="value").set_output(transform="pandas")
    found = imputer.fit_transform(table)
    assert list(found.columns) == list(whole.columns)
    assert (found.index == whole.index).all()
    for place, name in enumerate(whole.columns):
        holes = gaps[:, place]
        if name == "amount":
            logs = np.log(found[name][holes]), np.log(whole[name][holes])
            assert np.corrcoef(*logs)[0, 1] > 0.8
        else:
            assert set(found[name]) == set(whole[name])
            assert (found[name] == whole[name])[holes].mean() > (0.4 if name == "agree" else 0.7)
    drawn = imputer.imputations(table, 3)
    for place, name in enumerate(["yes", "again", "agree", "town"]):
        assert set(drawn[..., place].ravel()) == set(whole[name])
    assert 0.0 < km.KolmogorovImputer(**SHORT).fit_transform(table)[gaps[:, 0], 0].mean() < 1.0
    by_place = km.KolmogorovImputer(**SHORT, nominal=[3], fill="value").fit_transform(table.to_numpy())
    np.testing.assert_array_equal(by_place, found)


def test_frames_out():
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0], "b": [2.0, np.nan, 6.0, 8.0], "c": [np.nan] * 4})
    imputer = km.KolmogorovImputer(**SHORT, add_indicator=True).set_output(transform="polars")
    found = imputer.fit_transform(table)
    names = ["a", "b", "missingindicator_a", "missingindicator_b", "missingindicator_c"]
    assert isinstance(found, pl.DataFrame)
    assert found.columns == names
    assert imputer.imputations(table, 2).shape == (2, 4, 5)
    kept = km.KolmogorovImputer(**SHORT, keep_empty_features=True).fit_transform(table)
    assert (kept[:, 2] == 0.0).all()
    assert not np.isnan(kept).any()
    from_polars = km.KolmogorovImputer(**SHORT).fit_transform(pl.from_pandas(table))
    np.testing.assert_array_equal(from_polars, kept[:, :2])


def test_in_a_pipeline():
    rng = np.random.default_rng(6)
    table, _ = with_gaps(factor_table(rng), 0.2, rng)
    found = make_pipeline(km.KolmogorovImputer(**SHORT), StandardScaler()).fit_transform(table)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("fill", ["mean", "value"])
def test_one_column_alone_is_filled_with_its_mean_or_its_numbers(fill):
    table = np.array([[1.0], [1.0], [2.0], [np.nan]] * 3)
    found = km.KolmogorovImputer(**SHORT, fill=fill).fit_transform(table)
    assert found[3, 0] == pytest.approx(4 / 3 if fill == "mean" else 1.0)
    drawn = km.KolmogorovImputer(**SHORT).fit(table).imputations(table, 20)[:, 3]
    assert set(drawn.ravel()) == {1.0, 2.0}
    category = km.KolmogorovImputer(**SHORT, nominal=[0]).fit(table)
    assert category.model_ is None
    assert category.transform(table)[3, 0] == 1.0


def test_columns_without_differences_and_rows_without_numbers():
    table = np.array([[5.0, 1.0, 2.0], [5.0, 2.0, 4.1], [np.nan, 3.0, 5.9], [5.0, np.nan, np.nan]])
    imputer = km.KolmogorovImputer(**SHORT).fit(table)
    found = imputer.transform([[np.nan, np.nan, np.nan], *table])
    assert (found[:, 0] == 5.0).all()
    assert 1.0 <= found[0, 1] <= 3.0
    assert imputer.transform(table[:2]).tolist() == table[:2].tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mapping": "log"}, "'mapping' must be one of 'auto', 'range', 'quantile', got 'log'"),
        ({"n_events": 0}, "'n_events' must be an integer >= 1 or 'auto', got 0"),
        ({"missing_values": "?"}, "'missing_values' must be a number or nan, got '[?]'"),
        ({"nominal": ["town"]}, "'nominal' names the column 'town'; the table has columns without names"),
        ({"nominal": [9]}, "'nominal' must hold names of columns, or places from 0 to 1, got 9"),
        ({"nominal": 0}, r"'nominal' must be a list of columns, got 0. Write \[0\]"),
        ({"nominal": "town"}, r"'nominal' must be a list of columns, got 'town'. Write \['town'\]"),
        ({"ordered": [0], "nominal": [0]}, "Column 0 is named as 'ordered' and as 'nominal'"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_wrong_parameters(options, said):
    with pytest.raises(ParameterError, match=said):
        km.KolmogorovImputer(**options).fit([[1, 2], [3, 4]])


def test_wrong_numbers_of_imputations():
    imputer = km.KolmogorovImputer(**SHORT).fit([[1, 2], [2, 3], [3, 4]])
    with pytest.raises(ParameterError, match="'n_imputations' must be an integer >= 1, got 0"):
        imputer.imputations([[1, 2]], 0)


@pytest.mark.parametrize("mapping", ["range", "quantile"])
def test_numbers_near_the_largest_float_stay_finite(mapping):
    rng = np.random.default_rng(0)
    small = factor_table(rng, 60, 3)
    whole = small * (1.79e308 / np.abs(small).max())
    table, _ = with_gaps(whole, 0.2, rng)
    imputer = km.KolmogorovImputer(**SHORT, mapping=mapping).fit(table)
    filled = imputer.transform(table)
    assert np.isfinite(filled).all()
    assert np.isfinite(imputer.imputations(table, 10)).all()
    # All is computed in numbers below 1, and so a power of two changes nothing.
    same = km.KolmogorovImputer(**SHORT, mapping=mapping).fit_transform(table * 2.0**-1000)
    np.testing.assert_array_equal(same, filled * 2.0**-1000)
    alone = km.KolmogorovImputer(**SHORT, mapping=mapping).fit_transform([[1.7e308]] * 9 + [[1.6e308], [np.nan]])
    assert alone[-1, 0] == pytest.approx(1.69e308, rel=1e-12)


def test_drawn_numbers_beyond_the_largest_float_are_cut_to_it():
    rng = np.random.default_rng(0)
    for low, high in ((1.6e308, 1.79e308), (-1.79e308, 1.79e308)):
        share = np.linspace(0.0, 1.0, 40)
        known = (1.0 - share) * low + share * high
        for column in (Straight(low, high), column_of(known, "quantile", "numbers")):
            found = column.drawn(np.linspace(-5.0, 5.0, 50)[:, None], np.array([0.05]), rng)
            assert np.isfinite(found).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_numbers_of_fewer_bits_come_back_as_such(dtype):
    rng = np.random.default_rng(1)
    table = with_gaps(factor_table(rng, 60, 3), 0.2, rng)[0].astype(dtype)
    imputer = km.KolmogorovImputer(**SHORT, add_indicator=True).fit(table)
    filled = imputer.transform(table)
    assert filled.dtype == imputer.imputations(table, 2).dtype == SimpleImputer().fit_transform(table).dtype == dtype
    there = ~np.isnan(table)
    np.testing.assert_array_equal(filled[:, :3][there], table[there])
    assert imputer.transform(table.astype(np.float64)).dtype == np.float64
    marked = np.where(there, table, dtype(0.1))
    found = km.KolmogorovImputer(**SHORT, missing_values=0.1).fit_transform(marked)
    np.testing.assert_array_equal(found, filled[:, :3])
    assert km.KolmogorovImputer(**SHORT, missing_values=1e300).fit_transform(marked).dtype == dtype


@pytest.mark.parametrize("as_one", [list, tuple, np.array, pd.Index, pd.Series])
def test_columns_are_named_by_any_collection(as_one):
    rng = np.random.default_rng(5)
    table = survey(rng, 40).mask(rng.random((40, 5)) < 0.2).drop(columns="amount")

    def kinds(**options):
        imputer = km.KolmogorovImputer(n_chains=1, burn_in=2, n_samples=2, **options).fit(table)
        return [type(column) for column in imputer._columns]

    by_name = {"ordered": as_one(["yes", "again"]), "nominal": as_one(["agree", "town"])}
    assert kinds(**by_name) == [Ordered, Ordered, Nominal, Nominal]
    assert kinds(ordered=None, nominal=as_one([2, 3])) == [Straight, Straight, Nominal, Nominal]
    assert kinds(nominal=as_one([])) == [Ordered] * 4


# --- scikit-learn's own tests ---------------------------------------------------------------------------------------


@pytest.mark.long("scikit-learn's checks")
@parametrize_with_checks([km.KolmogorovImputer(n_chains=1, burn_in=10, n_samples=4)])
def test_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


#: The file as it is installed, with our imputer beside scikit-learn's own in its lists.
_BESIDE_THEIRS = """
import pytest
import sklearn.impute.tests.test_common as theirs
from kolmogorov import KolmogorovImputer


class Ours:
    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc):
        for mark in metafunc.definition.iter_markers("parametrize"):
            if mark.args[0] == "imputer" and len(mark.args[1]) > 1:
                mark.args[1].append(KolmogorovImputer(burn_in=10, n_samples=4, random_state=0))


raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", "-rA", theirs.__file__], plugins=[Ours()]))
"""


@pytest.mark.long("scikit-learn's checks")
def test_the_tests_that_scikit_learn_ships_for_its_imputers(tmp_path):
    theirs = Path(importlib.import_module("sklearn.impute").__file__).parent / "tests" / "test_common.py"
    if not theirs.exists():
        pytest.skip("this scikit-learn was installed without its tests")
    done = subprocess.run(
        [sys.executable, "-c", _BESIDE_THEIRS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = [line for line in done.stdout.splitlines() if line.startswith("PASSED") and "KolmogorovImputer" in line]
    assert len(passed) >= 9, done.stdout[-4000:]


# --- nominal columns --------------------------------------------------------------------------------------------------


def towns_and_sizes(rng, n_rows=300):
    """Two towns' columns that go together, a number and an ordered one, of three kinds of rows without order."""
    kind = rng.integers(3, size=n_rows)
    town = np.where(rng.random(n_rows) < 0.9, np.array([20.0, 10.0, 30.0])[kind], 40.0)
    size = np.array([0.0, 6.0, 3.0])[kind] + rng.normal(size=n_rows)
    return np.column_stack([town, town + 1.0, size, np.clip(np.round(size / 2), 0, 3)])


def test_a_table_as_categories():
    table = np.array([[1.0, 5.0, 0.1, 7.0], [2.0, np.nan, 0.2, 7.0], [2.0, 6.0, 0.3, np.nan], [1.0, 6.0, 0.4, 7.0]])
    columns = [Nominal(np.array([1.0, 2.0])), Ordered(np.array([5.0, 6.0])), Straight(0.1, 0.4), Constant(7.0)]
    cells = Cells.of(table, columns, ("auto", 1, 2, 2), 0, None)
    np.testing.assert_array_equal(cells.draws.widths, [2, 2, 6, 1])
    # A category that was not known says nothing; numbers beyond the ends are in the outer ranges.
    rows = np.array([[3.0, np.nan, 9.0, 7.0], [1.0, 5.5, -9.0, 8.0]])
    nothing = np.array([[np.nan, np.nan, 0.4, np.nan], [np.nan, np.nan, 0.1, np.nan]])
    np.testing.assert_allclose(*(cells.mixed(np.zeros((1, 2, 2)), given, given, 0) for given in (rows, nothing)))
    # An ordered column is mixed by its weight, and one of numbers is left as it is.
    mean = np.full((1, 2, 1), 0.25)
    assert cells.mixed(mean, rows, rows, 1) is mean
    assert cells.mixed(mean, rows, rows, 2) is mean
    half, whole = (replace(cells, weight=weight).mixed(mean, rows, rows, 1) for weight in (0.5, 1.0))
    np.testing.assert_allclose(half, 0.5 * mean + 0.5 * whole)
    chances = cells.draws.said(np.array([[-1, -1, 5, 0], [0, -1, 0, 0]], dtype=np.int16), [1])[0]
    np.testing.assert_allclose(whole[0, :, 0], chances[:, 1])


def kinds_and_traits(rng, n_rows=300, n_columns=12):
    """Answers from 1 to 5: by three kinds of people, whose answers have no order, and by one trait, which has."""
    upto = np.cumsum(rng.dirichlet(np.full(5, 0.5), (3, n_columns))[rng.integers(3, size=n_rows)], axis=2)
    kinds = 1.0 + (rng.random((n_rows, n_columns, 1)) > upto[..., :-1]).sum(axis=2)
    traits = rng.normal(size=(n_rows, 1)) + 0.5 * rng.normal(size=(n_rows, n_columns))
    return kinds, np.clip(np.round(3.0 + traits), 1, 5)


def test_categories_count_as_far_as_they_help():
    rng = np.random.default_rng(8)
    kinds, traits = (with_gaps(table, 0.2, rng)[0] for table in kinds_and_traits(rng))
    by_kinds, by_traits = (km.KolmogorovImputer(**SHORT).fit(table)._cells.weight for table in (kinds, traits))
    assert by_kinds > 0.6
    assert by_traits < 0.3


def test_nominal_columns_are_filled_by_a_model_of_categories():
    rng = np.random.default_rng(6)
    whole = towns_and_sizes(rng)
    _, gaps = with_gaps(whole, 0.25, rng)
    gaps[:, 1] &= ~gaps[:, 0]
    table = np.where(gaps, np.nan, whole)
    imputer = km.KolmogorovImputer(nominal=[0, 1], n_chains=2, burn_in=60, random_state=0).fit(table)
    filled = imputer.transform(table)
    assert set(filled[:, 0]) <= set(whole[:, 0])
    assert (filled == whole)[gaps[:, 1], 1].mean() > 0.95
    drawn = imputer.imputations(table, 5)
    np.testing.assert_array_equal(drawn[:, ~gaps], np.tile(whole[~gaps], (5, 1)))
    # Where both are missing their draws go together.
    new = whole.copy()
    new[:, :2] = np.nan
    together = imputer.imputations(new, 5, random_state=0)
    assert (together[..., 0] + 1.0 == together[..., 1]).mean() > 0.85
    with pytest.raises(DataError, match="has 300 categories; a nominal one may have 256"):
        km.KolmogorovImputer(nominal=[2], **SHORT).fit(whole)


def test_a_table_of_categories_needs_no_model_of_numbers():
    rng = np.random.default_rng(6)
    whole = np.column_stack([towns_and_sizes(rng)[:, [0, 1, 3]], np.full(300, 7.0)])
    table, gaps = with_gaps(whole, 0.2, rng)
    gaps[:, 3] = np.isnan(table[:, 3])
    imputer = km.KolmogorovImputer(3, nominal=[0, 1, 2, 3], **SHORT).fit(table)
    assert imputer.model_ is None
    filled = imputer.transform(table)
    model = km.NominalModel(3, **SHORT).fit(table)
    np.testing.assert_array_equal(imputer._cells.draws.logs, model.draws_.logs)
    np.testing.assert_array_equal(filled, model.predict(table).astype(float))
    drawn = imputer.imputations(table, 40, random_state=0)
    np.testing.assert_array_equal(drawn[:, ~gaps], np.tile(whole[~gaps], (40, 1)))
    chances = model.predict_distribution(table, 0)[gaps[:, 0]]
    shares = (drawn[:, gaps[:, 0], 0, None] == model.categories_[0]).mean(axis=0)
    np.testing.assert_allclose(shares.mean(axis=0), chances.mean(axis=0), atol=0.05)


@given(st.integers(0, 1000))
def test_a_bend_is_believed_as_far_as_it_tells_of_rows_left_out(seed):
    rng = np.random.default_rng(seed)
    events, left = rng.dirichlet(np.ones(3), (2, 12)), rng.normal(size=12)
    bend = Bend.of(events, left)
    out = naive.left_out_steps(events, left)
    weight = np.clip((left @ out) / (out @ out), 0.0, 1.0)
    assert bend.weight == pytest.approx(weight)
    assert bend.share == pytest.approx(((left - weight * out) ** 2).sum() / (left @ left))
    np.testing.assert_allclose(bend.rest, left - weight * out)
    added = np.mean([theta @ naive.steps(theta, left) for theta in events], axis=0)
    np.testing.assert_allclose(bend.added(events), weight * added)


def test_nothing_left_bends_nothing():
    bend = Bend.of(np.full((2, 5, 3), 1 / 3), np.zeros(5))
    assert (bend.weight, bend.share) == (0.0, 1.0)
    others = np.random.default_rng(0).normal(size=(5, 2))
    for places, left in ((others, np.zeros(5)), (np.ones((5, 2)), np.arange(5.0)), (np.empty((5, 0)), np.arange(5.0))):
        nearby = Nearby.of(places, left - left.mean())
        assert nearby.share == 1.0
        assert (nearby.added(places) == 0.0).all()


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_rows_nearby_are_believed_as_far_as_they_tell_of_rows_left_out(seed):
    rng = np.random.default_rng(seed)
    others = rng.normal(size=(12, 2)) * (1.0, 5.0)
    left = np.sin(2 * others[:, 0]) + 0.3 * rng.normal(size=12)
    rests = {}
    for ridge in (0.1, 0.3, 1.0, 3.0, 10.0):
        out = naive.left_out_smooth(others, left, ridge)
        belief = np.clip((left @ out) / (out @ out), 0.0, 1.0)
        rests[ridge] = ((left - belief * out) ** 2).sum() / (left @ left), belief
    share, belief = min(rests.values())
    nearby = Nearby.of(others, left)
    assert nearby.share == pytest.approx(share)
    ridge = next(ridge for ridge, found in rests.items() if found == (share, belief))
    same = np.exp(-(((others[:, None] - others) / others.std(axis=0)) ** 2).mean(axis=2) / 2)
    expected = belief * same @ np.linalg.solve(same + ridge * np.eye(12), left)
    np.testing.assert_allclose(nearby.added(others), expected, atol=1e-9)


def test_kinds_of_rows_that_bend_otherwise_are_told_by_rows_nearby():
    rng = np.random.default_rng(4)
    kind, t = rng.integers(3, size=200), rng.normal(size=(200, 1))
    slopes = np.array([[1.0, 1.0, 0.5, 0.0], [1.0, -1.0, 0.0, 0.5], [-0.5, 0.3, 1.0, 1.0]])
    whole = 2.0 * np.eye(4)[kind] + t * slopes[kind] + 0.15 * rng.normal(size=(200, 4))
    table, gaps = with_gaps(whole, 0.2, rng)
    imputer = km.KolmogorovImputer(**SHORT).fit(table)
    without = copy(imputer)
    alone = {i: replace(each, share=1.0) for i, each in imputer._cells.nearby.items()}
    without._cells = replace(imputer._cells, nearby=alone)
    ours, theirs = (((one.transform(table) - whole)[gaps] ** 2).mean() for one in (imputer, without))
    assert ours < 0.9 * theirs


def test_a_curve_is_followed_as_far_as_events_tell_it():
    rng = np.random.default_rng(3)
    t = rng.uniform(-2.0, 2.0, 250)
    whole = np.column_stack([t, np.abs(t), np.tanh(2 * t), t + 0.3]) + 0.1 * rng.normal(size=(250, 4))
    table, gaps = with_gaps(whole, 0.15, rng)
    imputer = km.KolmogorovImputer(**SHORT).fit(table)
    straight = copy(imputer)
    straight._cells = replace(imputer._cells, bends={})
    ours, theirs = (np.abs(one.transform(table) - whole)[gaps[:, 1], 1].mean() for one in (imputer, straight))
    assert ours < 0.7 * theirs
    # Where everything is straight there is nothing to add.
    line = np.column_stack([t, -t, 2 * t + 1]) + 0.3 * rng.normal(size=(250, 3))
    bends = km.KolmogorovImputer(**SHORT).fit(line)._cells.bends
    assert all(bend.share > 0.95 for bend in bends.values())


def test_words_are_told_what_to_do():
    with pytest.raises(
        DataError, match="must hold numbers, but could not convert string to float: 'tea'. Encode words by"
    ):
        km.KolmogorovImputer(**SHORT).fit(pd.DataFrame({"a": [1.0, 2.0], "drink": ["tea", None]}))
