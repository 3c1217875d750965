"""What the library says while it works: log records for programs, a line on the terminal for people."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kolmogorov._support.wording import shown

logger = logging.getLogger("kolmogorov")
logger.addHandler(logging.NullHandler())


_silent = False


@contextmanager
def silence() -> Iterator[None]:
    """Keep notices off the terminal inside the block."""
    global _silent
    before, _silent = _silent, True
    try:
        yield
    finally:
        _silent = before


def is_silent() -> bool:
    """Tell whether only errors are to be shown."""
    return _silent


def notice(message: str, *, always: bool = False) -> None:
    """Log `message`, and show it on standard error when a person is watching, or `always`."""
    logger.info(shown(message))
    if sys.stderr is not None and (always or (sys.stderr.isatty() and not _silent)):
        say(message)


def say(message: object) -> None:
    """Write one line to standard error; what it names cannot act on the terminal."""
    if sys.stderr is not None:
        sys.stderr.write(f"kolmogorov: {shown(message)}\n")
        sys.stderr.flush()
