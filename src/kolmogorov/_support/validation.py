"""One declarative table of requirements on parameters per class, one sentence for every violation."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from kolmogorov.errors import ParameterError


class Requirement(Protocol):
    """What a parameter must be: it judges a value, and `str` describes it."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""

    def __str__(self) -> str: ...


class _Worded:
    """A requirement made of its description and its test."""

    def __init__(self, words: str, accepts: Callable[[Any], bool]) -> None:
        self._words, self.accepts = words, accepts

    def __str__(self) -> str:
        return self._words


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


def _is_boolean(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_whole(value: Any, least: int) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and least <= int(value) < 2**63


class Integer(_Worded):
    """An integer not below `minimum`, nor above `maximum`, of 64 bits as the kernels count; no boolean."""

    def __init__(self, minimum: int, maximum: int = 2**63 - 1) -> None:
        words = f"an integer >= {minimum}" if maximum == 2**63 - 1 else f"an integer >= {minimum} and <= {maximum}"
        super().__init__(words, lambda value: _is_whole(value, minimum) and int(value) <= maximum)


#: A ridge beyond this only overflows: factors have long ceased to move. By judgement.
LARGEST_RIDGE = 1e12
#: What a run, or the solver of one row, may be told to do at most: so many rounds of anything, and so many runs. More
#: is a mistake, or a forged file that would keep whoever uses it waiting for ever. By judgement.
MOST_ROUNDS, MOST_RUNS = 1_000_000, 1_000


class Real(_Worded):
    """A finite real number not below `minimum`, nor above `maximum`."""

    def __init__(self, minimum: float, maximum: float = math.inf) -> None:
        bounded = f"a number from {minimum:g} to {maximum:g}"
        words = bounded if math.isfinite(maximum) else f"a finite number >= {minimum:g}"
        super().__init__(words, lambda value: _is_real(value, minimum, maximum))


class Positive(_Worded):
    """A finite real number above zero."""

    def __init__(self) -> None:
        super().__init__("a finite number > 0", lambda value: _is_real(value, 0.0, math.inf) and float(value) > 0.0)


class Between(_Worded):
    """A real number strictly between two others."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__(
            f"a number between {low:g} and {high:g}",
            lambda value: _is_real(value, low, high) and low < float(value) < high,
        )


class Optional(_Worded):
    """What another requirement accepts, or None."""

    def __init__(self, inner: Requirement) -> None:
        super().__init__(f"{inner} or None", lambda value: value is None or inner.accepts(value))


class Either(_Worded):
    """What one of two requirements accepts."""

    def __init__(self, first: Requirement, second: Requirement) -> None:
        super().__init__(f"{first} or {second}", lambda value: first.accepts(value) or second.accepts(value))


class Word(_Worded):
    """One particular word."""

    def __init__(self, word: str) -> None:
        super().__init__(repr(word), lambda value: isinstance(value, str) and value == word)


class OneOf(_Worded):
    """One of a few words or whole numbers."""

    def __init__(self, words: tuple[str | int, ...]) -> None:
        super().__init__(
            f"one of {', '.join(map(repr, words))}",
            lambda value: (isinstance(value, str) or _is_whole(value, 0)) and value in words,
        )


class Boolean(_Worded):
    """True or False, and nothing that merely counts as such."""

    def __init__(self) -> None:
        super().__init__("True or False", _is_boolean)


class Instance(_Worded):
    """An object of a class."""

    def __init__(self, kind: type) -> None:
        super().__init__(f"an object of the class {kind.__name__}", lambda value: isinstance(value, kind))


class Callback(_Worded):
    """A callable, or None."""

    def __init__(self) -> None:
        super().__init__("a callable or None", lambda value: value is None or callable(value))


def check_parameters(owner: str, values: Mapping[str, Any], requirements: Mapping[str, Requirement]) -> None:
    """Raise for the first parameter that is not what it must be.

    Examples
    --------
    >>> check_parameters("KolmogorovModel", {"n_events": 0}, {"n_events": Integer(1)})
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
