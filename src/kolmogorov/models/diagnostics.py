"""Draws by chains: what tells whether the chains agree, what ArviZ takes, and what draws say of answers."""

from functools import partial
from typing import Any

import numpy as np

from kolmogorov._support.outside import installed, require
from kolmogorov._support.typing import Floats
from kolmogorov.data.observations import Observations, check_any
from kolmogorov.draws.convergence import effective_size, split_rhat
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import DataError
from kolmogorov.models.ids import pair_rows

#: What is not by chain and draw alone.
_DIMENSIONS = {
    "prediction": ["entry"],
    "answer": ["entry"],
    "user_noise": ["user"],
    "user_answers": ["user"],
    "item_answers": ["item"],
}


def by_chain(posterior: Posterior, observations: Observations, max_entries: int) -> dict[str, Floats]:
    """Return predictions for some entries, priors and noise by name; float64[n_chains, n_samples, n]."""
    check_any(observations, "to look at")
    (users, items), _ = pair_rows(posterior, observations, None, "ignore")
    found = {"prediction": posterior.draws(users[:max_entries], items[:max_entries]).T, **posterior.priors}
    if posterior.likelihood == "gaussian":
        found["user_noise"] = np.sqrt(posterior.noise[:, posterior.user_seen])
    n_chains, n_samples = posterior.n_chains, posterior.n_draws // posterior.n_chains
    return {name: draws.reshape(n_chains, n_samples, -1) for name, draws in found.items()}


def agreement(chains: dict[str, Floats]) -> dict[str, dict[str, Floats]]:
    """Return split R-hat and effective sample size of all that varies within a chain."""
    if chains["prediction"].shape[1] < 4:
        raise DataError("Diagnostics need at least 4 draws of each chain; raise n_samples.")
    return {
        name: {"rhat": split_rhat(draws), "ess": effective_size(draws)}
        for name, draws in chains.items()
        if np.ptp(draws, axis=1).max() > 1e-12 * np.abs(draws).max()
    }


def for_arviz(posterior: Posterior, observations: Observations, max_entries: int) -> Any:
    """Return what ArviZ looks at: draws, what they say of answers, and the answers; all have names of users and items.

    Along `entry` there are the coordinates `of_user` and `of_item`.
    """
    # The part of version 1 that makes data, which Python 3.11 has as well.
    name = "arviz_base" if installed("arviz_base") else "arviz"
    arviz = require(name, extra="arviz", purpose="posterior plots")
    whose = {"of_user": observations.users.ids[observations.user_rows()[:max_entries]]}
    whose |= {"of_item": observations.items.ids[observations.item_rows()[:max_entries]]}
    names = {"entry": [f"{user}, {item}" for user, item in zip(*whose.values(), strict=True)]}
    names |= {"user": posterior.users.ids[posterior.user_seen].tolist()}
    names |= {"item": posterior.items.ids[posterior.item_seen].tolist()}
    found = arviz.from_dict(groups_of(posterior, observations, max_entries), coords=names, dims=_DIMENSIONS)
    return found.map_over_datasets(partial(_named, whose=whose))


def _named(group: Any, whose: dict[str, Any]) -> Any:
    """Return a group in which entries say whose they are. No index: `az.loo` takes one along entries at most."""
    if "entry" not in group.dims:
        return group
    return group.assign_coords({name: ("entry", np.asarray(ids)) for name, ids in whose.items()})


def groups_of(posterior: Posterior, observations: Observations, max_entries: int) -> dict[str, dict[str, Any]]:
    """Return ArviZ's groups: the first two axes of what was drawn are chains and draws."""
    chains = by_chain(posterior, observations, max_entries)
    chains |= {name: chains[name][..., 0] for name in posterior.priors}
    (users, items), _ = pair_rows(posterior, observations, None, "ignore")
    users, items = posterior.known_rows(users[:max_entries], items[:max_entries])
    answers = observations.rescaled(posterior.scale).values[:max_entries]
    weights = 1.0 if observations.weights is None else observations.weights[:max_entries]
    # In every draw theta . psi, or the chance of a yes that it means: float64[n_draws, n].
    theta, psi = (side.astype(np.float64) for side in posterior.placed_rows(users, items))
    said, deviations = posterior.kind.expected(np.einsum("knd,knd->kn", theta, psi)), posterior.deviations(users)
    likely = weights * posterior.kind.log_density(said, deviations, answers)
    # With noise; answers that are normal are not cut to the scale.
    again = posterior.kind.answered(said, deviations, np.random.default_rng(0))
    shape = (posterior.n_chains, -1, users.size)
    counts = (posterior.user_counts[posterior.user_seen], posterior.item_counts[posterior.item_seen])
    return {
        "posterior": chains,
        "posterior_predictive": {"answer": again.reshape(shape)},
        "log_likelihood": {"answer": likely.reshape(shape)},
        "observed_data": {"answer": answers},
        "constant_data": dict(zip(("user_answers", "item_answers"), counts, strict=True)),
    }
