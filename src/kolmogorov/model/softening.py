"""Soft values where what is missing is missing: the average of a short chain that stands beside a model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data import Observations
from kolmogorov.data.levels import CHANCES
from kolmogorov.execution import Threads
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.metrics.evaluation import evaluate
from kolmogorov.sampling.average import averaged, with_events_of
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.grid import on_grid
from kolmogorov.sampling.plan import Plan, level_grid, likelihood_of
from kolmogorov.sampling.sizes import feature_count

#: Sweeps of the chain whose average soft values are, and with fewer ratings than so many for each user and item, of
#: which less is known and more must be averaged.
_SWEEPS, _SPARSE_SWEEPS, _SPARSE = 100, 250, 10
#: With fewer answers of a user, yes and no are averaged with normal noise too: events cannot be told from so few, and
#: values beyond 0 and 1 let users and items be more or less of a yes.
_FEW_ANSWERS = 10
#: Sweeps of a chain that only compares settings, at least.
_LEAST_SWEEPS = 50
#: Up to so many ratings the start of the chain is chosen, where it comes out of the descent's end with a larger error,
#: by one of so many folds of them; up to fewer, whose folds are small, by all of the folds.
_SMALL, _TINY, _FOLDS = 50_000, 5_000, 5
#: The share of a loss that another must be below to be clearly smaller.
_CLEARLY = 0.95
#: Of fewer ratings no folds are made.
_LEAST_FOLDED = 20
#: What is less likely counts as so likely in a log loss.
_LEAST_CHANCE = 1e-3


def softened(
    hard: Fitted,
    n_events: int,
    effort: float,
    seed: int,
    n_jobs: int | None,
    descended: Callable[[Observations], Fitted],
) -> tuple[Fitted | None, bool]:
    """Average a short chain that starts from a descent's end; return it, and whether Ctrl-C ended it.

    On small tables it may leave that for a poorer mode, where users are all alike or events change places, and fits
    the data worse than the descent did. Then it is tried on entries held out, beside a chain that starts from factors
    and beside no soft values; `descended` makes a model of the rest.
    """

    def chain(model: Fitted, *, from_factors: bool) -> tuple[Fitted, bool]:
        return _averaged(model, n_events, effort, seed, n_jobs, from_factors=from_factors)

    table = hard.training
    soft, interrupted = chain(hard, from_factors=False)
    if interrupted or len(table) > _SMALL or _scores(soft, table)["rmse"] <= _scores(hard, table)["rmse"]:
        return soft, interrupted
    if len(table) < _LEAST_FOLDED:
        return None, False
    name = "log_loss" if table.is_binary else "rmse"
    losses = np.zeros(3)
    for train, test in islice(table.folds(_FOLDS, random_state=seed), _FOLDS if len(table) <= _TINY else 1):
        if (train.values == train.values[0]).all():
            continue
        try:
            model = descended(train)
        except KeyboardInterrupt:
            return soft, True
        tried = [chain(model, from_factors=start) for start in (False, True)]
        if any(ended for _, ended in tried):
            return soft, True
        losses += [_scores(fitted, test)[name] for fitted in (tried[0][0], tried[1][0], model)]
    # What is no poor mode is left only for something clearly better.
    best = int((losses * (_CLEARLY, 1.0, 1.0)).argmin())
    return (soft, False) if best == 0 else chain(hard, from_factors=True) if best == 1 else (None, False)


def _averaged(
    hard: Fitted, n_events: int, effort: float, seed: int, n_jobs: int | None, *, from_factors: bool
) -> tuple[Fitted, bool]:
    """Run one chain, from the descent's end or from factors, and return what it was on average."""
    table = hard.training
    plan = _plan(table, n_events, effort, from_factors=from_factors)
    with one_blas_thread(), Threads(n_jobs) as dealer:
        features = pattern_features(table, feature_count(table))
        run = averaged(plan, table, features, seed, dealer, None if from_factors else hard)
    theta = on_grid(run.theta).astype(np.float64)
    centre = theta[hard.user_seen].mean(axis=0)
    ridges = np.array([run.user_reg, run.item_reg])
    soft = Fitted(theta, run.values, centre, table, history=(), ridges=ridges)
    return with_events_of(hard, soft) if from_factors else soft, run.interrupted


def _plan(table: Observations, n_events: int, effort: float, *, from_factors: bool) -> Plan:
    """Plan one short chain, the second half of which is averaged."""
    likelihood = likelihood_of(table)
    if from_factors or len(table) < _FEW_ANSWERS * table.n_users:
        likelihood = "gaussian"
    sparse = len(table) < _SPARSE * (table.n_users + table.n_items)
    n_sweeps = max(_LEAST_SWEEPS, round(effort * (_SPARSE_SWEEPS if sparse else _SWEEPS)))
    return Plan(
        likelihood=likelihood,
        levels=level_grid(CHANCES if likelihood == "bernoulli" else "auto", table, likelihood, n_events),
        n_events=n_events,
        n_chains=1,
        burn_in=n_sweeps // 2,
        n_samples=n_sweeps - n_sweeps // 2,
        thin=1,
        n_classes=1,
        concentration=None,
    )


def _scores(fitted: Fitted, table: Observations) -> dict[str, float]:
    """Return errors on entries of the same users and items, on the probability scale."""
    said = fitted.at_rows(table.user_rows(), table.item_rows())
    if table.is_binary:
        said = said.clip(_LEAST_CHANCE, 1.0 - _LEAST_CHANCE)
    return evaluate(table.values, said, table.weights, 1.0, table.is_binary)
