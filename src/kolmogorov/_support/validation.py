"""What parameters must be, and what always holds of arrays, said once: one sentence for every violation."""

from __future__ import annotations

import difflib
import math
import numbers
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.errors import InvariantError, ParameterError


class Requirement:
    """What a parameter must be: its description, and a test of values; `|` is either of two."""

    def __init__(self, words: str, accepts: Callable[[Any], bool]) -> None:
        self.words, self.accepts = words, accepts

    def __or__(self, other: Requirement) -> Requirement:
        return Requirement(f"{self.words} or {other.words}", lambda value: self.accepts(value) or other.accepts(value))


def is_finite(value: Any, kind: type = numbers.Real) -> bool:
    """Tell a number that can be computed with; booleans are none, nor are integers beyond all floats."""
    number = isinstance(value, kind) and not isinstance(value, bool)
    return bool(number and abs(value) <= sys.float_info.max)


#: Kernels count in integers of 64 bits.
_MOST = 2**63 - 1


def integer(minimum: int, maximum: int = _MOST) -> Requirement:
    """An integer not below `minimum`, nor above `maximum`; no boolean."""
    words = f"an integer >= {minimum}" + (f" and <= {maximum}" if maximum < _MOST else "")
    return Requirement(words, lambda value: is_finite(value, numbers.Integral) and minimum <= int(value) <= maximum)


def real(minimum: float, maximum: float = math.inf) -> Requirement:
    """A finite real number not below `minimum`, nor above `maximum`."""
    least = "a finite number" if minimum == -math.inf else f"a finite number >= {minimum:g}"
    words = f"a number from {minimum:g} to {maximum:g}" if maximum < math.inf else least
    return Requirement(words, lambda value: is_finite(value) and minimum <= float(value) <= maximum)


def between(low: float, high: float) -> Requirement:
    """A real number strictly between two others."""
    words = f"a number between {low:g} and {high:g}"
    return Requirement(words, lambda value: is_finite(value) and low < float(value) < high)


def one_of(words: tuple[str | int, ...]) -> Requirement:
    """One of a few words or whole numbers."""
    shown = f"one of {', '.join(map(repr, words))}"
    return Requirement(shown, lambda v: (isinstance(v, str) or is_finite(v, numbers.Integral)) and v in words)


def instance(kind: type) -> Requirement:
    """An object of a class."""
    return Requirement(f"an object of the class {kind.__name__}", lambda value: isinstance(value, kind))


NONE = Requirement("None", lambda value: value is None)
AUTO = Requirement("'auto'", lambda value: isinstance(value, str) and value == "auto")
POSITIVE = Requirement("a finite number > 0", lambda value: is_finite(value) and float(value) > 0.0)
BOOLEAN = Requirement("True or False", lambda value: isinstance(value, (bool, np.bool_)))
CALLBACK = Requirement("a callable or None", lambda value: value is None or callable(value))
#: A ridge beyond this only overflows: factors have long ceased to move. By judgement.
LARGEST_RIDGE = 1e12
#: What a run, or the solver of one row, may be told to do at most: so many rounds of anything, and so many runs. More
#: is a mistake, or a forged file that would keep whoever uses it waiting for ever. By judgement.
MOST_ROUNDS, MOST_RUNS = 1_000_000, 1_000


def check_parameters(owner: str, values: Mapping[str, Any], requirements: Mapping[str, Requirement]) -> None:
    """Raise for the first parameter that is not what it must be: "KolmogorovModel: 'n_events' must be ..., got 0"."""
    for name, requirement in requirements.items():
        if not requirement.accepts(values[name]):
            raise ParameterError(f"{owner}: '{name}' must be {requirement.words}, got {values[name]!r}.")


def byte_count(size: Any, name: str) -> int:
    """Read a number of bytes, given as one or as text with a unit, such as "1.5 GB"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", str(size).strip().lower())
    if isinstance(size, bool) or not match or float(match[1]) == 0:
        raise ParameterError(f"'{name}' must be a number of bytes or a text such as '500MB' or '2GB', got {size!r}.")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2] or " "))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known word closest to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


# --- arrays: compiled code relies on it and does not look, so whatever comes from a file is checked -------------------

#: Where any number lies that a fit can come to; beyond, sums and squares of later computations would overflow. By
#: judgement.
LEAST_NUMBER, LARGEST_NUMBER = 1e-15, 1e15
#: How far the sum of a distribution may be from 1.
_SLACK = 1e-6


def _check(holds: Any, said: str) -> None:
    if not holds:
        raise InvariantError(said)


def check_array(what: str, array: NDArray[Any], dtype: Any, shape: tuple[int | None, ...]) -> None:
    """Check type and shape; None stands for any length."""
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    wanted = " x ".join("any" if n is None else str(n) for n in shape)
    said = f"{what} must be {np.dtype(dtype)}[{wanted}], got {array.dtype}{list(array.shape)}"
    _check(fits and array.dtype == np.dtype(dtype), said)


def check_between(what: str, array: NDArray[Any], low: float, high: float) -> None:
    """Check that every element is a number from `low` to `high`; written so that NaN fails."""
    _check(
        not array.size or (array.min() >= low and array.max() <= high),
        f"{what} holds a number outside [{low:g}, {high:g}]",
    )


def check_bounded(what: str, array: NDArray[Any]) -> None:
    """Check that every element is a number of a size that can be computed with."""
    check_between(what, array, -LARGEST_NUMBER, LARGEST_NUMBER)


def check_among(what: str, array: NDArray[Any], levels: Any = (0.0, 1.0)) -> None:
    """Check that every element is one of some numbers, by default a bit."""
    _check(np.isin(array, levels).all(), f"{what} holds a number that is none of its levels")


def check_simplex(what: str, array: NDArray[Any]) -> None:
    """Check that the last axis holds distributions."""
    check_between(what, array, 0.0, 1.0 + _SLACK)
    off = np.abs(array.sum(axis=-1) - 1.0)
    _check((off <= _SLACK).all(), f"{what} is not on the probability simplex: a sum is not 1")


def check_indptr(what: str, indptr: NDArray[np.int64], n_entries: int) -> None:
    """Check that rows begin at 0, follow each other and end with the entries."""
    # Neighbours are compared, since the difference of two integers can overflow.
    rising = indptr[0] == 0 and indptr[-1] == n_entries and (indptr[1:] >= indptr[:-1]).all()
    _check(rising, f"{what} does not increase from 0 to the number of entries, {n_entries}")


def check_indices(what: str, indptr: NDArray[np.int64], indices: NDArray[Any], n_partners: int) -> None:
    """Check that partners exist and increase within each row, so that none is there twice; `indptr` was checked."""
    check_between(what, indices, 0, n_partners - 1)
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    _check(np.isin(falls, indptr).all(), f"{what} does not increase within a row: a pair is there twice")
