"""One model for many: a short chain whose states are averaged, each theta and each value for itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitting.history import Sweep
from kolmogorov.sampling.chain import Chain, ChainState, noise_of
from kolmogorov.sampling.features import Features
from kolmogorov.sampling.plan import Plan


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
    history : tuple of Sweep
        The objective is the squared error alone: a chain does not descend.
    interrupted : bool
    """

    theta: Floats
    values: Floats
    user_reg: float
    item_reg: float
    history: tuple[Sweep, ...]
    interrupted: bool


def averaged(
    plan: Plan, table: Observations, features: Features, seed: int, dealer: Threads, on_sweep: Callable[[Sweep], Any]
) -> Average:
    """Run one chain; `on_sweep` may end it, and so may Ctrl-C after the first sweep."""
    chain = plan.chain(table, features, seed, 0, dealer)
    state = chain.start()
    theta, values = np.zeros_like(state.theta), np.zeros_like(state.psi)
    history: list[Sweep] = []
    kept, interrupted = 0, False
    try:
        for index in range(1, plan.n_sweeps + 1):
            began = time.perf_counter()
            state = chain.sweep(state, index, learning=index <= plan.burn_in)
            history.append(_record(chain, state, index, time.perf_counter() - began))
            stopping = says_stop(on_sweep(history[-1]))
            if plan.keeps(index) or stopping:
                theta += state.theta
                values += state.psi
                kept += 1
            if stopping:
                break
    except KeyboardInterrupt:
        if not history:
            raise
        interrupted = True
        if not kept:
            theta, values, kept = state.theta.copy(), state.psi.copy(), 1
    theta /= theta.sum(axis=1, keepdims=True)
    soft = (values / kept).astype(np.float32).astype(np.float64)
    return Average(theta, soft, *_ridges(plan, table, state), tuple(history), interrupted)


def _record(chain: Chain, state: ChainState, index: int, seconds: float) -> Sweep:
    squares, mass = noise_of(chain, state.theta, state.psi)
    error = float(squares.sum())
    return Sweep(index, error, float(np.sqrt(error / mass.sum())), 0.5 * seconds, 0.5 * seconds)


def _ridges(plan: Plan, table: Observations, state: ChainState) -> tuple[float, float]:
    """Return precisions of the priors over that of an answer."""
    if plan.likelihood == "gaussian":
        noise, pull = float(state.noise.mean()), float(state.users.concentration)
    else:
        noise, pull = float(np.var(table.values)), float(state.alpha.sum())
    size = len(state.alpha)
    of_items = float(np.trace(state.items.precision)) / size if plan.levels is not None else 0.0
    return noise * pull, noise * of_items
