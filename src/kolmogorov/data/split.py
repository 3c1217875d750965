"""Random holdouts and folds of entries, as masks and numbers."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.validation import Integer, check_parameters
from kolmogorov._support.wording import named
from kolmogorov.data.trainable import nothing_there
from kolmogorov.errors import DataError, ParameterError


def holdout(n: int, test_size: float, random_state: Any) -> NDArray[np.bool_]:
    """Choose round(test_size * n) of n entries at random.

    Examples
    --------
    >>> int(holdout(10, 0.2, 0).sum())
    2
    """
    check_share(test_size)
    if not n:
        raise nothing_there("to split")
    n_test = round(test_size * n)
    if not 0 < n_test < n:
        raise DataError(f"A test share of {test_size:g} of {n} observation(s) leaves one part empty.")
    chosen = np.zeros(n, dtype=bool)
    chosen[generator(random_state).permutation(n)[:n_test]] = True
    return chosen


def check_share(test_size: Any) -> None:
    """Refuse what is no share of the entries."""
    if not isinstance(test_size, numbers.Real) or not 0.0 < float(test_size) < 1.0:
        raise ParameterError(f"{named('test_size')} must be a share between 0 and 1, got {test_size!r}.")


def fold_numbers(n: int, k: int, random_state: Any) -> NDArray[Any]:
    """Deal n entries into k random parts of nearly equal size; return each entry's part."""
    check_parameters("folds", {"k": k}, {"k": Integer(2)})
    if not n:
        raise nothing_there("to deal into folds")
    if n < k:
        raise DataError(f"{n} observation(s) cannot be dealt into {k} folds.")
    part = np.empty(n, dtype=np.uint8 if k < 256 else np.int64)
    part[generator(random_state).permutation(n)] = np.arange(n) % k
    return part
