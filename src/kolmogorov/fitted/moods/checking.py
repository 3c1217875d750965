"""What must hold of draws beside their shapes: between likelihood, levels and data, and between moods and times."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.invariants import LARGEST_NUMBER, LEAST_NUMBER, check_array, check_between
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.errors import InvariantError
from kolmogorov.fitted.files import check_levels


def check_answers(likelihood: str, levels: Floats, training: Observations, unobserved: float) -> None:
    """Raise `InvariantError` where the answers of the training data are none that draws of these levels give."""
    if likelihood not in ("gaussian", "bernoulli", "categorical"):
        raise InvariantError(f"the likelihood {str(likelihood)[:40]!r} is unknown")
    least = 1.0 if training.weights is None else float(training.weights.min())
    if not 0.0 <= unobserved < least or (unobserved and likelihood != "gaussian"):
        raise InvariantError("the weight of what was not observed must lie below all weights")
    if likelihood == "bernoulli" and not training.is_binary:
        raise InvariantError("the likelihood 'bernoulli' goes with yes and no")
    check_levels(levels)
    if likelihood == "categorical" and levels.size != np.unique(training.values).size:
        raise InvariantError("there must be as many levels as distinct ratings")


def check_priors(priors: dict[str, Floats], n_draws: int, likelihood: str, training: Observations) -> None:
    """Raise `InvariantError` where draws have no such priors, or moods without half-lives, times or noise."""
    for name, values in priors.items():
        check_array(f"the prior's {name}", values, np.float64, (n_draws,))
        check_between(f"the prior's {name}", values, LEAST_NUMBER, LARGEST_NUMBER)
    if ("mood" in priors) != ("half_life" in priors):
        raise InvariantError("moods and half-lives go together")
    if "mood" in priors and (training.times is None or likelihood != "gaussian"):
        raise InvariantError("moods need times of the training data, and the likelihood 'gaussian'")
