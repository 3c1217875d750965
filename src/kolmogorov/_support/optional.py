"""Packages that are not part of the core: is one there, and the exact command when it is not."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kolmogorov.errors import MissingExtraError, ParameterError


def installed(module: str) -> bool:
    """Tell whether `module` could be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # The package around it is not there.
        return False


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which command installs it."""
    if not installed(module):
        raise MissingExtraError(f"{purpose} needs {module}. In the clone, run: pip install '.[{extra}]'")
    return import_module(module)


def to_frame(columns: dict[str, Any], backend: str | None = None) -> Any:
    """Make a data frame of the columns in pandas, else polars, else pyarrow: the first that is installed."""
    known = ("pandas", "polars", "pyarrow")
    if backend not in (*known, None):
        raise ParameterError(f"'backend' must be one of {', '.join(map(repr, known))} or None, got {backend!r}.")
    name = backend or next(filter(installed, known))
    module = require(name, extra=name, purpose="A data frame")
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)
