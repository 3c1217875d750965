"""Classes that derive from those of a package that may not be there: each is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def made_when_asked(module: dict[str, Any], name: str, make: Callable[[], type]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module, given its globals, that has one such class."""

    def found(asked: str) -> Any:
        if asked != name:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {asked!r}")
        module[name] = made = make()
        # It can be found by its name, as pickle needs it.
        made.__qualname__ = name
        return made

    return found
