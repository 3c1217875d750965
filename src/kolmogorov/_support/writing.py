"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kolmogorov.errors import FileWriteError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name, and the permissions of what it replaces, when the block ends well.

    A symbolic link is followed. A device or a pipe is written to directly. A read-only file is not replaced.
    """
    with _target(path) as (target, old):
        if old is not None and not stat.S_ISREG(old):
            with open(target, "wb") as stream:
                yield stream
            return
        neighbour = target.parent / f".{target.name[:40]}.{secrets.token_hex(6)}.part"
        try:
            with open(neighbour, "xb") as stream:
                if old is not None:
                    os.chmod(neighbour, old & 0o777)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(neighbour, target)
        except BaseException:
            neighbour.unlink(missing_ok=True)
            raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now if `path` could not be written later."""
    with _target(path) as (target, old):
        if old is None or stat.S_ISREG(old):
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix="."):
                pass


@contextmanager
def _target(path: str | os.PathLike[str]) -> Iterator[tuple[Path, int | None]]:
    """Follow links, and yield the mode of what is there; errors of the file system name the path that people know."""
    if "\0" in os.fsdecode(path):
        raise FileWriteError(f"{os.fspath(path)!r} cannot be written: a path cannot hold a NUL character.")
    try:
        target = Path(os.path.realpath(path))
        try:
            old = os.stat(target).st_mode
        except FileNotFoundError:
            old = None
        if old is not None and stat.S_ISDIR(old):
            raise IsADirectoryError(None, "it is a directory")
        # Permissions do not bind an administrator, but whoever took them away meant it.
        bound = old is not None and stat.S_ISREG(old) and not (old & 0o222 and os.access(target, os.W_OK))
        if bound:
            raise FileWriteError(f"{path} is read-only. Make it writable, or choose another name.")
        yield target, old
    except FileWriteError:
        raise
    except OSError as error:
        raise FileWriteError(f"{path} cannot be written: {error.strerror or error}.") from None
