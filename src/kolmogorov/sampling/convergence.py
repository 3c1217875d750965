"""Do the chains agree? Looked at once at the end of sampling, for predictions and for the priors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.metrics import split_rhat

#: Above this R-hat chains are said to disagree, as is usual (Gelman and Rubin 1992).
LIMIT = 1.1
#: A prior that is fixed after burn-in has no spread within a chain; such chains disagree when theirs differ by this
#: factor. By judgement.
_FACTOR = 1.5
#: Predictions looked at. By judgement.
_PAIRS = 400
#: R-hat compares halves of chains, and a half needs two draws to have a spread.
_LEAST_DRAWS = 4


@dataclass(frozen=True, eq=False)
class Convergence:
    """How far chains agree.

    `rhat` are split R-hats of the predictions for some users and items, `priors` the means of each chain, by name, and
    `disagreeing` the names of those on which chains disagree.
    """

    n_chains: int
    n_samples: int
    rhat: Floats
    priors: Mapping[str, Floats]
    disagreeing: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """Whether nothing that was looked at says otherwise."""
        return bool((self.rhat <= LIMIT).all()) and not self.disagreeing

    @property
    def line(self) -> str:
        """What a fit ends with: one short line."""
        chains = f"{self.n_chains} chain{'s' if self.n_chains > 1 else ''} of {self.n_samples} draws"
        if not self.rhat.size or self.n_chains == 1:
            return chains
        agree = "agree" if self.settled else "found different solutions; averages are usable, rules may not be"
        return f"{chains}, which {agree}"

    def __str__(self) -> str:
        chains = f"{self.n_chains} chain{'s' if self.n_chains > 1 else ''} of {self.n_samples} draws"
        if not self.rhat.size:
            return f"{chains}: fewer than {_LEAST_DRAWS} draws of a chain say nothing about convergence"
        if self.settled:
            return f"{chains} agree: R-hat of {self.rhat.size} predictions is at most {self.rhat.max():.2f}"
        parts = []
        if (self.rhat > LIMIT).any():
            share = 100.0 * float((self.rhat > LIMIT).mean())
            parts.append(
                f"R-hat is above {LIMIT} for {share:.0f}% of {self.rhat.size} predictions looked at (largest "
                f"{self.rhat.max():.2f})"
            )
        for name in self.disagreeing:
            parts.append(f"their {name} is " + ", ".join(f"{value:.3g}" for value in self.priors[name]))
        return (
            f"{chains} do not agree: {'; '.join(parts)}. Chains found different solutions; averages are usable, rules "
            "may not be. More chains improve the average; a longer burn_in or fewer events bring chains together"
        )


def convergence_of(posterior: Posterior) -> Convergence:
    """Compare the chains of a posterior at random pairs of users and items that were observed."""
    n_chains, n_samples = posterior.n_chains, posterior.n_draws // posterior.n_chains
    by_chain = {name: values.reshape(n_chains, n_samples) for name, values in posterior.priors.items()}
    means = {name: values.mean(axis=1) for name, values in by_chain.items()}
    if n_samples < _LEAST_DRAWS:
        return Convergence(n_chains, n_samples, np.empty(0), means, ())
    rng = np.random.default_rng(0)
    users = rng.choice(np.flatnonzero(posterior.user_seen), _PAIRS)
    items = rng.choice(np.flatnonzero(posterior.item_seen), _PAIRS)
    draws = np.einsum("knd,knd->kn", posterior.theta[:, users].astype(np.float64), posterior.psi[:, items])
    disagreeing = tuple(
        name
        for name, values in by_chain.items()
        if float(split_rhat(np.log(values))) > LIMIT and means[name].max() > _FACTOR * means[name].min()
    )
    return Convergence(n_chains, n_samples, split_rhat(draws.reshape(n_chains, n_samples, -1)), means, disagreeing)
