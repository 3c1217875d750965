"""One model for many: a short chain whose states are averaged, each theta and each value for itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.sampling.chain import ChainState
from kolmogorov.sampling.emission import placed
from kolmogorov.sampling.features import Features
from kolmogorov.sampling.levels import LevelChain
from kolmogorov.sampling.plan import Plan

#: How far the start is moved off certainty.
_BLUR = 0.1
#: What is less likely counts as so likely in a log loss.
_LEAST_CHANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Average:
    """What a chain was on average after burn-in.

    Attributes
    ----------
    theta : float64[n_users, D]
    values : float64[n_items, D]
        Between the levels; exact in four bytes.
    user_reg, item_reg : float
        The ridges that the learned priors amount to, in the units of a point model's objective.
    interrupted : bool
    """

    theta: Floats
    values: Floats
    user_reg: float
    item_reg: float
    interrupted: bool


def averaged(
    plan: Plan, table: Observations, features: Features, seed: int, dealer: Threads, begin: Fitted | None
) -> Average:
    """Run one chain from where a descent ended, or from where draws start; after Ctrl-C return the average so far."""
    chain = plan.chain(table, features, seed, 0, dealer)
    assert isinstance(chain, LevelChain)
    state = chain.start() if begin is None else _begun(chain.plain_start(), plan, begin)
    theta, values = np.zeros_like(state.theta), np.zeros_like(state.psi)
    kept, interrupted = 0, False
    try:
        for index in range(1, plan.n_sweeps + 1):
            state = chain.sweep(state, index, learning=index <= plan.burn_in)
            if plan.keeps(index):
                theta += state.theta
                values += state.psi
                kept += 1
    except KeyboardInterrupt:
        interrupted = True
    if not kept:
        theta, values, kept = state.theta.copy(), state.psi.copy(), 1
    theta /= theta.sum(axis=1, keepdims=True)
    seen = table.rows.counts > 0
    theta[~seen] = theta[seen].mean(axis=0)
    soft = (values / kept).astype(np.float32).astype(np.float64)
    return Average(theta, soft, *_ridges(plan, table, state), interrupted)


def _begun(state: ChainState, plan: Plan, hard: Fitted) -> ChainState:
    """Return the state near a model: thetas halfway to equal ones, which chains leave sooner, values off certainty."""
    assert plan.levels is not None
    theta = 0.5 * hard.theta + 0.5 / plan.n_events
    psi = hard.psi.astype(np.float64)
    if plan.likelihood != "gaussian":
        psi = _BLUR + (1.0 - 2.0 * _BLUR) * np.clip(psi, 0.0, 1.0)
    return replace(state, theta=theta, psi=plan.levels[placed(psi, plan.levels)])


def _ridges(plan: Plan, table: Observations, state: ChainState) -> tuple[float, float]:
    """Return precisions of the priors over that of an answer."""
    if plan.likelihood == "gaussian":
        noise, pull = float(state.noise.mean()), float(state.users.concentration)
    else:
        noise, pull = float(np.var(table.values)), float(state.alpha.sum())
    size = len(state.alpha)
    of_items = float(np.trace(state.items.precision)) / size if plan.levels is not None else 0.0
    return noise * pull, noise * of_items


def error_on(fitted: Fitted, table: Observations) -> float:
    """Return the root mean square error on entries of the same users and items, on the probability scale."""
    said = fitted.at_rows(table.user_rows(), table.item_rows())
    return float(np.sqrt(np.mean((said - table.values) ** 2)))


def loss_on(fitted: Fitted, table: Observations) -> float:
    """Return the log loss with yes and no, with ratings the error as above."""
    if not table.is_binary:
        return error_on(fitted, table)
    chance = fitted.at_rows(table.user_rows(), table.item_rows()).clip(_LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    return float(-np.log(np.where(table.values > 0.5, chance, 1.0 - chance)).mean())


def with_events_of(model: Fitted, other: Fitted) -> Fitted:
    """Return the other model with its events in the order in which they go best, over users, with those of a model."""
    left, right = (theta - theta.mean(axis=0) for theta in (model.theta, other.theta))
    _, order = linear_sum_assignment(left.T @ right, maximize=True)
    return replace(other, theta=other.theta[:, order], psi=other.psi[:, order], centre=other.centre[order])
