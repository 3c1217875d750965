"""Packages that are not part of the core: is one there, and the exact command when it is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, metadata, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kolmogorov.errors import MissingExtraError, ParameterError

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_REQUIREMENT = re.compile(rf"\s*(?P<package>{_NAME})\s*(?:\[(?P<extras>[^\]]*)\])?")
_CONDITION = re.compile(rf"""extra\s*==\s*["'](?P<extra>{_NAME})["']""")
_PYTHON = re.compile(r"""python_version\s*(?P<sign>>=|<)\s*["'](?P<major>\d+)\.(?P<minor>\d+)["']""")


def extras() -> dict[str, tuple[str, ...]]:
    """Return the packages of each extra, as the metadata of this package names them, sorted by extra.

    Where it is not installed but run from its sources, ``pyproject.toml`` is read; elsewhere nothing is known.
    """
    try:
        declared = metadata("kolmogorov")
    except PackageNotFoundError:
        return _extras_of_sources()
    found: dict[str, list[str]] = {name: [] for name in declared.get_all("Provides-Extra") or ()}
    for line in declared.get_all("Requires-Dist") or ():
        condition = _CONDITION.search(line)
        if condition:
            found.setdefault(condition["extra"], []).append(line)
    return _expanded(found)


def _extras_of_sources() -> dict[str, tuple[str, ...]]:
    import tomllib

    try:
        project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return {}
    return _expanded(project["optional-dependencies"]) if project.get("name") == "kolmogorov" else {}


def _expanded(requirements: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Reduce requirements to names of packages; an extra that names others of ours has their packages."""

    def packages(extra: str, above: tuple[str, ...] = ()) -> list[str]:
        names: list[str] = []
        for line in requirements.get(extra, ()):
            match = _REQUIREMENT.match(line)
            if match and match["package"] == "kolmogorov":
                within = [name.strip() for name in (match["extras"] or "").split(",")]
                names += [p for name in within if name not in above for p in packages(name, (*above, extra))]
            elif match and _is_for_this_python(line):
                names.append(match["package"])
        return names

    return {extra: tuple(dict.fromkeys(packages(extra))) for extra in sorted(requirements)}


def _is_for_this_python(requirement: str) -> bool:
    condition = _PYTHON.search(requirement)
    if condition is None:
        return True
    newer = sys.version_info[:2] >= (int(condition["major"]), int(condition["minor"]))
    return newer == (condition["sign"] == ">=")


def missing(packages: Iterable[str]) -> list[str]:
    """Return those of some packages, by the names that pip knows them by, that are not installed."""
    return [name for name in packages if not _is_there(name)]


def _is_there(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def installed(module: str) -> bool:
    """Tell whether `module` could be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # The package around it is not there.
        return False


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which command installs it."""
    if not installed(module):
        raise MissingExtraError(f"{purpose} needs {module}. In the clone, run: pip install '.[{extra}]'")
    return import_module(module)


def to_frame(columns: dict[str, Any], backend: str | None = None) -> Any:
    """Make a data frame of the columns in pandas, else polars, else pyarrow: the first that is installed."""
    known = ("pandas", "polars", "pyarrow")
    if backend is not None and backend not in known:
        raise ParameterError(f"'backend' must be one of {', '.join(map(repr, known))} or None, got {backend!r}.")
    name = backend or next(filter(installed, known))
    module = require(name, extra=name, purpose="A data frame")
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)
