"""One declarative table of requirements on parameters per class, one sentence for every violation."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kolmogorov._support.wording import flag, named
from kolmogorov.errors import ParameterError


class Requirement(Protocol):
    """What a parameter must be: it judges a value and describes itself."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Integer:
    """An integer not below `minimum`, of 64 bits as the kernels count; booleans are not integers."""

    minimum: int

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        return whole and self.minimum <= int(value) < 2**63

    def __str__(self) -> str:
        return f"an integer >= {self.minimum}"


#: A ridge beyond this only overflows: factors have long ceased to move.
LARGEST_RIDGE = 1e12


@dataclass(frozen=True)
class Real:
    """A finite real number not below `minimum`, nor above `maximum`."""

    minimum: float
    maximum: float = math.inf

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return False
        try:
            return math.isfinite(value) and self.minimum <= float(value) <= self.maximum
        except OverflowError:  # An integer beyond all floats.
            return False

    def __str__(self) -> str:
        if math.isfinite(self.maximum):
            return f"a number from {self.minimum:g} to {self.maximum:g}"
        return f"a finite number >= {self.minimum:g}"


@dataclass(frozen=True)
class Positive:
    """A finite real number above zero."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return Real(0.0).accepts(value) and float(value) > 0.0

    def __str__(self) -> str:
        return "a finite number > 0"


@dataclass(frozen=True)
class Between:
    """A real number strictly between two others."""

    low: float
    high: float

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return Real(self.low).accepts(value) and self.low < float(value) < self.high

    def __str__(self) -> str:
        return f"a number between {self.low:g} and {self.high:g}"


@dataclass(frozen=True)
class Optional:
    """What another requirement accepts, or None."""

    inner: Requirement

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return value is None or self.inner.accepts(value)

    def __str__(self) -> str:
        return f"{self.inner} or None"


@dataclass(frozen=True)
class Either:
    """What one of two requirements accepts."""

    first: Requirement
    second: Requirement

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return self.first.accepts(value) or self.second.accepts(value)

    def __str__(self) -> str:
        return f"{self.first} or {self.second}"


@dataclass(frozen=True)
class Word:
    """One particular word."""

    word: str

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, str) and value == self.word

    def __str__(self) -> str:
        return repr(self.word)


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(word) for word in self.words)


@dataclass(frozen=True)
class Boolean:
    """True or False, and nothing that merely counts as such."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, (bool, np.bool_))

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Flag:
    """A boolean, or an integer that counts as a level of it."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, (bool, np.bool_)) or Integer(0).accepts(value)

    def __str__(self) -> str:
        return "a boolean or an integer >= 0"


@dataclass(frozen=True)
class Instance:
    """An object of a class."""

    kind: type

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, self.kind)

    def __str__(self) -> str:
        return f"an object of the class {self.kind.__name__}"


@dataclass(frozen=True)
class Callback:
    """A callable, or None."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return value is None or callable(value)

    def __str__(self) -> str:
        return "a callable or None"


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
            subject = flag(name) or f"{owner}: '{name}'"
            raise ParameterError(f"{subject} must be {requirement}, got {values[name]!r}.")


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
        raise ParameterError(
            f"{named(name)} must be a number of bytes or a text such as '500MB' or '2GB', got {size!r}."
        )
    return int(float(match[1]) * _UNITS[match[2].upper()])


def nearest(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known word closest to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
