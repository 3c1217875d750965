"""Which chains a `BayesianKolmogorovModel` runs over a table: sizes by its size where they are left open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.fitting.descent.objective import usual_weight
from kolmogorov.sampling.chains.event_count import told_apart
from kolmogorov.sampling.levels import hides, level_grid
from kolmogorov.sampling.plan import Plan, likelihood_of, settled_weight
from kolmogorov.sampling.sizes import suited

#: Chains are enough when more would take less than this share of the squared error away, of ratings and of answers,
#: whose log loss feels it twice as much. `benchmarks/spread.py` shows errors and seconds.
_ENOUGH = (0.003, 0.0015)


def plan_of(model: Any, table: Observations, *, learned: bool) -> Plan:
    """Return what `fit` samples of a table; a number of events that is left open is a guess unless it is `learned`."""
    likelihood = _likelihood(model, table)
    # An event is drawn behind each answer but where a rating is.
    answers, only_yes = likelihood != "gaussian" and not hides(model.levels, likelihood), model.unobserved != 0.0
    timed = model.max_seconds is not None
    given = {name: getattr(model, name) for name in ("n_events", "n_chains", "burn_in", "n_samples", "n_features")}
    sizes = replace(
        suited(table, answers=answers, only_yes=only_yes),
        **{name: int(n) for name, n in given.items() if n != "auto"},
    )
    if learned and model.n_events == "auto" and not answers and not only_yes:
        sizes = replace(sizes, n_events=told_apart(table, sizes.n_events, sizes.n_features, model.n_jobs))
    return Plan(
        **vars(sizes),
        likelihood=likelihood,
        levels=level_grid(model.levels, table, likelihood, sizes.n_events),
        unobserved=_unobserved(model, table, likelihood),
        enough=_ENOUGH[likelihood != "gaussian"] if model.n_chains == "auto" and not timed and not only_yes else 0.0,
    )


def _unobserved(model: Any, table: Observations, likelihood: str) -> float:
    if model.unobserved == 0.0:
        return 0.0
    if likelihood != "gaussian":
        raise ParameterError("'unobserved' goes with likelihood 'gaussian'.")
    wanted = usual_weight(len(table), table.n_users * table.n_items)
    if model.unobserved != "auto":
        wanted = float(model.unobserved)
        least = 1.0 if table.weights is None else float(table.weights.min())
        if wanted > least:
            raise ParameterError(f"'unobserved' must not exceed the least weight, {least:g}, got {wanted:g}.")
    return settled_weight(wanted, table)


def _likelihood(model: Any, table: Observations) -> str:
    if model.likelihood == "auto":
        return likelihood_of(table) if model.unobserved == 0.0 else "gaussian"
    if model.likelihood == "bernoulli" and not table.is_binary:
        raise DataError("likelihood 'bernoulli' is for values 0 and 1; these data have others. Use 'gaussian'.")
    if model.likelihood != "gaussian" and table.weights is not None and (table.weights % 1.0).any():
        raise DataError(
            f"With likelihood '{model.likelihood}' weights must be whole numbers: how often an answer was given."
        )
    return str(model.likelihood)
