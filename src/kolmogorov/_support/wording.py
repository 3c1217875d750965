"""What people read: names that are shown and do nothing, and messages that name parameters as their reader writes them.

A message keeps the parameters that it names as data. In Python, and wherever it is made a `str`, they read
``duplicates='mean'``; the command line words them at its edge as ``--duplicates mean``, and leaves out advice that its
verb has no option for.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Control and format characters, lone surrogates, and separators of lines: they act instead of being seen.
_ACTING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
#: Persian, Hindi and emoji cannot be written without joiners, which move nothing.
_JOINERS = "\u200c\u200d"
#: Options of a verb by the parameters of the library that they stand for; None in Python.
Flags = Mapping[str, str] | None


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


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many letters, cut once, between words; what ends a title in brackets stays whole.

    Examples
    --------
    >>> shortened("Situation of human rights in the Islamic Republic of Iran (2019)", 40)
    'Situation of human rights in the… (2019)'
    >>> shortened("International trade and development, as… (2018)", 30)
    'International trade… (2018)'
    """
    if len(text) <= most:
        return text
    title, _, last = text.rpartition(" (")
    end = f" ({last}" if title and last.endswith(")") and len(last) <= most // 3 else ""
    title = text.removesuffix(end)
    room = most - len(end) - 1
    if len(title) > room:
        cut = title[: room + 1].rfind(" ")
        title = title[: cut if 2 * cut >= room else room]
        opened = title.rfind("(")
        if opened > title.rfind(")") and 3 * opened >= room:
            title = title[:opened]
    return f"{title.rstrip(' ,:;…')}…{end}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True)
class Option:
    """A parameter of the library: how Python writes it, if at all, and what the shell writes behind its flag."""

    name: str
    python: str | None
    value: Any = None

    def worded(self, flags: Flags) -> str | None:
        """Return how the reader writes it; None where they cannot."""
        if flags is None:
            return self.python
        flag = flags.get(self.name)
        return flag if flag is None or self.value is None else f"{flag} {shlex.quote(str(self.value))}"


@dataclass(frozen=True)
class _Sentence:
    """Words with a place for each option, and what is said where the reader lacks one of them."""

    words: str
    options: tuple[Option, ...]
    otherwise: str

    def worded(self, flags: Flags) -> str:
        found = [option.worded(flags) for option in self.options]
        return self.otherwise if None in found else self.words.format(*found)


@dataclass(frozen=True)
class Message:
    """Words and sentences one after the other; it grows by ``+``, and formatting it would lose the options."""

    parts: tuple[str | _Sentence, ...]

    def __add__(self, other: str | Message) -> Message:
        return Message((*self.parts, *(other.parts if isinstance(other, Message) else (other,))))

    def __radd__(self, other: str) -> Message:
        return Message((other, *self.parts))

    def __str__(self) -> str:
        return worded(self)

    def __format__(self, specification: str) -> str:
        raise TypeError("Join messages with +: in other text their options would be worded for Python alone.")


def worded(message: Any, flags: Flags = None) -> str:
    """Return a message in the words of its reader; anything else as it is."""
    if not isinstance(message, Message):
        return str(message)
    return "".join(part if isinstance(part, str) else part.worded(flags) for part in message.parts)


def option(name: str, value: Any = None) -> Option:
    """Name a parameter, with a value if one is to be named.

    Examples
    --------
    >>> option("duplicates", "mean").worded(None), option("sep").worded(None)
    ("duplicates='mean'", 'sep=')
    >>> option("duplicates", "mean").worded({"duplicates": "--duplicates"})
    '--duplicates mean'
    """
    return Option(name, f"{name}=" if value is None else f"{name}={value!r}", value)


def named(name: str, python: str | None = None) -> Message:
    """Begin or continue a message with the bare name of a parameter, which it cannot do without: 'maximum', --maximum.

    Examples
    --------
    >>> str(named("maximum") + " must be a number.")
    "'maximum' must be a number."
    """
    return said(Option(name, python or f"'{name}'"))


def said(option: Option) -> Message:
    """Begin or continue a message with a parameter that it cannot do without."""
    return Message((_Sentence("{}", (option,), otherwise=option.python or ""),))


def advice(sentence: str, *options: Option, otherwise: str = "") -> Message:
    """Return a sentence with a blank before it, that is said to readers who have all of its options.

    Examples
    --------
    >>> remedy = advice("If another character separates them, name it with {}.", option("sep"))
    >>> worded(remedy), worded(remedy, {"sep": "--sep"}), worded(remedy, {})
    (' If another character separates them, name it with sep=.', ' If another character separates them, name it with \
--sep.', '')
    """
    return Message((_Sentence(f" {sentence}", options, otherwise and f" {otherwise}"),))
