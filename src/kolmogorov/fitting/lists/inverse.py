"""The inverse of a large symmetric positive definite matrix, in its place, on threads.

Gauss and Jordan's sweeps over blocks: a block of rows is eliminated, and all others are updated by products of thin
matrices. Blocks are of one size, and each is computed by one thread of BLAS, so that the bits are the same on any
number of threads. It takes n^3 multiplications and no memory beside the matrix but some blocks of columns.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.execution import Threads

#: Rows of a block: wide enough for products of thin matrices to be quick. By judgement.
_BLOCK = 192


def invert(matrix: Floats, dealer: Threads) -> None:
    """Replace a symmetric positive definite matrix by minus its inverse; only its lower triangle is read.

    Examples
    --------
    >>> matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> expected = -np.linalg.inv(matrix)
    >>> with Threads(1) as dealer:
    ...     invert(matrix, dealer)
    >>> bool(np.allclose(matrix, expected))
    True
    """
    n = len(matrix)
    blocks = [slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK)]
    for pivot in blocks:
        _eliminate(matrix, pivot, blocks, dealer)

    def mirror(first: int, last: int) -> None:
        for rows in blocks[first:last]:
            matrix[rows, rows] = np.tril(matrix[rows, rows]) + np.tril(matrix[rows, rows], -1).T
            matrix[: rows.start, rows] = matrix[rows, : rows.start].T

    dealer.deal(mirror, len(blocks), 1)


def _eliminate(matrix: Floats, pivot: slice, blocks: list[slice], dealer: Threads) -> None:
    """Sweep one block of rows into the inverse; of every other block the part left of its own end is kept true."""
    corner = matrix[pivot, pivot]
    inverse = np.linalg.inv(np.tril(corner) + np.tril(corner, -1).T)
    inverse = 0.5 * (inverse + inverse.T)
    column = np.concatenate([matrix[pivot, : pivot.start].T, matrix[pivot.start :, pivot]])
    scaled = column @ inverse

    def update(first: int, last: int) -> None:
        for rows in blocks[first:last]:
            if rows != pivot:
                matrix[rows, : rows.stop] -= scaled[rows] @ column[: rows.stop].T

    dealer.deal(update, len(blocks), 1)
    matrix[pivot, : pivot.start] = scaled[: pivot.start].T
    matrix[pivot.stop :, pivot] = scaled[pivot.stop :]
    matrix[pivot, pivot] = -inverse
