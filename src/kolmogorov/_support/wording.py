"""What people read: names that are shown and do nothing, and remedies in the language of their reader.

A message names a remedy as its reader would write it: ``duplicates='mean'`` in Python, ``--duplicates mean`` in the
shell. The command line declares which options the running verb has; a remedy that it has not is left out.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

#: Control and format characters, lone surrogates, and separators of lines: they act instead of being seen.
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Persian, Hindi and emoji cannot be written without joiners, which move nothing.
_JOINERS = "\u200c\u200d"

# Of the process and not of a thread: an error that is raised in a thread of the pool has the same reader.
_flags: Mapping[str, str] | None = None


def shown(text: Any) -> str:
    r"""Escape what would move the cursor, colour the screen, turn the text around or begin a new line.

    Examples
    --------
    >>> print(shown("Alien\x1b[31m\n\u202e"))
    Alien\x1b[31m\n\u202e
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(_escaped(c) if unicodedata.category(c) in _ACTING and c not in _JOINERS else c for c in plain)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


@contextmanager
def speaking(flags: Mapping[str, str]) -> Iterator[None]:
    """Word remedies for the shell inside the block; `flags` maps parameters of the library to options of the verb."""
    global _flags
    before, _flags = _flags, flags
    try:
        yield
    finally:
        _flags = before


def flag(name: str) -> str | None:
    """Return the verb's option for a parameter; None in Python, and where the verb has none."""
    return None if _flags is None else _flags.get(name)


def option(name: str, value: Any = None) -> str | None:
    """Word a parameter, with a value if one is to be named; None where the running verb has no such option.

    Examples
    --------
    >>> option("duplicates", "mean"), option("sep")
    ("duplicates='mean'", 'sep=')
    >>> with speaking({"duplicates": "--duplicates"}):
    ...     option("duplicates", "mean"), option("sep")
    ('--duplicates mean', None)
    """
    if _flags is None:
        return f"{name}=" if value is None else f"{name}={value!r}"
    found = _flags.get(name)
    return found if found is None or value is None else f"{found} {shlex.quote(str(value))}"


def parameter(name: str) -> str | None:
    """Word the bare name of a parameter: 'maximum' in Python, --maximum in the shell; None where the verb has none."""
    return f"'{name}'" if _flags is None else _flags.get(name)


def named(name: str) -> str:
    """Do as `parameter`, in a sentence that cannot do without the name."""
    return parameter(name) or f"'{name}'"


def advice(sentence: str, *options: str | None) -> str:
    """Return the sentence with its options filled in and a blank before it; nothing where the verb lacks one of them.

    Examples
    --------
    >>> advice("If another character separates them, name it with {}.", option("sep"))
    ' If another character separates them, name it with sep=.'
    """
    return "" if None in options else " " + sentence.format(*options)
