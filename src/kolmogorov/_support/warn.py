"""Warnings that point at the line outside the library from which it was called."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.split(".")[0]


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first caller that is not part of the library."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
