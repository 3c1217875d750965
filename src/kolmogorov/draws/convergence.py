"""Do the chains agree? Looked at once at the end of sampling, for predictions and for the priors."""

import math
from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.draws.posterior import Posterior

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

    `rhat` are split R-hats of the predictions for some users and items, `disagreeing` the names of priors on which
    chains disagree.
    """

    n_chains: int
    n_samples: int
    rhat: Floats
    disagreeing: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """Whether nothing that was looked at says otherwise."""
        return bool((self.rhat <= LIMIT).all()) and not self.disagreeing

    def __str__(self) -> str:
        """What a fit ends with: one short line."""
        said = f"{self.n_chains} chain{'s' if self.n_chains > 1 else ''} of {self.n_samples} draws"
        if not self.rhat.size or self.n_chains == 1:
            return said
        agree = "agree" if self.settled else "found different solutions; averages are usable, rules may not be"
        return f"{said}, which {agree}"


def convergence_of(posterior: Posterior) -> Convergence:
    """Compare the chains of a posterior at random pairs of users and items that were observed."""
    n_chains, n_samples = posterior.n_chains, posterior.n_draws // posterior.n_chains
    if n_samples < _LEAST_DRAWS:
        return Convergence(n_chains, n_samples, np.empty(0), ())
    rng = np.random.default_rng(0)
    users = rng.choice(np.flatnonzero(posterior.user_seen), _PAIRS)
    items = rng.choice(np.flatnonzero(posterior.item_seen), _PAIRS)
    draws = np.einsum("knd,knd->kn", posterior.theta[:, users].astype(np.float64), posterior.psi[:, items])
    disagreeing = []
    for name, values in posterior.priors.items():
        logs = np.log(values.reshape(n_chains, n_samples))
        if float(split_rhat(logs)) > LIMIT and np.ptp(logs.mean(axis=1)) > math.log(_FACTOR):
            disagreeing.append(name)
    return Convergence(n_chains, n_samples, split_rhat(draws.reshape(n_chains, n_samples, -1)), tuple(disagreeing))


def split_rhat(draws: Floats) -> Floats:
    """Return the split R-hat of quantities drawn by several chains; values near 1 are good, above 1.1 are not.

    Parameters
    ----------
    draws : float64[n_chains, n_draws, ...]

    Examples
    --------
    >>> same = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(split_rhat(same) < 1.02), bool(split_rhat(same + 3 * np.arange(4)[:, None]) > 2)
    (True, True)
    """
    halves = _split(draws)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.sqrt(((n - 1) / n * within + between) / within)
    found: Floats = np.where(within > 0, ratio, np.where(between > 0, np.inf, 1.0))
    return found


def effective_size(draws: Floats) -> Floats:
    """Return how many independent draws would estimate the mean as well (Geyer's initial positive sequence).

    Parameters
    ----------
    draws : float64[n_chains, n_draws, ...]
    """
    halves = _split(draws)
    m, n = halves.shape[:2]
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), size, axis=1)[:, :n] / n
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    total = within * (n - 1) / n + halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = 1.0 - (within - covariance.mean(axis=0)) / total
    rho[0] = 1.0
    even = n - n % 2
    pairs = rho[:even:2] + rho[1:even:2]
    # Sums of neighbouring autocorrelations count until the first one that is not positive.
    alive = np.cumprod(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.where(alive, pairs, 0.0), axis=0)
    time = np.maximum(-1.0 + 2.0 * pairs.sum(axis=0), 1.0 / np.log10(max(m * n, 10)))
    found: Floats = np.where(total > 0, m * n / time, float(m * n))
    return found


def _split(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    if half < 2:
        raise ValueError("Convergence needs at least four draws per chain.")
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
