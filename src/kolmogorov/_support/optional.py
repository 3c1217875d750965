"""Packages that are not part of the core: is one there, and the exact command when it is not."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from kolmogorov.errors import MissingExtraError, ParameterError

EXTRAS: dict[str, tuple[str, ...]] = {
    "pandas": ("pandas",),
    "polars": ("polars",),
    "parquet": ("pyarrow",),
    "sdp": ("clarabel",),
    "qubo": ("dimod",),
    "paper": ("matplotlib", "clarabel"),
    "report": ("jinja2",),
    "graph": ("networkx",),
    "arviz": ("arviz",),
    "bench": ("surprise", "implicit", "mlxtend", "myfm", "cmfrec"),
}


def installed(module: str) -> bool:
    """Tell whether `module` could be imported, without importing it."""
    return find_spec(module) is not None


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which command installs it."""
    if not installed(module):
        raise MissingExtraError(f"{purpose} needs {module}. Install it with: pip install 'kolmogorov[{extra}]'")
    return import_module(module)


def to_frame(columns: dict[str, Any], backend: str | None = None) -> Any:
    """Make a data frame of the columns in pandas, else polars, else pyarrow: the first that is installed."""
    known = ("pandas", "polars", "pyarrow")
    if backend is not None and backend not in known:
        raise ParameterError(f"'backend' must be one of {', '.join(map(repr, known))} or None, got {backend!r}.")
    candidates = known if backend is None else (backend,)
    for name in candidates:
        if installed(name):
            module = import_module(name)
            return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)
    extra = {"pyarrow": "parquet"}.get(candidates[0], candidates[0])
    raise MissingExtraError(
        f"A data frame needs {' or '.join(candidates)}. Install one with: pip install 'kolmogorov[{extra}]'"
    )
