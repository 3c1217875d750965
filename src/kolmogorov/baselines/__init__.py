"""Peers to compare with: matrix factorisation by alternating least squares, and SVD++."""

from kolmogorov.baselines.factorization import MatrixFactorization
from kolmogorov.baselines.svdpp import SVDpp

__all__ = ["MatrixFactorization", "SVDpp"]
