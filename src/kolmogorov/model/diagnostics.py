"""Draws by chains: what tells whether the chains agree, and what ArviZ takes."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from kolmogorov import metrics
from kolmogorov._support.optional import require
from kolmogorov._support.typing import Floats
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_any
from kolmogorov.errors import DataError
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.surface.ids import pair_rows


def by_chain(posterior: Posterior, observations: Observations, max_entries: int) -> dict[str, Floats]:
    """Return predictions for some entries, priors and noise by name; float64[n_chains, n_samples, n]."""
    check_any(observations, "to look at")
    (users, items), _ = pair_rows(posterior, observations, None, "ignore")
    draws = posterior.draws(users[:max_entries], items[:max_entries]).T
    chains = {"prediction": draws.reshape(posterior.n_chains, -1, draws.shape[1])}
    chains |= {name: numbers.reshape(posterior.n_chains, -1, 1) for name, numbers in posterior.priors.items()}
    if posterior.likelihood == "gaussian":
        noise = posterior.noise[:, posterior.user_seen]
        chains["user_noise"] = np.sqrt(noise).reshape(posterior.n_chains, -1, noise.shape[1])
    return chains


def agreement(chains: dict[str, Floats]) -> dict[str, dict[str, Floats]]:
    """Return split R-hat and effective sample size of all that varies within a chain."""
    if next(iter(chains.values())).shape[1] < 4:
        raise DataError("Diagnostics need at least 4 draws of each chain; raise n_samples.")
    return {
        name: {"rhat": metrics.split_rhat(draws), "ess": metrics.effective_size(draws)}
        for name, draws in chains.items()
        if np.ptp(draws, axis=1).max() > 1e-12 * np.abs(draws).max()
    }


def for_arviz(chains: dict[str, Floats]) -> Any:
    """Return what ArviZ looks at."""
    arviz = require("arviz", extra="arviz", purpose="posterior plots")
    groups = {"posterior": chains}
    # Version 1 takes groups in one dictionary, those before it by their names.
    by_name = "posterior" in signature(arviz.from_dict).parameters
    return arviz.from_dict(**groups) if by_name else arviz.from_dict(groups)
