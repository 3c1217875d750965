"""What lies outside: files, which are either whole or not there, and packages that are not part of the core."""

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from kolmogorov.errors import FileWriteError, MissingExtraError, ParameterError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name, and the permissions of what it replaces, when the block ends well.

    A symbolic link is followed. A device or a pipe is written to directly. A read-only file is not replaced.
    """
    with _target(path) as (target, mode):
        if mode and not stat.S_ISREG(mode):
            with open(target, "wb") as stream:
                yield stream
            return
        neighbour = target.parent / f".{target.name[:40]}.{secrets.token_hex(6)}.part"
        try:
            with open(neighbour, "xb") as stream:
                if mode:
                    os.chmod(neighbour, mode & 0o777)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(neighbour, target)
        finally:
            neighbour.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now if `path` could not be written later."""
    with _target(path) as (target, mode):
        if not mode or stat.S_ISREG(mode):
            tempfile.TemporaryFile(dir=target.parent).close()


@contextmanager
def _target(path: str | os.PathLike[str]) -> Iterator[tuple[Path, int]]:
    """Follow links; yield what is to be written, and its mode, 0 where there is nothing yet. Errors name the path."""
    try:
        target = Path(os.path.realpath(path))
        mode = 0 if not os.path.lexists(target) else os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(None, "it is a directory")
        # Permissions do not bind an administrator, but whoever took them away meant it.
        if stat.S_ISREG(mode) and not (mode & 0o222 and os.access(target, os.W_OK)):
            raise PermissionError(None, "it is read-only")
        yield target, mode
    except OSError as error:
        raise FileWriteError(f"{path} cannot be written: {error.strerror or error}.") from None


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
