"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from kolmogorov._support.wording import Option, advice
from kolmogorov.errors import FileWriteError

#: Letters of a file's name that the hidden one beside it takes over.
_TAKEN = 40
_READ_ONLY_TOO: ContextVar[bool] = ContextVar("read_only_too", default=False)


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error.

    The bytes go to a hidden neighbour, which then replaces `path` in one step; what stood there before stays untouched
    until then, and its permissions go over. A symbolic link is followed. A device or a pipe is written to directly. A
    read-only file is not replaced.
    """
    target, old = _look_up(path)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _naming(path), open(target, "wb") as stream:
            yield stream
        return
    _refuse_read_only(path, target, old)
    with _naming(path):
        neighbour = target.parent / f".{target.name[:_TAKEN]}.{secrets.token_hex(6)}.part"
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        descriptor = os.open(neighbour, flags, 0o666 if old is None else 0o600)
    try:
        with _naming(path), os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(descriptor)
            if old is not None:
                os.chmod(neighbour, stat.S_IMODE(old.st_mode) & 0o777)
            os.replace(neighbour, target)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise


@contextmanager
def scratch_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a hidden folder beside `path` for the time of the block."""
    target, _ = _look_up(path)
    with _naming(path):
        folder = Path(tempfile.mkdtemp(".packing", f".{target.name[:_TAKEN]}.", target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now if `path` could not be written later."""
    target, old = _look_up(path)
    with _naming(path):
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(None, "it is a directory")
    if old is None or stat.S_ISREG(old.st_mode):
        _refuse_read_only(path, target, old)
        with _naming(path), tempfile.NamedTemporaryFile(dir=target.parent, prefix="."):
            pass


@contextmanager
def replacing_read_only(really: bool = True) -> Iterator[None]:
    """Let read-only files be replaced inside the block."""
    token = _READ_ONLY_TOO.set(really)
    try:
        yield
    finally:
        _READ_ONLY_TOO.reset(token)


def _look_up(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    """Follow links, and look at what is there; a loop of links is an error, and so is what cannot be a path."""
    with _naming(path):
        try:
            target = Path(os.path.realpath(path))
            return target, os.stat(target)
        except FileNotFoundError:
            return target, None
        except ValueError:
            raise FileWriteError(
                f"{os.fspath(path)!r} cannot be written: a path cannot hold a NUL character."
            ) from None


def _refuse_read_only(path: Any, target: Path, old: os.stat_result | None) -> None:
    if old is None or _READ_ONLY_TOO.get():
        return
    # Permissions do not bind an administrator, but whoever took them away meant it.
    if not old.st_mode & 0o222 or not os.access(target, os.W_OK):
        force, otherwise = Option("force", python=None), "Make it writable, or choose another name."
        remedy = advice("Say {} to replace it, or choose another name.", force, otherwise=otherwise)
        raise FileWriteError(f"{path} is read-only." + remedy)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the file system name the path that the caller knows."""
    try:
        yield
    except FileWriteError:
        raise
    except OSError as error:
        raise FileWriteError(f"{path} cannot be written: {error.strerror or error}.") from None
