"""What the library says while it works: log records for programs, a line on the terminal for people."""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger("kolmogorov")
logger.addHandler(logging.NullHandler())


def notice(message: str, *, always: bool = False) -> None:
    """Log `message`, and show it on standard error when a person is watching, or `always`."""
    logger.info(message)
    if sys.stderr is not None and (always or sys.stderr.isatty()):
        sys.stderr.write(f"kolmogorov: {message}\n")
        sys.stderr.flush()
