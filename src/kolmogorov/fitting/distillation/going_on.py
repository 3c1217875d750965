"""One model and other draws than it was made of: it moves to what they complete, in a few sweeps from where it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import checked
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.fitting.descent.problem import Problem
from kolmogorov.fitting.descent.state import State
from kolmogorov.fitting.distillation.engine import CompletedTable, CompletionEngine

#: Sweeps, from a model that is near; by judgement.
_SWEEPS = 3


def gone_on(fitted: Fitted, drawn: Posterior, problem: Problem, seed: int, n_jobs: int | None) -> Fitted:
    """Return the model nearby that is nearest to what draws of the same users and items say on average.

    Of the problem the row solvers are used. Events keep their numbers; pulls stay as they are.
    """
    with one_blas_thread(), Threads(n_jobs) as dealer:
        engine = CompletionEngine(problem, CompletedTable.of(drawn), dealer)
        state = State(fitted.theta, fitted.psi.astype(np.float64), fitted.population)
        for index in range(1, _SWEEPS + 1):
            state, sweep = engine.sweep(state, index, seed)
    theta, psi = state.theta.copy(), state.psi.astype(fitted.psi.dtype)
    theta[~fitted.user_seen] = theta[fitted.user_seen].mean(axis=0)
    # Nobody has answered for those whom attributes place.
    users, items = fitted.user_known & ~fitted.user_seen, fitted.item_known & ~fitted.item_seen
    theta[users], psi[items] = fitted.theta[users], fitted.psi[items]
    return checked(replace(fitted, theta=theta, psi=psi, noise=drawn.answer_variance + sweep.rmse**2))
