"""What the library says while it works: programs get log records and warnings, people a line on the terminal."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kolmogorov._support.markup import shown

logger = logging.getLogger("kolmogorov")
logger.addHandler(logging.NullHandler())
#: Lines for people are written while this logger is enabled.
_terminal = logging.getLogger("kolmogorov.terminal")
#: When the line that passes was written, 0 where there is none; seconds between two, and their width.
_passing, _PAUSE, _WIDTH = 0.0, 0.2, 79


@contextmanager
def silence() -> Iterator[None]:
    """Keep notices off the terminal inside the block, those of other threads too."""
    before, _terminal.disabled = _terminal.disabled, True
    try:
        yield
    finally:
        _terminal.disabled = before


def is_silent() -> bool:
    """Tell whether only errors are to be shown."""
    return _terminal.disabled


def notice(message: str, *, always: bool = False) -> None:
    """Log `message`, and show it on standard error when a person is watching, or `always`."""
    logger.info(shown(message))
    if always or (sys.stderr is not None and sys.stderr.isatty() and not is_silent()):
        say(message)


def passing(text: str) -> None:
    """Show a line that the next one replaces, where a person is watching, in a notebook too; "" takes it away."""
    global _passing
    watched = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if not watched or is_silent() or not (_passing if not text else time.monotonic() - _passing > _PAUSE):
        return
    sys.stderr.write(f"\r{text[:_WIDTH]:{_WIDTH}}" if text else f"\r{'':{_WIDTH}}\r")
    sys.stderr.flush()
    _passing = time.monotonic() if text else 0.0


def say(message: object) -> None:
    """Write one line to standard error; what it names cannot act on the terminal."""
    passing("")
    if sys.stderr is not None:
        sys.stderr.write(f"kolmogorov: {shown(message)}\n")
        sys.stderr.flush()


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside the library from which it was called."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "kolmogorov":
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message), stacklevel=level + 1)


def says_stop(answer: Any) -> bool:
    """Tell whether a callback asks to stop: by True, or NumPy's; what `list.append` returns means go on."""
    return type(answer).__name__ in ("bool", "bool_") and bool(answer)
