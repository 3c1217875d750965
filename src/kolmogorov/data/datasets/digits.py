"""Scikit-learn's handwritten digits as a table of images and pixels."""

from __future__ import annotations

from kolmogorov.data.table.observations import Observations


def load_digits() -> Observations:
    """Return 1,797 images (users) × 64 pixels (items), value = ink / 16. Pixel r * 8 + c is at row r, column c."""
    from sklearn.datasets import load_digits as load

    return Observations.from_dense(load().data, maximum=16)
