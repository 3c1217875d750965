"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from kolmogorov.errors import FileWriteError


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error.

    The bytes go to a neighbour in the same directory, are flushed to the disk, and replace `path` in one step; what
    stood there before stays untouched until then. A symbolic link is followed. A device or a pipe cannot be
    replaced and is written to directly.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with _naming(path), open(target, "wb") as stream:
            yield stream
        return
    with _naming(path):
        neighbour = _new_neighbour(target)
    try:
        with _naming(path), os.fdopen(neighbour[0], "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(neighbour[1], target)
    except BaseException:
        Path(neighbour[1]).unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now if `path` could not be written later."""
    target = Path(path).resolve()
    with _naming(path):
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise IsADirectoryError(None, "it is a directory")
            return
        descriptor, name = _new_neighbour(target)
        os.close(descriptor)
        os.unlink(name)


def _new_neighbour(target: Path) -> tuple[int, Path]:
    """Create an empty file beside the target, with the permissions of an ordinary new file."""
    name = target.parent / f".{target.name}.{secrets.token_hex(6)}.part"
    return os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666), name


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the file system name the path that the caller knows."""
    try:
        yield
    except FileWriteError:
        raise
    except OSError as error:
        raise FileWriteError(f"{path} cannot be written: {error.strerror or error}.") from None
