"""The prior of the values that items take in events: normal, around what the pattern of the table says of an item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_between
from kolmogorov._support.typing import Floats
from kolmogorov.errors import InvariantError
from kolmogorov.sampling.limits import SENSIBLE

#: What slopes are shrunk by: hardly for the mean, as by so many items for features.
MEAN_RIDGE, FEATURE_RIDGE = 0.1, 20.0
#: Of the precision's Wishart prior: variance by event and degrees of freedom beyond the number of events.
VARIANCE, FREEDOM = 0.1, 2
#: The spread of values before anything is known.
_START_SPREAD = 0.3


@dataclass(frozen=True, eq=False)
class ValuePrior:
    """x_i ~ Normal(features_i . slopes, precision^-1) on a grid.

    The precision is a full matrix: an item that is liked is so in most events, and what is known of it in some events
    says much about the others. Slopes and precision are learned during burn-in and fixed after it, by each chain for
    itself.

    Attributes
    ----------
    features : float64[n_items, k]
        The first column is 1.
    slopes : float64[k, D]
    precision : float64[D, D]
    """

    features: Floats
    slopes: Floats
    precision: Floats

    @classmethod
    def start(cls, features: Floats, n_events: int, mean: float) -> ValuePrior:
        """Begin with the same mean in all events, each for itself."""
        slopes = np.zeros((features.shape[1] + 1, n_events))
        slopes[0] = mean
        return cls(_with_ones(features), slopes, np.eye(n_events) / _START_SPREAD**2)

    @property
    def centre(self) -> Floats:
        """The mean of each item; float64[n_items, D]."""
        return self.features @ self.slopes

    def learned(self, x: Floats, seen: NDArray[np.bool_], rng: np.random.Generator) -> ValuePrior:
        """Draw slopes, then the precision, given the values of the items observed, as if those were continuous."""
        known, values = self.features[seen], x[seen]
        n, size = values.shape
        gram = known.T @ known + np.diag(shrinkage(known.shape[1]))
        mean = np.linalg.solve(gram, known.T @ values)
        rows, columns = np.linalg.cholesky(np.linalg.inv(gram)), np.linalg.cholesky(np.linalg.inv(self.precision))
        slopes = mean + rows @ rng.standard_normal(mean.shape) @ columns.T
        left = values - known @ slopes
        drawn = _wishart(size + FREEDOM + n, np.linalg.inv(_scatter(left)), rng)
        return replace(self, slopes=slopes, precision=drawn)

    def arrays(self) -> dict[str, Floats]:
        """Return what a checkpoint holds of this; features are found anew."""
        return {"item_slopes": self.slopes, "item_precision": self.precision}

    @classmethod
    def restored(cls, features: Floats, arrays: dict[str, Floats]) -> ValuePrior:
        """Undo `arrays`."""
        return cls(_with_ones(features), arrays["item_slopes"], arrays["item_precision"])

    def validate(self, n_items: int, n_events: int) -> None:
        """Raise `InvariantError` where this is no prior of so many items; for arrays that come from a file."""
        check_array("the items' slopes", self.slopes, np.float64, (self.features.shape[1], n_events))
        check_array("the items' precision", self.precision, np.float64, (n_events, n_events))
        check_between("the items' slopes", self.slopes, -SENSIBLE[1], SENSIBLE[1])
        check_between("the items' precision", self.precision, -SENSIBLE[1], SENSIBLE[1])
        if not (self.precision == self.precision.T).all() or np.linalg.eigvalsh(self.precision)[0] <= 0.0:
            raise InvariantError("the items' precision must be symmetric and positive definite")


def shrinkage(n_features: int) -> Floats:
    """Return the ridge of each row of the slopes."""
    ridge = np.full(n_features, FEATURE_RIDGE)
    ridge[0] = MEAN_RIDGE
    return ridge


def usual_precision(left: Floats) -> Floats:
    """Return the mean of the precision's posterior given values without their means."""
    n, size = left.shape
    mean: Floats = (size + FREEDOM + n) * np.linalg.inv(_scatter(left))
    return (mean + mean.T) / 2.0


def _scatter(left: Floats) -> Any:
    size = left.shape[1]
    return VARIANCE * size * np.eye(size) + left.T @ left


def _with_ones(features: Floats) -> Floats:
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
