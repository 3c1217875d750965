"""Blocks of features have ridges of their own: what says something is believed, what says nothing is not."""

import numpy as np
import pytest

from kolmogorov.draws.priors import PsiPrior, shrunk_slopes


@pytest.mark.parametrize("seed", range(2))
def test_noise_is_shrunk_away_beside_an_attribute_that_says_something(seed):
    """Of slopes that are fitted, as those of thetas, and of slopes that are drawn, as those of psis."""
    rng, blocks = np.random.default_rng(seed), (2, *[1] * 10)
    features, true = rng.standard_normal((300, 12)), rng.standard_normal((2, 5))
    rows = 0.3 + features[:, :2] @ true + 0.5 * rng.standard_normal((300, 5))
    about, apart = rows - rows.mean(axis=0), features - features.mean(axis=0)
    gram, moment, total = apart.T @ apart, apart.T @ about, float((about**2).sum())
    fitted, alone = (shrunk_slopes(gram, moment, total, 300, some)[0] for some in (blocks, ()))
    prior, drawn = PsiPrior.start(features, 5, 0.0, blocks), np.zeros((12, 5))
    for index in range(60):
        prior = prior.learned(rows, np.ones(300, dtype=bool), 0.01, rng)
        drawn += prior.slopes[1:] / 40 if index >= 20 else 0.0
    plain = np.linalg.lstsq(apart, about, rcond=None)[0]
    for found in (fitted, drawn):
        assert np.abs(found[:2] - true).max() < 0.15
        assert (found[2:] ** 2).sum() < 0.3 * (plain[2:] ** 2).sum()
    # One ridge for all is as small as the two that say something ask for.
    assert (fitted[2:] ** 2).sum() < 0.5 * (alone[2:] ** 2).sum()
