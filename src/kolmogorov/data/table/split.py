"""Holdouts and folds of entries, as masks and numbers."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import Integer, OneOf, check_parameters
from kolmogorov._support.wording import named
from kolmogorov.data.entries.entries import nothing_there
from kolmogorov.data.entries.view import View
from kolmogorov.data.numbers.moments import LARGEST_TIME, Moments, moments_of
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.errors import DataError, ParameterError

By = Literal["entry", "user", "time", "leave_one_out"]
#: Times of entries: a table of the same entries and its scale, or numbers in their order.
Timed = tuple[View, Scale] | Any


def entries_held_out(rows: View, test_size: float, random_state: Any, by: By, times: Timed) -> NDArray[np.bool_]:
    """Choose the entries to hold out, as `Observations.split` describes it."""
    check_parameters("split", {"by": by}, {"by": OneOf(("entry", "user", "time", "leave_one_out"))})
    when = None if times is None else entry_times(rows, times).seconds
    if by == "time":
        if when is None:
            raise DataError(
                "A split by time needs to know when ratings were made. Read them with a column of times, or give "
                "times=: observations of the same entries whose value is the time, numbers, or dates."
            )
        return latest(when, test_size)
    if by == "entry":
        if when is not None:
            raise DataError("times= goes with by='time', 'user' or 'leave_one_out'.")
        return holdout(rows.values.size, test_size, random_state)
    return holdout_of_each(rows.indptr, None if by == "leave_one_out" else test_size, random_state, when)


def entry_times(rows: View, times: Timed) -> Moments:
    """Return the time of each entry, in the unit in which it was given; dates become seconds since 1970."""
    if isinstance(times, tuple) and len(times) == 2 and isinstance(times[0], View):
        theirs, scale = times
        pairs = ((theirs.indptr, rows.indptr), (theirs.indices, rows.indices))
        if not all(np.array_equal(one, other) for one, other in pairs):
            raise DataError("'times' must hold the same entries as these observations.")
        times = scale.rating(theirs.values)
    wanted = f"{rows.values.size} finite numbers, or dates, in the order of 'values'"
    try:
        found = moments_of(times)
    except (TypeError, ValueError):
        raise DataError(f"'times' must hold {wanted}, got {type(times).__name__}.") from None
    when = found.seconds
    if when.shape != rows.values.shape:
        raise DataError(f"'times' must hold {wanted}, got {when.shape if when.ndim else type(times).__name__}.")
    if not np.isfinite(when).all():
        first = int(np.argmax(~np.isfinite(when)))
        raise DataError(f"'times' must hold {wanted}, got {list(times)[first]!r} at {first}.")
    if when.size and np.abs(when).max() > LARGEST_TIME:
        raise DataError(
            f"'times' must lie between -{LARGEST_TIME:g} and {LARGEST_TIME:g}, got {when[np.abs(when).argmax()]:g}. "
            "Give seconds, days or years."
        )
    return found


def holdout(n: int, test_size: float, random_state: Any) -> NDArray[np.bool_]:
    """Choose round(test_size * n) of n entries at random."""
    n_test = _n_test(n, test_size)
    chosen = np.zeros(n, dtype=bool)
    chosen[generator(random_state).permutation(n)[:n_test]] = True
    return chosen


def latest(times: Floats, test_size: float) -> NDArray[np.bool_]:
    """Choose the round(test_size * n) entries with the largest times; of equal ones those that come later."""
    chosen = np.zeros(times.size, dtype=bool)
    chosen[np.argsort(times, kind="stable")[times.size - _n_test(times.size, test_size) :]] = True
    return chosen


def holdout_of_each(
    indptr: NDArray[np.int64], test_size: float | None, random_state: Any, times: Floats | None
) -> NDArray[np.bool_]:
    """Choose a share of every row's entries, at random or the latest, and never all; without a share one of each."""
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
    order = np.lexsort((generator(random_state).random(owner.size) if times is None else times, owner))
    place = np.empty(owner.size, dtype=np.int64)
    place[order] = np.arange(owner.size)
    chosen: NDArray[np.bool_] = indptr[1:][owner] - place <= wanted[owner]
    return chosen


def _n_test(n: int, test_size: float) -> int:
    check_share(test_size)
    if not n:
        raise nothing_there("to split")
    n_test = round(test_size * n)
    if not 0 < n_test < n:
        raise DataError(f"A test share of {test_size:g} of {n} observation(s) leaves one part empty.")
    return n_test


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
