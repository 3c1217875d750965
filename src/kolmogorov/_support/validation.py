"""One declarative table of requirements on parameters per class, one sentence for every violation."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from kolmogorov.errors import ParameterError


class Requirement:
    """What a parameter must be: its description, and a test of values; `|` is either of two."""

    def __init__(self, words: str, accepts: Callable[[Any], bool]) -> None:
        self._words, self.accepts = words, accepts

    def __str__(self) -> str:
        return self._words

    def __or__(self, other: Requirement) -> Requirement:
        return Requirement(f"{self} or {other}", lambda value: self.accepts(value) or other.accepts(value))


def is_finite(value: Any) -> bool:
    """Tell whether a real number can be computed with."""
    try:
        return math.isfinite(value)
    except OverflowError:  # An integer beyond all floats.
        return False


def _is_real(value: Any, low: float, high: float) -> bool:
    """Tell whether a value is a finite number from `low` to `high`; booleans are no numbers."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    return is_finite(value) and low <= float(value) <= high


def _is_whole(value: Any, least: int) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and least <= int(value) < 2**63


def integer(minimum: int, maximum: int = 2**63 - 1) -> Requirement:
    """An integer not below `minimum`, nor above `maximum`, of 64 bits as the kernels count; no boolean."""
    words = f"an integer >= {minimum}" if maximum == 2**63 - 1 else f"an integer >= {minimum} and <= {maximum}"
    return Requirement(words, lambda value: _is_whole(value, minimum) and int(value) <= maximum)


def real(minimum: float, maximum: float = math.inf) -> Requirement:
    """A finite real number not below `minimum`, nor above `maximum`."""
    bounded = f"a number from {minimum:g} to {maximum:g}"
    words = bounded if math.isfinite(maximum) else f"a finite number >= {minimum:g}"
    return Requirement(words, lambda value: _is_real(value, minimum, maximum))


def between(low: float, high: float) -> Requirement:
    """A real number strictly between two others."""
    words = f"a number between {low:g} and {high:g}"
    return Requirement(words, lambda value: _is_real(value, low, high) and low < float(value) < high)


def one_of(words: tuple[str | int, ...]) -> Requirement:
    """One of a few words or whole numbers."""
    shown = ", ".join(map(repr, words))
    return Requirement(f"one of {shown}", lambda v: (isinstance(v, str) or _is_whole(v, 0)) and v in words)


def instance(kind: type) -> Requirement:
    """An object of a class."""
    return Requirement(f"an object of the class {kind.__name__}", lambda value: isinstance(value, kind))


NONE = Requirement("None", lambda value: value is None)
AUTO = Requirement("'auto'", lambda value: isinstance(value, str) and value == "auto")
POSITIVE = Requirement("a finite number > 0", lambda value: _is_real(value, 0.0, math.inf) and float(value) > 0.0)
BOOLEAN = Requirement("True or False", lambda value: isinstance(value, (bool, np.bool_)))
CALLBACK = Requirement("a callable or None", lambda value: value is None or callable(value))
#: A ridge beyond this only overflows: factors have long ceased to move. By judgement.
LARGEST_RIDGE = 1e12
#: What a run, or the solver of one row, may be told to do at most: so many rounds of anything, and so many runs. More
#: is a mistake, or a forged file that would keep whoever uses it waiting for ever. By judgement.
MOST_ROUNDS, MOST_RUNS = 1_000_000, 1_000


def check_parameters(owner: str, values: Mapping[str, Any], requirements: Mapping[str, Requirement]) -> None:
    """Raise for the first parameter that is not what it must be.

    Examples
    --------
    >>> check_parameters("KolmogorovModel", {"n_events": 0}, {"n_events": integer(1)})
    Traceback (most recent call last):
    kolmogorov.errors.ParameterError: KolmogorovModel: 'n_events' must be an integer >= 1, got 0.
    """
    for name, requirement in requirements.items():
        if not requirement.accepts(values[name]):
            raise ParameterError(f"{owner}: '{name}' must be {requirement}, got {values[name]!r}.")


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def byte_count(size: Any, name: str) -> int:
    """Read a number of bytes, given as one or as text with a unit.

    Examples
    --------
    >>> byte_count("1.5 GB", "memory"), byte_count(4096, "memory")
    (1500000000, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(size).strip(), re.IGNORECASE)
    if isinstance(size, bool) or not match or match[2].upper() not in _UNITS or float(match[1]) == 0:
        raise ParameterError(f"'{name}' must be a number of bytes or a text such as '500MB' or '2GB', got {size!r}.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known word closest to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
