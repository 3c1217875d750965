"""Have chains forgotten where they started? Split R-hat and effective sample size."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats


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
