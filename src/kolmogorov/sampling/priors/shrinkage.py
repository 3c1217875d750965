"""How much the slopes of features are shrunk: features that say nothing must not be believed.

What the pattern of a table says is one block, and every attribute is a block of its own. The slopes of a block are
Normal(0, residual variance / ridge), and the ridge is Gamma with half a degree of freedom around what is usual.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats

#: What slopes are usually shrunk by, as by so many rows: those of the pattern, which says something of most tables, and
#: those of an attribute, which may say nothing. By judgement.
PATTERN_RIDGE, ATTRIBUTE_RIDGE = 20.0, 20_000.0
#: Rounds in which ridges are found, of the pattern alone and with attributes. By judgement.
ROUNDS, _MORE_ROUNDS = 5, 10
#: The least sum of squares that a variance is made of, so that it is not 0.
TINY = 1e-9

#: Numbers of columns of the blocks of attributes, which are the last columns; those before are of the pattern.
Blocks = tuple[int, ...]


def usual_ridges(n_columns: int, blocks: Blocks) -> list[tuple[slice, float]]:
    """Return the columns of each block, and what its slopes are usually shrunk by.

    Examples
    --------
    >>> usual_ridges(6, (1, 2))
    [(slice(0, 3, None), 20.0), (slice(3, 4, None), 20000.0), (slice(4, 6, None), 20000.0)]
    """
    ends = (n_columns - sum(blocks) + np.cumsum((0, *blocks))).tolist()
    found = [(slice(first, last), ATTRIBUTE_RIDGE) for first, last in pairwise(ends)]
    return [(slice(0, ends[0]), PATTERN_RIDGE), *found] if ends[0] else found


def shrunk_slopes(gram: Floats, moment: Floats, total: float, n_rows: float, blocks: Blocks) -> Floats:
    """Return the slopes of `n_rows` rows on their features, with the ridges that make the rows likely.

    `gram`[k, k] sums products of features, `moment`[k, D] those of features and rows, which have mean 0 and whose
    squares sum to `total`. The rounds are MacKay's: the ridge of a block is the number of its slopes that are
    determined by the rows over the sum of their squares.
    """
    return slopes_and_spread(gram, moment, total, n_rows, blocks)[0]


def slopes_and_spread(
    gram: Floats, moment: Floats, total: float, n_rows: float, blocks: Blocks
) -> tuple[Floats, Floats]:
    """Return the slopes of `shrunk_slopes`, and their covariance in units of the variance of rows."""
    n_features, size = moment.shape
    known = usual_ridges(n_features, blocks)
    ridge = np.empty(n_features)
    for block, usual in known:
        ridge[block] = min(usual, PATTERN_RIDGE)
    slopes: Floats = np.zeros_like(moment)
    inverse: NDArray[Any] = np.zeros_like(gram)
    for _ in range(_MORE_ROUNDS if blocks else ROUNDS):
        inverse = np.linalg.inv(gram + np.diag(ridge))
        slopes = inverse @ moment
        variance = max(total - float((slopes * moment).sum()), TINY) / (n_rows * size)
        for block, usual in known:
            own = slopes[block]
            determined = own.size - ridge[block][0] * size * float(np.trace(inverse[block, block]))
            ridge[block] = (1.0 + determined) / (1.0 / usual + float((own**2).sum()) / variance)
    return slopes, inverse
