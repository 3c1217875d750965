"""Draws on a grid: thetas in multiples of 2**-15, which two bytes hold exactly and which still sum to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats

#: Of the grid, from 0 to 1: the finest power of two that two bytes hold.
STEPS = 1 << 15


def on_grid(theta: Floats) -> NDArray[np.float32]:
    """Round distributions so that each still sums to 1: what is left over goes to the largest remainders.

    Examples
    --------
    >>> bool((on_grid(np.array([[0.1, 0.2, 0.7]])).sum(axis=1) == 1.0).all())
    True
    """
    scaled = np.asarray(theta, dtype=np.float64) * STEPS
    whole = np.floor(scaled)
    missing = np.rint(STEPS - whole.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(whole - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    whole += rank < missing[:, None]
    return (whole / STEPS).astype(np.float32)


def packed_thetas(theta: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return thetas of the grid as counts of its steps, for a file."""
    return np.rint(theta * np.float32(STEPS)).astype(np.uint16)


def unpacked_thetas(counts: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Undo `packed_thetas`."""
    return counts.astype(np.float32) / np.float32(STEPS)
