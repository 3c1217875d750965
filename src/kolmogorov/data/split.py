"""Random holdouts and folds of entries."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from kolmogorov._support.seeds import generator
from kolmogorov._support.validation import Integer, check_parameters
from kolmogorov._support.wording import named
from kolmogorov.data.observations import Observations
from kolmogorov.data.trainable import check_any
from kolmogorov.errors import DataError, ParameterError


def holdout(observations: Observations, test_size: float, random_state: Any) -> tuple[Observations, Observations]:
    """Split into (train, test) with round(test_size * n) entries in the test part."""
    if not isinstance(test_size, numbers.Real) or not 0.0 < test_size < 1.0:
        raise ParameterError(f"{named('test_size')} must be a share between 0 and 1, got {test_size!r}.")
    check_any(observations, "to split")
    n = len(observations)
    n_test = round(test_size * n)
    if not 0 < n_test < n:
        raise DataError(f"A test share of {test_size:g} of {n} observation(s) leaves one part empty.")
    chosen = np.zeros(n, dtype=bool)
    chosen[generator(random_state).permutation(n)[:n_test]] = True
    return observations.subset(~chosen), observations.subset(chosen)


def folds(observations: Observations, k: int, random_state: Any) -> Iterator[tuple[Observations, Observations]]:
    """Yield (train, test) for k random parts of nearly equal size."""
    check_parameters("folds", {"k": k}, {"k": Integer(2)})
    check_any(observations, "to deal into folds")
    n = len(observations)
    if n < k:
        raise DataError(f"{n} observation(s) cannot be dealt into {k} folds.")
    part = np.empty(n, dtype=np.uint8 if k < 256 else np.int64)
    part[generator(random_state).permutation(n)] = np.arange(n) % k
    return ((observations.subset(part != f), observations.subset(part == f)) for f in range(k))
