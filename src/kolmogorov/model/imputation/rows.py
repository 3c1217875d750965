"""What draws of a model say of rows of a table whose columns are its users: a row given what is known of it.

In each draw a column has its theta and its noise, and a row its psi, which is drawn from a normal distribution. Given
the columns, all cells of a row are then normal, and what is known of some says by how much to expect others: in closed
form, for rows that were there at the fit as for new ones. Levels are taken for the whole line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.sampling.chains.chain import psi_variance
from kolmogorov.sampling.priors import usual_precision

#: Numbers held at once, by judgement: 32 MB.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Rows:
    """Draws of the columns, and of what rows are before anything is known of them."""

    #: [n_draws, n_columns, D]
    theta: Floats
    #: [n_draws, n_columns], variances.
    noise: Floats
    #: [n_draws, D]
    centre: Floats
    #: [n_draws, D, D]
    precision: Floats

    @classmethod
    def of(cls, posterior: Posterior) -> Rows:
        """Take the columns as they were drawn, and of the rows their mean and spread in each draw."""
        psi = posterior.psi[:, posterior.item_seen].astype(np.float64)
        centre = psi.mean(axis=1)
        variance = psi_variance(noisy=True)
        precision = np.stack([usual_precision(rows - mean, variance) for rows, mean in zip(psi, centre, strict=True)])
        return cls(posterior.theta.astype(np.float64), posterior.noise.astype(np.float64), centre, precision)

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.theta)

    def every(self, n: int) -> Rows:
        """Return every n-th of the draws."""
        return Rows(self.theta[::n], self.noise[::n], self.centre[::n], self.precision[::n])

    def parts(self, n_rows: int) -> Iterator[slice]:
        """Yield shares of the rows for which the moments of all draws fit into memory."""
        size = max(1, _BLOCK // (self.n_draws * self.theta.shape[1]))
        return (slice(first, first + size) for first in range(0, n_rows, size))

    def moments(self, table: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance, noise included, of every cell in every draw; float64[n_draws, n, n_columns] each.

        What is not known of the table is NaN.
        """
        mean, variance = np.empty((self.n_draws, *table.shape)), np.empty((self.n_draws, *table.shape))
        for k in range(self.n_draws):
            centre, root, whose = self._psis(k, table)
            mean[k] = centre @ self.theta[k].T
            spread = self.theta[k] @ root
            variance[k] = ((spread**2).sum(axis=2) + self.noise[k])[whose]
        return mean, variance

    def drawn(self, k: int, table: Floats, rng: np.random.Generator) -> Floats:
        """Draw the psi of every row in one draw and return what it says of every cell, without noise."""
        centre, root, whose = self._psis(k, table)
        psi = centre + np.einsum("nde,ne->nd", root[whose], rng.standard_normal(centre.shape))
        said: Floats = psi @ self.theta[k].T
        return said

    def _psis(self, k: int, table: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return the means of psi by row, roots of the covariances by pattern of what is known, and whose is which.

        Rows of which the same columns are known share their covariance.
        """
        known = ~np.isnan(table)
        patterns, whose = np.unique(known, axis=0, return_inverse=True)
        theta, weight = self.theta[k], 1.0 / self.noise[k]
        size = theta.shape[1]
        squares = (weight[:, None, None] * theta[:, :, None] * theta[:, None, :]).reshape(-1, size * size)
        with one_blas_thread():
            gram = (patterns.astype(np.float64) @ squares).reshape(-1, size, size) + self.precision[k]
            # gram = L L^T, and so L^-T is a root of its inverse.
            root = np.linalg.inv(np.linalg.cholesky(gram)).transpose(0, 2, 1)
            moment = (np.where(known, table, 0.0) * weight) @ theta + self.precision[k] @ self.centre[k]
        whose = whose.reshape(-1)
        upper = root[whose]
        return np.einsum("nde,nfe,nf->nd", upper, upper, moment, optimize=True), root, whose
