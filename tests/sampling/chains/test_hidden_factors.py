"""Factors of hidden ratings, where chains of yes and no start."""

import numpy as np

import naive
from helpers.planned import chain_of as chain_of_table
from kolmogorov import Observations
from kolmogorov._support.threads import Threads
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.plan import level_grid
from kolmogorov.draws.start import FactorChain


def blocs(seed=0, n_users=80, n_items=40, share=0.8):
    """Two blocs that answer all questions alike, each in its way; a share of the answers is known."""
    rng = np.random.default_rng(seed)
    bloc, line = rng.integers(2, size=n_users), rng.integers(2, size=(2, n_items))
    users, items = np.nonzero(rng.random((n_users, n_items)) < share)
    return Observations.from_arrays(users, items, line[bloc[users], items].astype(float))


def chain_of(table, dealer, seed=7, n_events=3):
    levels = level_grid("auto", table, "bernoulli", n_events)
    options = {"likelihood": "bernoulli", "n_events": n_events, "levels": levels}
    return FactorChain(chain_of_table(table, seed=seed, dealer=dealer, **options), np.random.default_rng(seed))


def test_a_stretch_has_the_density_of_ratings_and_items_stretched_together():
    table = blocs()
    with Threads(1) as dealer:
        chain = chain_of(table, dealer)
        chain.settled()
    view, logs, now, ratings = table.columns, np.linspace(-2.0, 2.0, 2001), chain.factors, chain.columns.values
    owners = view.owners(0, table.n_items)
    left = ratings - np.einsum("nd,nd->n", now.users[view.indices], now.items[owners])
    drawn = np.log([chain.drawn_stretch(np.bincount(owners, left**2)) for _ in range(3000)])
    for item in (0, 7, 21):
        part = slice(*view.indptr[item : item + 2])
        given = (ratings[part], now.users[view.indices[part]], now.items[item], now.prior.centre[item])
        density = np.array([naive.stretch_density(np.exp(x), *given, now.prior.precision, NOISE) for x in logs])
        weight = np.exp(density - density.max())
        mean = weight @ logs / weight.sum()
        deviation = np.sqrt(weight @ (logs - mean) ** 2 / weight.sum())
        assert abs(drawn[:, item].mean() - mean) < 0.25 * deviation
        assert 0.85 < drawn[:, item].std() / deviation < 1.15


def test_the_same_on_any_number_of_threads():
    table, found = blocs(1), []
    for n in (1, 3):
        with Threads(n) as dealer:
            found.append(chain_of(table, dealer).settled())
    assert (found[0].users == found[1].users).all()
    assert (found[0].items == found[1].items).all()


def test_sure_answers_are_far_from_the_line_at_once():
    table = blocs(2)
    with Threads(1) as dealer:
        factors = chain_of(table, dealer).settled()
    said = np.einsum("nd,nd->n", factors.users[table.user_rows()], factors.items[table.item_rows()])
    surety = np.where(table.values > 0.5, said - 0.5, 0.5 - said) / np.sqrt(NOISE)
    assert (surety > 0).mean() > 0.99
    assert np.median(surety) > 2.0


def test_items_without_answers_and_answers_that_were_given_often():
    users, items, answers = [0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0, 1.0]
    table = Observations.from_arrays(users, items, answers, weights=[1.0, 500.0, 2.0, 1.0, 40.0])
    with Threads(1) as dealer:
        factors = chain_of(table, dealer, n_events=2).settled()
    assert np.isfinite(factors.users).all()
    assert np.isfinite(factors.items).all()
    assert factors.noise == NOISE
