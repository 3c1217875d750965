"""The prior of psi: normal, around what is known of an item beside answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.sampling.priors.shrinkage import Blocks, usual_ridges

#: What slopes are shrunk by: hardly for the mean; for features it is Gamma, with this shape. By judgement.
_MEAN_RIDGE, _RIDGE_SHAPE = 0.1, 0.5
#: The least that slopes are shrunk by. Where there are more features than items, some slopes touch no item and grow
#: with every draw; below this the sums of features could not be inverted.
_LEAST_SHRINKAGE = 1e-6
#: Degrees of freedom of the precision's Wishart prior beyond the number of events: few, so that it says little.
FREEDOM = 2
#: The spread of psi before anything is known. By judgement.
_START_SPREAD = 0.3


@dataclass(frozen=True, eq=False)
class PsiPrior:
    """psi_i ~ Normal(features_i . slopes, precision^-1) on a grid.

    The precision is a full matrix: an item that is liked is so in most events, and what is known of it in some events
    says much about the others. Slopes and precision are learned during burn-in and fixed after it, by each chain for
    itself. The first of the features is 1, and the last are `blocks` of attributes.
    """

    features: Floats
    slopes: Floats
    precision: Floats
    blocks: Blocks = ()

    @classmethod
    def start(cls, features: Floats, n_events: int, mean: float, blocks: Blocks = ()) -> PsiPrior:
        """Begin with the same mean in all events, each for itself."""
        slopes = np.zeros((features.shape[1] + 1, n_events))
        slopes[0] = mean
        return cls(with_ones(features), slopes, np.eye(n_events) / _START_SPREAD**2, blocks)

    @property
    def centre(self) -> Floats:
        """The mean of each item; float64[n_items, D]."""
        return self.features @ self.slopes

    def learned(self, psi: Floats, seen: NDArray[np.bool_], variance: float, rng: np.random.Generator) -> PsiPrior:
        """Draw slopes, then the precision, given the psis of the items observed, as if those were continuous.

        How much slopes are shrunk is drawn first. `variance` by event is what the precision's Wishart prior is around.
        """
        known, psi = self.features[seen], psi[seen]
        n, size = psi.shape
        gram = known.T @ known + np.diag(drawn_shrinkage(self.slopes, self.precision, rng, self.blocks))
        mean = np.linalg.solve(gram, known.T @ psi)
        rows, columns = np.linalg.cholesky(np.linalg.inv(gram)), np.linalg.cholesky(np.linalg.inv(self.precision))
        slopes = mean + rows @ rng.standard_normal(mean.shape) @ columns.T
        left = psi - known @ slopes
        drawn = _wishart(size + FREEDOM + n, np.linalg.inv(_scatter(left, variance)), rng)
        return replace(self, slopes=slopes, precision=drawn)


def drawn_shrinkage(slopes: Floats, precision: Floats, rng: np.random.Generator, blocks: Blocks = ()) -> Floats:
    """Draw what each row of the slopes is shrunk by, given the slopes; the first are those of the mean."""
    shrinkage = np.full(len(slopes), _MEAN_RIDGE)
    for block, usual in usual_ridges(len(slopes) - 1, blocks):
        others = slopes[1:][block]
        energy = float(((others @ precision) * others).sum())
        rate = _RIDGE_SHAPE / usual + 0.5 * energy
        shrinkage[1:][block] = max(rng.gamma(_RIDGE_SHAPE + 0.5 * others.size) / rate, _LEAST_SHRINKAGE)
    return shrinkage


def usual_precision(left: Floats, variance: float) -> Floats:
    """Return the mean of the precision's posterior given psis without their means."""
    n, size = left.shape
    mean: Floats = (size + FREEDOM + n) * np.linalg.inv(_scatter(left, variance))
    return (mean + mean.T) / 2.0


def _scatter(left: Floats, variance: float) -> Any:
    size = left.shape[1]
    return variance * size * np.eye(size) + left.T @ left


def with_ones(features: Floats) -> Floats:
    """Put a column of ones before features."""
    return np.column_stack([np.ones(len(features)), features])


def _wishart(freedom: int, scale: Floats, rng: np.random.Generator) -> Floats:
    """Draw a Wishart matrix by Bartlett's decomposition."""
    size = len(scale)
    root = np.linalg.cholesky(scale) @ bartlett(
        rng.standard_normal((size, size)), rng.chisquare(freedom - np.arange(size))
    )
    drawn: Floats = root @ root.T
    return (drawn + drawn.T) / 2.0


def bartlett(normals: Floats, squares: Floats) -> Floats:
    """Return the triangle, or one of each row, whose product with its transpose is a Wishart matrix of unit scale."""
    lower = np.tril(normals, -1)
    places = np.arange(lower.shape[-1])
    lower[..., places, places] = np.sqrt(squares)
    return lower
