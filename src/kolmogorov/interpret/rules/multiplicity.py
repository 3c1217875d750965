"""p-values corrected for everything that was looked at."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats, Rows

#: p-values are kept by the thousand: counts in bins this fine, 64 to a factor of two, down to the smallest float.
_FINE, _SMALLEST = 64, 1074


class Looked:
    """How often each p-value was met, and what Benjamini and Hochberg make of it.

    Of what comes out below some level, at most this share is there by chance, on average; where there is nothing to
    find, the chance that anything comes out is that level. It holds for tests that depend on each other as those of
    overlapping pairs do. A test may weigh more than another, by anything that does not depend on its outcome: its
    p-value is divided by its share of the weight (Genovese, Roeder and Wasserman). p-values are kept to 1%, rounded
    up, so that any number of them can be looked at.

    Examples
    --------
    >>> looked = Looked()
    >>> looked.add(np.array([0.001, 0.02, 0.8]))
    >>> looked.number, looked.adjusted(np.array([0.001, 0.02, 0.8])).round(2).tolist()
    (3, [0.0, 0.03, 0.81])
    """

    def __init__(self) -> None:
        self._counts: Rows = np.zeros(_FINE * _SMALLEST + 1, dtype=np.int64)
        self._weight = 0.0
        self._best: Floats | None = None

    @property
    def number(self) -> int:
        """How many were looked at."""
        return int(self._counts.sum())

    def add(self, p_values: Floats, weights: Floats | None = None) -> None:
        """Look at more; their weights are 1, or larger."""
        self._best = None
        self._weight += float(len(p_values) if weights is None else weights.sum())
        self._counts += np.bincount(_bins(p_values, weights), minlength=self._counts.size)

    def adjusted(self, p_values: Floats, weights: Floats | None = None) -> Floats:
        """Return what p-values that were looked at are, corrected: at most 1."""
        if self._best is None:
            edges = np.exp2(-np.arange(self._counts.size) / _FINE)
            # Bins go from 1 downwards: the rank of a p-value is the number in its bin and in all later ones.
            ranks = np.cumsum(self._counts[::-1])[::-1]
            self._best = np.minimum.accumulate(np.minimum(edges * (self._weight / np.maximum(ranks, 1)), 1.0))
        found: Floats = self._best[_bins(p_values, weights)]
        return found


def _bins(p_values: Floats, weights: Floats | None) -> Rows:
    with np.errstate(divide="ignore"):
        fine = -np.log2(p_values if weights is None else p_values / weights) * _FINE
        return np.minimum(fine, _FINE * _SMALLEST).astype(np.int64)
