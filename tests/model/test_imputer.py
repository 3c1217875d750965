"""The imputer: what is filled in, beside the truth, and what scikit-learn asks of it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

import kolmogorov as km
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.models.imputer import _Scale

SHORT = {"n_chains": 1, "burn_in": 30, "n_samples": 8, "random_state": 0}


@pytest.fixture(scope="module")
def tables():
    """A table of two factors, and the same with gaps."""
    rng = np.random.default_rng(1)
    noise = 0.4 * rng.normal(size=(150, 6)) * np.linspace(0.5, 1.5, 6)
    whole = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 6)) + noise
    return whole, np.where(rng.random(whole.shape) < 0.3, np.nan, whole)


def error(found, whole, table):
    return ((found - whole)[np.isnan(table)] ** 2).mean()


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=40))
def test_numbers_come_back(numbers):
    numbers = np.array(numbers)
    scale = _Scale.of(numbers)
    places = scale.places_of(numbers)
    assert ((places >= 0) & (places <= 1)).all()
    np.testing.assert_allclose(scale.numbers_at(places, nearest=False), numbers, atol=1e-9 * np.abs(numbers).max())
    assert set(scale.drawn(places, np.full(numbers.size, 9.0), np.zeros(numbers.size))) <= set(numbers)


def test_it_fills_better_than_means_old_rows_and_new_ones(tables):
    whole, table = tables
    imputer, means = km.KolmogorovImputer(**SHORT), SimpleImputer().fit(table[:100])
    found, known = imputer.fit_transform(table[:100]), ~np.isnan(table[:100])
    assert (found[known] == whole[:100][known]).all()
    for part in (slice(0, 100), slice(100, 150)):
        found = imputer.transform(table[part])
        assert error(found, whole[part], table[part]) < 0.7 * error(
            means.transform(table[part]), whole[part], table[part]
        )
        # Each row by itself.
        np.testing.assert_allclose(found[::-1], imputer.transform(table[part][::-1]), atol=1e-9)


def test_imputations(tables):
    _, table = tables
    imputer, gaps = km.KolmogorovImputer(**SHORT).fit(table), np.isnan(table)
    found = imputer.imputations(200)
    assert (found[:, ~gaps] == table[~gaps]).all()
    np.testing.assert_array_equal(imputer.imputations(200), found)
    assert (imputer.imputations(1, random_state=1)[0] != found[0])[gaps].mean() > 0.9
    expected = imputer.transform(table)
    assert ((found.mean(axis=0) - expected)[gaps] ** 2).mean() < 0.1 * expected[gaps].var()


def test_yes_no_grades_and_skewed_numbers():
    rng = np.random.default_rng(5)
    group = rng.random(300) < 0.5
    columns = {
        "yes": rng.random(300) < np.where(group, 0.9, 0.1),
        "again": rng.random(300) < np.where(group, 0.9, 0.1),
        "agree": np.clip(np.round(np.where(group, 4.2, 1.8) + 0.6 * rng.normal(size=300)), 1, 5),
        "amount": np.exp(np.where(group, 3.0, 0.0) + 0.3 * rng.normal(size=300)),
    }
    whole = pd.DataFrame({name: np.asarray(column, dtype=float) for name, column in columns.items()})
    table = whole.mask(rng.random(whole.shape) < 0.25)
    gaps = table.isna().to_numpy()
    imputer = km.KolmogorovImputer(**SHORT, fill="value").set_output(transform="pandas")
    found = imputer.fit_transform(table)
    assert list(found.columns) == list(whole.columns)
    for place, (name, right) in enumerate({"yes": 0.7, "again": 0.7, "agree": 0.4}.items()):
        assert set(found[name]) == set(imputer.imputations(3)[..., place].ravel()) == set(whole[name])
        assert (found[name] == whole[name])[gaps[:, place]].mean() > right
    logs = np.log(found["amount"][gaps[:, 3]]), np.log(whole["amount"][gaps[:, 3]])
    assert np.corrcoef(*logs)[0, 1] > 0.7
    assert 0.0 < km.KolmogorovImputer(**SHORT).fit_transform(table)[gaps[:, 0], 0].mean() < 1.0


def test_columns_without_differences_and_without_numbers():
    table = np.array([[5.0, 1.0, np.nan], [5.0, 2.0, np.nan], [np.nan, 3.0, np.nan], [5.0, np.nan, np.nan]])
    found = km.KolmogorovImputer(**SHORT).fit(table).transform([[np.nan, np.nan, np.nan], *table])
    assert (found[:, 0] == 5.0).all()
    assert 1.0 <= found[0, 1] <= 3.0
    assert (found[:, 2] == 0.0).all()


def test_wrong_parameters_and_tables():
    for options in ({"n_events": 0}, {"fill": "median"}, {"n_jobs": 0}, {"burn_in": 0}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            km.KolmogorovImputer(**options).fit([[1, 2], [3, 4]])
    imputer = km.KolmogorovImputer(**SHORT)
    with pytest.raises(DataError, match="must hold numbers"):
        imputer.fit([["a", 1], ["b", 2]])
    with pytest.raises(DataError, match="no number"):
        imputer.fit(np.full((3, 2), np.nan))
    with pytest.raises(ParameterError, match="'n_imputations'"):
        imputer.fit([[1, 2], [2, 3], [3, 4]]).imputations(0)


@pytest.mark.long("scikit-learn's checks")
@parametrize_with_checks([km.KolmogorovImputer(n_chains=1, burn_in=10, n_samples=4)])
def test_the_rules_of_scikit_learn(estimator, check):
    check(estimator)
