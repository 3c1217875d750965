"""Geweke's joint test of the whole sampler: it finds nothing wrong, and would find planted bugs."""

from dataclasses import replace

import numpy as np
import pytest

from geweke import scores_of
from kolmogorov import Observations
from kolmogorov.data.observations import View
from kolmogorov.execution import Threads
from kolmogorov.kernels.draws.gibbs import (
    draw_bits,
)
from kolmogorov.sampling import chain as chain_module
from kolmogorov.sampling.chain import FLOOR, BernoulliChain, GaussianChain
from kolmogorov.sampling.priors import ItemPrior


class TinyWorld:
    """A table of 4 × 5 with a hole, whose answers are drawn anew after every sweep."""

    users, items, events, classes = 4, 5, 2, 2
    kind = GaussianChain
    concentration: float | None = 1e-9

    def __init__(self):
        full = Observations.from_dense(np.full((self.users, self.items), 0.5))
        self.table = full.subset(np.arange(20) % 7 != 3)
        self.dealer = Threads(1)
        self.chain = self.kind(
            self.table,
            np.zeros((self.users, 0)),
            n_events=self.events,
            n_classes=self.classes,
            concentration=self.concentration,
            seed=11,
            dealer=self.dealer,
        )
        self.chain.noise_rate = 30.0
        self.start = self.chain.start()

    def prior(self, rng):
        """Draw everything from the prior; with hardly any concentration theta is uniform on the simplex."""
        start = self.start
        frequency = rng.random((self.classes, self.events))
        weights = rng.dirichlet(np.ones(self.classes), start.items.bucket.max() + 1)
        member = np.array([rng.choice(self.classes, p=weights[b]) for b in start.items.bucket])
        scale = rng.gamma(1.0) / self.chain.noise_rate
        return replace(
            start,
            theta=rng.dirichlet(np.ones(self.events), self.users),
            psi=(rng.random((self.items, self.events)) < frequency[member]).astype(float),
            noise=scale / rng.gamma(self.chain.noise_shape, size=self.users),
            items=ItemPrior(start.items.bucket, member, frequency),
            scale=scale,
        )

    def answers(self, link, rng):
        rows, columns = self.table.user_rows(), self.table.item_rows()
        mean = np.einsum("nd,nd->n", link.theta[rows], link.psi[columns])
        return mean + np.sqrt(link.noise[rows]) * rng.normal(size=len(mean))

    def with_answers(self, values):
        view = self.table.rows
        fresh = View(view.indptr, view.indices, values, np.empty(0))
        return Observations(self.table.users, self.table.items, fresh, self.table.scale)

    def functionals(self, link, values):
        chance = (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]
        expected = link.items.frequency[link.items.member]
        return [
            ((link.psi - 0.5) * (expected - 0.5)).mean(),
            ((chance - 0.5) * np.tanh(values - 0.5)).mean(),
            (link.theta**2).mean(),
            link.psi.mean(),
            (link.theta @ link.psi.T).mean(),
            (link.psi[0] * link.psi[1]).mean(),
            np.log(link.noise).mean(),
            np.log(link.scale),
            link.items.frequency.mean(),
            (link.items.member[0] == link.items.member[1]).mean(),
            np.tanh(values).mean(),
            (np.tanh(values) * (link.theta @ link.psi.T).mean()).mean(),
        ]


class YesNoWorld(TinyWorld):
    """The same table with answers yes and no."""

    kind = BernoulliChain
    concentration = None

    def prior(self, rng):
        link = super().prior(rng)
        alpha = rng.exponential(10.0, self.events)
        return replace(link, alpha=alpha, theta=rng.dirichlet(alpha, self.users))

    def answers(self, link, rng):
        chance = (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]
        return (rng.random(len(chance)) < FLOOR + (1 - 2 * FLOOR) * chance).astype(float)

    def functionals(self, link, values):
        chance = (link.theta @ link.psi.T)[self.table.user_rows(), self.table.item_rows()]
        expected = link.items.frequency[link.items.member]
        return [
            ((link.psi - 0.5) * (expected - 0.5)).mean(),
            ((chance - 0.5) * (values - 0.5)).mean(),
            (link.theta**2).mean(),
            link.psi.mean(),
            (link.psi[0] * link.psi[1]).mean(),
            np.log(link.alpha).mean(),
            (np.log(link.alpha) ** 2).mean(),
            values.mean(),
        ]


@pytest.mark.parametrize("make", [TinyWorld, YesNoWorld])
def test_geweke_finds_nothing_wrong(make):
    assert np.abs(scores_of(8000, make)).max() < 4.0


def _doubled(alpha, theta, rng, **options):
    """Count every user four times."""
    return _alpha(alpha, np.concatenate([theta] * 4), rng, **options)


def _flipped(indptr, indices, values, weights, *rest):
    return _answers(indptr, indices, 1.0 - values, weights, *rest)


_alpha, _answers = chain_module.redrawn_alpha, chain_module.draw_answers


@pytest.mark.parametrize(("name", "bug"), [("redrawn_alpha", _doubled), ("draw_answers", _flipped)])
def test_geweke_finds_a_wrong_conditional_of_yes_and_no(monkeypatch, name, bug):
    monkeypatch.setattr(chain_module, name, bug)
    assert np.abs(scores_of(8000, YesNoWorld)).max() > 5.0


def _flat_odds(indptr, indices, values, weights, precision, theta, psi, logit, *rest):
    return draw_bits(indptr, indices, values, weights, 0.2 * precision, theta, psi, 0.2 * logit, *rest)


def _wide_steps(self, gram, moment, start, seeds):
    return _points(self, 0.5 * gram, 0.5 * moment, start, seeds)


_points = chain_module.SimplexSampler._solve_batch


@pytest.mark.parametrize("bug", ["bits", "simplex", "noise", "classes"])
def test_geweke_finds_a_wrong_conditional(monkeypatch, bug):
    if bug == "bits":
        monkeypatch.setattr(chain_module, "draw_bits", _flat_odds)
    elif bug == "simplex":
        monkeypatch.setattr(chain_module.SimplexSampler, "_solve_batch", _wide_steps)
    elif bug == "noise":
        right = chain_module.noise_of
        monkeypatch.setattr(chain_module, "noise_of", lambda *a: (right(*a)[0], 2.0 * right(*a)[1]))
    else:
        right = ItemPrior.redrawn
        monkeypatch.setattr(ItemPrior, "redrawn", lambda self, psi, rng: right(self, 1.0 - psi, rng))
    assert np.abs(scores_of(5000, TinyWorld)).max() > 5.0
