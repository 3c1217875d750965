"""Geweke's joint test of the chains: nothing wrong is found, and planted bugs are."""

from dataclasses import replace

import numpy as np
import pytest

import naive
from helpers.geweke import scores_of
from helpers.planned import chain_of
from kolmogorov import Observations
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

    def prior(self, rng):
        weight = np.exp(-0.5 * self.precision * (self.grid[:, None] - self.centre) ** 2)
        weight /= weight.sum(axis=0)
        psi = np.array([rng.choice(self.grid, self.items, p=weight[:, d]) for d in range(self.events)]).T
        shape = np.inf
        while not priors_module.LEAST_SHAPE < shape < priors_module.MOST_SHAPE:
            shape = np.exp(priors_module._USUAL_SHAPE + priors_module._SHAPE_SPREAD * rng.normal())
        scale = shape * rng.exponential() / (self.chain.noise_shape * self.chain.noise_rate)
        theta, noise = rng.dirichlet(np.ones(self.events), self.users), scale / rng.gamma(shape, size=self.users)
        return replace(self.start, theta=theta, psi=psi, noise=noise, scale=scale, shape=shape)

    def chance(self, link):
        return (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]

    def answers(self, link, rng):
        mean = self.chance(link)
        return mean + np.sqrt(link.noise[self.table.user_rows()]) * rng.normal(size=len(mean))

    def with_answers(self, values):
        return replace(self.table, rows=self.table.rows.with_values(values))

    def functionals(self, link, values):
        noise, shape = np.log(link.noise), np.log(link.shape)
        own = [noise.mean(), np.log(link.scale / link.shape), shape, shape**2, noise.std() * shape]
        return [*self.usual(link, values), *own]

    def usual(self, link, values):
        chance, psi = self.chance(link), link.psi
        products = [(psi**2).mean(), (psi[:, 0] * psi[:, 1]).mean(), (psi[0] * psi[1]).mean()]
        told = ((chance - 0.5) * np.tanh(values - 0.5)).mean()
        return [told, (link.theta**2).mean(), *psi.mean(axis=0), *products, chance.mean(), np.tanh(values).mean()]


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


_psis, _thetas = likelihood_module.draw_psis, likelihood_module.draw_thetas
_noise, _prior, _hidden = chain_module.redrawn_noise, chain_module.redrawn_noise_prior, chain_module.draw_hidden
_squares = chain_module.residual_squares


def _smaller_residuals(*given):
    _squares(*given)
    given[-1][:] *= 0.3


def _off_the_edge(*given):
    _hidden(*given)
    first, last, out = given[-3:]
    part = slice(given[0][first], given[0][last])
    out[part] += 0.1 * np.sign(out[part] - 0.5)


@pytest.mark.parametrize(
    ("make", "where", "name", "bug"),
    [
        (ValueWorld, likelihood_module, "draw_psis", lambda *a: _psis(*a[:4], 0.2 * a[4], *a[5:])),
        (ValueWorld, likelihood_module, "draw_psis", lambda *a: _psis(*a[:8], 0.5 * a[8], *a[9:])),
        (ValueWorld, likelihood_module, "draw_thetas", lambda *a: _thetas(*a[:4], 0.2 * a[4], *a[5:])),
        (ValueWorld, chain_module, "residual_squares", _smaller_residuals),
        (ValueWorld, chain_module, "redrawn_noise", lambda a, b, c, n, rng: _noise(a, b, c, 2.0 * n, rng)),
        (ValueWorld, chain_module, "redrawn_noise_prior", lambda a, b, *c: _prior(a, b, *(4 * x for x in c[:3]), c[3])),
        (HiddenWorld, chain_module, "draw_hidden", lambda *a: _hidden(*a[:2], np.ones_like(a[2]), *a[3:])),
        (HiddenWorld, chain_module, "draw_hidden", _off_the_edge),
        (HiddenWorld, likelihood_module, "draw_thetas", lambda *a: _thetas(*a[:2], 1.0 - a[2], *a[3:])),
    ],
)
def test_geweke_finds_a_wrong_conditional(monkeypatch, make, where, name, bug):
    monkeypatch.setattr(where, name, bug)
    assert np.abs(scores_of(6000, make)).max() > 5.0
