"""Holdouts and folds of entries, as masks and numbers."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.validation import Integer, OneOf, check_parameters
from kolmogorov._support.wording import named
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.entries.view import View
from kolmogorov.errors import DataError, ParameterError

By = Literal["entry", "user", "leave_one_out"]


def entries_held_out(rows: View, test_size: float, random_state: Any, by: By) -> NDArray[np.bool_]:
    """Choose the entries to hold out, as `Observations.split` describes it."""
    check_parameters("split", {"by": by}, {"by": OneOf(("entry", "user", "leave_one_out"))})
    if by == "entry":
        return _holdout(rows.values.size, test_size, random_state)
    return _holdout_of_each(rows.indptr, None if by == "leave_one_out" else test_size, random_state)


def _holdout(n: int, test_size: float, random_state: Any) -> NDArray[np.bool_]:
    """Choose round(test_size * n) of n entries at random."""
    check_share(test_size)
    if not n:
        raise nothing_there("to split")
    n_test = round(test_size * n)
    if not 0 < n_test < n:
        raise DataError(f"A test share of {test_size:g} of {n} observation(s) leaves one part empty.")
    chosen = np.zeros(n, dtype=bool)
    chosen[generator(random_state).permutation(n)[:n_test]] = True
    return chosen


def _holdout_of_each(indptr: NDArray[np.int64], test_size: float | None, random_state: Any) -> NDArray[np.bool_]:
    """Choose a share of every row's entries at random, and never all; without a share one of each."""
    counts = np.diff(indptr)
    if test_size is not None:
        check_share(test_size)
    if not indptr[-1]:
        raise nothing_there("to split")
    wanted = np.minimum(1 if test_size is None else np.round(test_size * counts), counts - 1).clip(0)
    if not wanted.any():
        raise DataError("No user has enough observations to hold some out and keep others; the test part is empty.")
    owner = np.repeat(np.arange(counts.size), counts)
    # In each row the entries that come last in this order are held out.
    order = np.lexsort((generator(random_state).random(owner.size), owner))
    place = np.empty(owner.size, dtype=np.int64)
    place[order] = np.arange(owner.size)
    chosen: NDArray[np.bool_] = indptr[1:][owner] - place <= wanted[owner]
    return chosen


def check_share(test_size: Any) -> None:
    """Refuse what is no share of the entries."""
    if not isinstance(test_size, numbers.Real) or not 0.0 < float(test_size) < 1.0:
        raise ParameterError(named("test_size") + f" must be a share between 0 and 1, got {test_size!r}.")


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
