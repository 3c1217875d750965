"""Priors of several chains learned at once, from sums over their rows instead of from the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.draws.priors import (
    FREEDOM,
    PATTERN_RIDGE,
    ROUNDS,
    TINY,
    Blocks,
    bartlett,
    drawn_shrinkage,
    redrawn_noise_prior,
    scored,
    shrunk_slopes,
    with_ones,
)

Generators = Sequence[np.random.Generator]


@dataclass(frozen=True, eq=False)
class Described:
    """What is known of the rows of one side, the same for all chains.

    The first of the `features` is 1, the last are `blocks` of attributes; `seen` are the rows that priors are learned
    from, and `gram` sums the products of their features.
    """

    features: NDArray[np.float32]
    seen: NDArray[np.bool_]
    gram: Floats
    blocks: Blocks = ()

    @classmethod
    def of(cls, features: Floats, seen: NDArray[np.bool_], blocks: Blocks = ()) -> Described:
        """Put ones before the features."""
        whole = with_ones(features).astype(np.float32)
        known = whole[seen].astype(np.float64)
        return cls(whole, seen, known.T @ known, blocks)

    @property
    def n_seen(self) -> int:
        """Rows that priors are learned from."""
        return int(self.seen.sum())


def learned_psi_priors(
    items: Described,
    cross: Floats,
    square: Floats,
    slopes: Floats,
    precision: Floats,
    variance: float,
    rngs: Generators,
) -> tuple[Floats, Floats]:
    """Draw slopes and precisions of psi's priors; what `PsiPrior.learned` draws from the same generators.

    `cross`[C, k, D] are sums of features times psis, `square`[C, D, D] of products of psis; `slopes` and `precision`
    are those before.
    """
    n_features, size = cross.shape[1:]
    ridges = [drawn_shrinkage(*given, items.blocks) for given in zip(slopes, precision, rngs, strict=True)]
    spread = np.linalg.inv(items.gram + np.array([np.diag(ridge) for ridge in ridges]))
    columns = np.linalg.cholesky(np.linalg.inv(precision))
    freedom = size + FREEDOM + items.n_seen - np.arange(size)
    drawn = [
        (rng.standard_normal((n_features, size)), rng.standard_normal((size, size)), rng.chisquare(freedom))
        for rng in rngs
    ]
    noise, normals, squares = (np.array(part) for part in zip(*drawn, strict=True))
    slopes = spread @ cross + np.linalg.cholesky(spread) @ noise @ _turned(columns)
    fitted = _turned(slopes) @ cross
    left = square - fitted - _turned(fitted) + _turned(slopes) @ items.gram @ slopes
    scatter = variance * size * np.eye(size) + (left + _turned(left)) / 2.0
    root = np.linalg.cholesky(np.linalg.inv(scatter)) @ bartlett(normals, squares)
    found = root @ _turned(root)
    return slopes, (found + _turned(found)) / 2.0


def located_thetas(users: Described, cross: Floats) -> Floats:
    """Return mean and slopes of theta's priors, fitted to sums of features times thetas; float64[C, k, D]."""
    mean = cross[:, :1] / users.n_seen
    gram = users.gram[1:, 1:]
    about = cross[:, 1:] - users.gram[1:, :1] * mean
    slopes = np.linalg.inv(gram + PATTERN_RIDGE * np.eye(len(gram))) @ about
    return np.concatenate([mean, slopes], axis=1)


def shrunk_thetas(users: Described, cross: Floats, squares: Floats) -> Floats:
    """Return what `located_thetas` does, with the ridges that make the thetas likely, as `ThetaPrior.shrunk` has it.

    `squares` are the sums of squares of thetas.
    """
    mean = cross[:, :1] / users.n_seen
    if cross.shape[1] == 1:
        return mean
    about = cross[:, 1:] - users.gram[1:, :1] * mean
    total = squares - users.n_seen * (mean**2).sum(axis=(1, 2))
    if not users.blocks:
        return np.concatenate([mean, _one_block(users, about, total)], axis=1)
    gram = users.gram[1:, 1:]
    slopes = [shrunk_slopes(gram, *given, users.n_seen, users.blocks)[0] for given in zip(about, total, strict=True)]
    return np.concatenate([mean, slopes], axis=1)


def _one_block(users: Described, about: Floats, total: Floats) -> Floats:
    """Return what `shrunk_slopes` does of each chain, where there are no attributes.

    All chains have the same features, so that one turn of the axes makes every system to be solved diagonal.
    """
    lengths, axes = np.linalg.eigh(users.gram[1:, 1:])
    turned = axes.T @ about
    n_slopes, size = about[0].size, about.shape[2]
    ridge = np.full(len(about), PATTERN_RIDGE)
    slopes = np.zeros_like(turned)
    for _ in range(ROUNDS):
        inverse = 1.0 / (lengths + ridge[:, None])
        slopes = inverse[:, :, None] * turned
        variance = np.maximum(total - (slopes * turned).sum(axis=(1, 2)), TINY) / (users.n_seen * size)
        determined = n_slopes - ridge * size * inverse.sum(axis=1)
        ridge = (1.0 + determined) / (1.0 / PATTERN_RIDGE + (slopes**2).sum(axis=(1, 2)) / variance)
    found: Floats = axes @ slopes
    return found


def stepped_concentration(
    users: Described, by: Floats, cross: Floats, squares: Floats, concentration: Floats, distance: Floats
) -> Floats:
    """Take a scoring step for each chain's concentration, as `concentration.stepped` does.

    `by`[C, k, D] are mean and slopes of theta's prior, `cross` sums of features times thetas, `squares`[C] of their
    squares, and `distance`[C, n] tells how far draws from the prior are from their centres, squared.
    """
    found = (squares - 2.0 * (by * cross).sum(axis=(1, 2)) + (by * (users.gram @ by)).sum(axis=(1, 2))) / users.n_seen
    given = zip(concentration, found, distance.mean(axis=1), distance.var(axis=1), strict=True)
    return np.array([scored(float(pull), users.n_seen, *map(float, rest)) for pull, *rest in given])


def redrawn_noise(shape: Floats, rates: Floats, n_users: int, sums: Floats, rngs: Generators) -> tuple[Floats, Floats]:
    """Draw scale and shape of each chain's noise; `sums`[C, 2] are those of log variances and of inverse variances."""
    given = zip(shape.tolist(), rates.tolist(), *sums.T.tolist(), rngs, strict=True)
    drawn = [redrawn_noise_prior(a, rate, n_users, logs, inverses, rng) for a, rate, logs, inverses, rng in given]
    scales, shapes = np.array(drawn).T
    return scales, shapes


def _turned(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, -1, -2)
