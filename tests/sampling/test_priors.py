"""Blocks of features have ridges of their own: what says something is believed, what says nothing is not."""

import numpy as np
import pytest

from kolmogorov.draws.priors import PsiPrior, shrunk_slopes


def _slopes(features, rows, blocks):
    rows = rows - rows.mean(axis=0)
    features = features - features.mean(axis=0)
    return shrunk_slopes(features.T @ features, features.T @ rows, float((rows**2).sum()), len(rows), blocks)[0]


@pytest.mark.parametrize("seed", range(2))
def test_noise_is_shrunk_away_beside_an_attribute_that_says_something(seed):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((300, 12))
    true = rng.standard_normal((2, 5))
    rows = features[:, :2] @ true + 0.5 * rng.standard_normal((300, 5))
    found = _slopes(features, rows, (2, *[1] * 10))
    assert np.abs(found[:2] - true).max() < 0.15
    plain = np.linalg.lstsq(features - features.mean(axis=0), rows - rows.mean(axis=0), rcond=None)[0]
    # One ridge for all is as small as the two that say something ask for.
    assert (found[2:] ** 2).sum() < 0.25 * (plain[2:] ** 2).sum()
    alone = _slopes(features, rows, ())
    assert (found[2:] ** 2).sum() < 0.5 * (alone[2:] ** 2).sum()


@pytest.mark.parametrize("seed", range(2))
def test_values_are_drawn_likewise(seed):
    rng = np.random.default_rng(seed)
    features, seen = rng.standard_normal((300, 12)), np.ones(300, dtype=bool)
    true = rng.standard_normal((2, 5))
    psi = 0.3 + features[:, :2] @ true + 0.5 * rng.standard_normal((300, 5))
    prior = PsiPrior.start(features, 5, 0.0, (2, *[1] * 10))
    total = np.zeros_like(prior.slopes)
    for index in range(60):
        prior = prior.learned(psi, seen, 0.01, rng)
        total += prior.slopes / 40 if index >= 20 else 0.0
    plain = np.linalg.lstsq(prior.features, psi, rcond=None)[0]
    assert np.abs(total[1:3] - true).max() < 0.15
    assert (total[3:] ** 2).sum() < 0.3 * (plain[3:] ** 2).sum()
