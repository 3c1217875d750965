"""Geweke's joint test of the chains: nothing wrong is found, and planted bugs are."""

from dataclasses import replace

import numpy as np
import pytest

import naive
from helpers.geweke import scores_of
from helpers.planned import chain_of
from kolmogorov import Observations
from kolmogorov.data.view import View
from kolmogorov.draws import chain as chain_module
from kolmogorov.draws import likelihood as likelihood_module
from kolmogorov.draws import priors as priors_module
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.draws.start import started

pytestmark = pytest.mark.long("chains")


class ValueWorld:
    """A table of 4 × 5 with a hole, whose answers are drawn anew after every sweep; the items' prior is given."""

    users, items, events = 4, 5, 2
    likelihood = "gaussian"
    grid = np.array([-0.4, 0.0, 0.4, 0.8, 1.2])
    #: Where values stand in their prior, whose mean and precision differ between events.
    centre, precision = np.array([0.2, 0.6]), np.array([4.0, 9.0])

    def __init__(self):
        full = Observations.from_dense(np.full((self.users, self.items), 0.5))
        self.table = full.subset(np.arange(20) % 7 != 3)
        options = {"likelihood": self.likelihood, "n_events": self.events, "levels": self.grid}
        self.chain = chain_of(self.table, seed=11, **options)
        self.chain.noise_rate = 10.0
        prior = PsiPrior(np.ones((self.items, 1)), self.centre[None, :], np.diag(self.precision))
        start = started(self.chain)
        # Any theta is as good as any other.
        self.start = replace(start, psi_prior=prior, theta_prior=replace(start.theta_prior, concentration=1e-9))

    def values(self, rng):
        """Draw what items are from their prior on the grid."""
        weight = np.exp(-0.5 * self.precision * (self.grid[:, None] - self.centre) ** 2)
        weight /= weight.sum(axis=0)
        columns = [rng.choice(self.grid, self.items, p=weight[:, d]) for d in range(self.events)]
        return np.array(columns).T

    def prior(self, rng):
        shape = np.inf
        while not priors_module.LEAST_SHAPE < shape < priors_module.MOST_SHAPE:
            shape = np.exp(priors_module._USUAL_SHAPE + priors_module._SHAPE_SPREAD * rng.normal())
        scale = shape * rng.exponential() / (self.chain.noise_shape * self.chain.noise_rate)
        return replace(
            self.start,
            theta=rng.dirichlet(np.ones(self.events), self.users),
            psi=self.values(rng),
            noise=scale / rng.gamma(shape, size=self.users),
            scale=scale,
            shape=shape,
        )

    def chance(self, link):
        return (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]

    def answers(self, link, rng):
        mean = self.chance(link)
        return mean + np.sqrt(link.noise[self.table.user_rows()]) * rng.normal(size=len(mean))

    def with_answers(self, values):
        view = self.table.rows
        fresh = View(view.indptr, view.indices, values, np.empty(0))
        return Observations(self.table.users, self.table.items, fresh, self.table.scale)

    def functionals(self, link, values):
        return [
            *self.usual(link, values),
            np.log(link.noise).mean(),
            np.log(link.scale / link.shape),
            np.log(link.shape),
            np.log(link.shape) ** 2,
            (np.log(link.noise).std()) * np.log(link.shape),
        ]

    def usual(self, link, values):
        chance = self.chance(link)
        return [
            ((chance - 0.5) * np.tanh(values - 0.5)).mean(),
            (link.theta**2).mean(),
            link.psi[:, 0].mean(),
            link.psi[:, 1].mean(),
            (link.psi**2).mean(),
            (link.psi[:, 0] * link.psi[:, 1]).mean(),
            (link.psi[0] * link.psi[1]).mean(),
            chance.mean(),
            np.tanh(values).mean(),
        ]


class TwoValueWorld(ValueWorld):
    """The same with the paper's two values."""

    grid = np.array([0.0, 1.0])


class HiddenWorld(ValueWorld):
    """The same table with answers yes and no, behind which ratings are hidden."""

    likelihood = "bernoulli"
    grid = np.array([-0.8, 0.0, 0.8, 1.6])

    def answers(self, link, rng):
        return (rng.random(len(self.table)) < naive.chance_of_yes(self.chance(link))).astype(float)

    def functionals(self, link, values):
        return [*self.usual(link, values), (self.chance(link) * values).mean()]


@pytest.mark.parametrize("make", [ValueWorld, TwoValueWorld, HiddenWorld])
def test_geweke_finds_nothing_wrong(make):
    assert np.abs(scores_of(8000, make)).max() < 4.0


_values, _thetas = likelihood_module.draw_psis, likelihood_module.draw_thetas
_noise, _prior, _hidden = chain_module.redrawn_noise, chain_module.redrawn_noise_prior, chain_module.draw_hidden
_squares = chain_module.residual_squares


def _light_answers(indptr, indices, values, weights, precision, *rest):
    _values(indptr, indices, values, weights, 0.2 * precision, *rest)


def _weak_prior(indptr, indices, values, weights, precision, theta, grid, centre, pull, *rest):
    _values(indptr, indices, values, weights, precision, theta, grid, centre, 0.5 * pull, *rest)


def _wide_thetas(indptr, indices, values, weights, precision, *rest):
    _thetas(indptr, indices, values, weights, 0.2 * precision, *rest)


def _smaller_residuals(indptr, indices, values, weights, theta, psi, first, last, out):
    _squares(indptr, indices, values, weights, theta, psi, first, last, out)
    out[first:last] *= 0.3


def _counted_twice(scale, shape, residual, count, rng):
    return _noise(scale, shape, residual, 2.0 * count, rng)


def _more_users(shape, rate, n, logs, inverses, rng):
    return _prior(shape, rate, 4 * n, 4 * logs, 4 * inverses, rng)


@pytest.mark.parametrize(
    ("where", "name", "bug"),
    [
        (likelihood_module, "draw_psis", _light_answers),
        (likelihood_module, "draw_psis", _weak_prior),
        (likelihood_module, "draw_thetas", _wide_thetas),
        (chain_module, "residual_squares", _smaller_residuals),
        (chain_module, "redrawn_noise", _counted_twice),
        (chain_module, "redrawn_noise_prior", _more_users),
    ],
)
def test_geweke_finds_a_wrong_conditional_of_values(monkeypatch, where, name, bug):
    monkeypatch.setattr(where, name, bug)
    assert np.abs(scores_of(6000, ValueWorld)).max() > 5.0


def _all_yes(indptr, indices, answers, *rest):
    _hidden(indptr, indices, np.ones_like(answers), *rest)


def _turned_thetas(indptr, indices, values, *rest):
    _thetas(indptr, indices, 1.0 - values, *rest)


def _off_the_edge(*given):
    _hidden(*given)
    first, last, out = given[-3:]
    part = slice(given[0][first], given[0][last])
    out[part] += 0.1 * np.sign(out[part] - 0.5)


@pytest.mark.parametrize(
    ("where", "name", "bug"),
    [
        (chain_module, "draw_hidden", _all_yes),
        (chain_module, "draw_hidden", _off_the_edge),
        (likelihood_module, "draw_psis", _light_answers),
        (likelihood_module, "draw_thetas", _turned_thetas),
    ],
)
def test_geweke_finds_a_wrong_conditional_of_what_is_hidden(monkeypatch, where, name, bug):
    monkeypatch.setattr(where, name, bug)
    assert np.abs(scores_of(6000, HiddenWorld)).max() > 5.0
