"""What the library says while it works: log records for programs, a line on the terminal for people."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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


def notice(message: str, *, always: bool = False) -> None:
    """Log `message`, and show it on standard error when a person is watching, or `always`."""
    logger.info(message)
    if sys.stderr is not None and (always or (sys.stderr.isatty() and not _silent)):
        sys.stderr.write(f"kolmogorov: {message}\n")
        sys.stderr.flush()
