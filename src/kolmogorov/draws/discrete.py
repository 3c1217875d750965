"""Chains over models of yes and no with the paper's two levels: each answer comes from an event of its own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.chain import LEVEL_COST, PRIORS, Chain, ChainState, Codes
from kolmogorov.draws.emission import CHANCES, POSITION
from kolmogorov.draws.emission_kernels import draw_emissions, draw_emitted

#: Sweeps in which the Dirichlet prior of theta stays as it starts. By judgement.
HELD = 30
#: alpha_d ~ Exponential(rate), by judgement: wide.
RATE = 0.1
#: Sizes of the proposals on the log scale, each used once a sweep: long ones for few users, short ones for many.
#: By judgement.
_STEPS = (2.0, 0.5, 0.12, 0.03)


class DiscreteChain(Chain):
    """Of each answer an event is drawn from theta_u, in which the item happens or not: nearly surely a yes, or a no."""

    prior_names = ("concentration",)

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        sides = self.observations.rows, self.observations.columns
        self._by_rows, self._by_columns = ((view.values > 0.5).astype(np.uint8) for view in sides)

    @property
    def positions(self) -> Floats:
        """Where the levels stand in the items' normal prior: by their log odds."""
        return POSITION

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta: the sum of its Dirichlet prior's parameters."""
        return {"concentration": float(state.alpha.sum())}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psis with the events summed out, then events and thetas, then the priors."""
        self.observations.rows.check_intact()
        rng = generator(self.seed, PRIORS, index)
        fresh = self._psis(state, index)
        theta = self._thetas(state, fresh, index)
        alpha = state.alpha
        # At first users are alike because events are; learned from that, alpha would keep them so.
        if not learning or index > HELD:
            fixed = self.concentration is not None
            alpha = redrawn_alpha(alpha, theta[self.seen_users], rng, total_fixed=fixed)
        prior = state.psi_prior
        if learning:
            prior = prior.learned(POSITION[fresh], self.seen_items, self.psi_variance, rng)
        return replace(state, theta=theta, psi=self.decoded(fresh), psi_prior=prior, alpha=alpha)

    def _psis(self, state: ChainState, index: int) -> Codes:
        columns, answers = self.observations.columns, self._by_columns
        codes = self.codes(state.psi)
        fresh, seeds = np.empty_like(codes), self.row_seeds(index, ITEM_SIDE)
        normal = (state.psi_prior.centre, state.psi_prior.precision)
        table = (columns.indptr, columns.indices, answers, columns.weights)
        given = (state.theta, codes, CHANCES, POSITION, *normal)

        def share(first: int, last: int) -> None:
            draw_emissions(*table, *given, seeds[first:last], first, last, fresh)

        cost = self.n_events * len(self.levels)
        self.dealer.deal(share, len(codes), 1, columns.indptr, LEVEL_COST * cost)
        return fresh

    def _thetas(self, state: ChainState, codes: Codes, index: int) -> Floats:
        rows, now = self.observations.rows, state.theta
        theta, seeds = np.empty_like(now), self.row_seeds(index, USER_SIDE)
        table = (rows.indptr, rows.indices, self._by_rows, rows.weights)

        def share(first: int, last: int) -> None:
            given = (codes, CHANCES, now, state.alpha, seeds[first:last])
            draw_emitted(*table, *given, first, last, theta)

        self.dealer.deal(share, len(theta), 1, rows.indptr, LEVEL_COST * self.n_events)
        return theta


def redrawn_alpha(alpha: Floats, theta: Floats, rng: np.random.Generator, *, total_fixed: bool = False) -> Floats:
    """Take Metropolis steps for alpha given the thetas of the users observed, which enter by their logarithms.

    With `total_fixed` mass moves between pairs of events and the sum stays; otherwise each alpha_d moves, and then all
    of them by one factor.
    """
    logs, n, current = np.log(np.maximum(theta, 1e-300)).sum(axis=0).tolist(), len(theta), alpha.tolist()
    for step in _STEPS:
        if total_fixed:
            _move_between_pairs(current, logs, n, step, rng)
        else:
            _move_each(current, logs, n, step, rng)
            _move_all(current, logs, n, step, rng)
    return np.array(current)


def _move_each(alpha: list[float], logs: list[float], n: int, step: float, rng: np.random.Generator) -> None:
    total = sum(alpha)
    for d, old in enumerate(alpha):
        new = old * math.exp(step * rng.standard_normal())
        change = n * (math.lgamma(total + new - old) - math.lgamma(total) - math.lgamma(new) + math.lgamma(old))
        # The last term is the Jacobian of a step on the log scale.
        change += (new - old) * (logs[d] - RATE) + math.log(new / old)
        if _accepted(change, rng):
            alpha[d] = new
            total += new - old


def _move_all(alpha: list[float], logs: list[float], n: int, step: float, rng: np.random.Generator) -> None:
    total = sum(alpha)
    factor = math.exp(step * rng.standard_normal())
    change = n * (math.lgamma(factor * total) - math.lgamma(total)) + len(alpha) * math.log(factor)
    for old, log in zip(alpha, logs, strict=True):
        change += n * (math.lgamma(old) - math.lgamma(factor * old)) + (factor - 1.0) * old * (log - RATE)
    if _accepted(change, rng):
        alpha[:] = [factor * old for old in alpha]


def _move_between_pairs(alpha: list[float], logs: list[float], n: int, step: float, rng: np.random.Generator) -> None:
    """Given their sum, exponential alphas are uniform: only the likelihood and the Jacobian of the logit count."""
    size = len(alpha)
    for d in range(size - 1):
        e = int(rng.integers(d + 1, size))
        both = alpha[d] + alpha[e]
        share = alpha[d] / both
        odds = math.log(share / (1.0 - share)) + step * rng.standard_normal()
        fresh = 1.0 / (1.0 + math.exp(-odds))
        new, rest = both * fresh, both * (1.0 - fresh)
        if min(new, rest) <= 0.0:
            continue
        change = n * (math.lgamma(alpha[d]) - math.lgamma(new) + math.lgamma(alpha[e]) - math.lgamma(rest))
        change += (new - alpha[d]) * logs[d] + (rest - alpha[e]) * logs[e]
        change += math.log(fresh * (1.0 - fresh)) - math.log(share * (1.0 - share))
        if _accepted(change, rng):
            alpha[d], alpha[e] = new, rest


def _accepted(change: float, rng: np.random.Generator) -> bool:
    return math.log(rng.random()) < change
