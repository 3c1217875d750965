"""Files that are either whole or not there, and what a killed run left of them."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from kolmogorov._support.wording import Option, advice
from kolmogorov.errors import FileWriteError

fcntl: Any
try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

#: `.NAME.MARK.part` is a file under way, `.NAME.packing-MARK` a folder of intermediate results. The first 8
#: digits of a mark are the machine.
_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(?:(?P<file>[0-9a-f]{20})\.part|packing-(?P<folder>[0-9a-f]{20}))", re.DOTALL)
#: Age after which a leftover is given up where nobody can tell whether it is still written.
_FORGOTTEN_SECONDS = 7 * 24 * 3600.0
_LONGEST_NAME = 200
_READ_ONLY_TOO: ContextVar[bool] = ContextVar("read_only_too", default=False)


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error.

    The bytes go to a neighbour in the same directory, are flushed to the disk, and replace `path` in one step; what
    stood there before stays untouched until then, and its permissions, owner and group go over to the new file. A
    symbolic link is followed. A device or a pipe cannot be replaced and is written to directly. A read-only file is
    not replaced.
    """
    target, old = _look_up(path)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _naming(path), open(target, "wb") as stream:
            yield stream
        return
    _refuse_read_only(path, target, old)
    with _naming(path):
        _sweep(target)
        descriptor, neighbour = _new_neighbour(target, 0o666 if old is None else 0o600)
    try:
        with _naming(path), os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            if old is not None:
                _hand_over(descriptor, old)
            os.fsync(descriptor)
            os.replace(neighbour, target)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise


@contextmanager
def scratch_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a hidden folder beside `path` for the time of the block."""
    target, _ = _look_up(path)
    with _naming(path):
        _sweep(target)
        folder, descriptor = _new_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now if `path` could not be written later; remove what a killed run left beside it."""
    target, old = _look_up(path)
    with _naming(path):
        if old is not None and not stat.S_ISREG(old.st_mode):
            if stat.S_ISDIR(old.st_mode):
                raise IsADirectoryError(None, "it is a directory")
            return
    _refuse_read_only(path, target, old)
    with _naming(path):
        _sweep(target)
        descriptor, name = _new_neighbour(target, 0o600)
        os.close(descriptor)
        os.unlink(name)


@contextmanager
def replacing_read_only(really: bool = True) -> Iterator[None]:
    """Let read-only files be replaced inside the block."""
    token = _READ_ONLY_TOO.set(really)
    try:
        yield
    finally:
        _READ_ONLY_TOO.reset(token)


def clean_folder(folder: str | os.PathLike[str]) -> tuple[list[Path], list[Path]]:
    """Remove from a folder, not from those in it, what killed runs left there.

    Returns
    -------
    removed : list of Path
    kept : list of Path
        Those that are still written, that are not ours to remove, or of which nobody here can tell.
    """
    removed: list[Path] = []
    kept: list[Path] = []
    for path, match in _leftovers(Path(folder)):
        (removed if _is_removed(path, match) else kept).append(path)
    return removed, kept


# --- the place of a file -----------------------------------------------------------------------------------------


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


def _hand_over(descriptor: int, old: os.stat_result) -> None:
    """Give a new file the permissions, and as far as we may the owner and group, of the one that it replaces."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if not hasattr(os, "fchown"):
        return
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:
                # What one group was allowed, another is not: it gets no more than everybody.
                mode &= ~0o070 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def _new_neighbour(target: Path, mode: int) -> tuple[int, Path]:
    """Create an empty file beside the target, locked for as long as it is open."""
    while True:
        name = target.parent / f".{_stem(target)}.{_mark()}.part"
        descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), mode)
        if _is_claimed(descriptor, name):
            return descriptor, name
        os.close(descriptor)


def _new_folder(target: Path) -> tuple[Path, int | None]:
    """Make a folder beside the target, locked for as long as the descriptor is open."""
    while True:
        folder = target.parent / f".{_stem(target)}.packing-{_mark()}"
        os.mkdir(folder, 0o700)
        if fcntl is None:
            return folder, None
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY)
            if _is_claimed(descriptor, folder):
                return folder, descriptor
            os.close(descriptor)


def _is_claimed(descriptor: int, name: Path) -> bool:
    """Lock what was just made; another process may have taken it for a leftover before the lock was there."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.path.lexists(name)


def _stem(target: Path) -> str:
    """Return the target's name, or a digest where names derived from it would become too long."""
    name = os.fsencode(target.name)
    return target.name if len(name) <= _LONGEST_NAME else hashlib.sha256(name).hexdigest()[:32]


def _mark() -> str:
    return _machine() + secrets.token_hex(6)


@functools.cache
def _machine() -> str:
    """Return 8 digits for this machine: locks tell about processes here, and not about those elsewhere."""
    identity = platform.node()
    with suppress(OSError):
        identity += Path("/etc/machine-id").read_text(encoding="ascii", errors="replace")
    return hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:8]


# --- what killed runs left ---------------------------------------------------------------------------------------


def _leftovers(folder: Path, name: str | None = None) -> Iterator[tuple[Path, re.Match[str]]]:
    """Find what has the name of a file or folder under way, of one target or of any."""
    start = "." if name is None else f".{name}."
    with os.scandir(folder) as entries:
        found = sorted(entry.name for entry in entries if entry.name.startswith(start))
    for entry in found:
        match = _LEFTOVER.fullmatch(entry)
        if match and name in (None, match["name"]):
            yield folder / entry, match


def _sweep(target: Path) -> None:
    """Remove what killed runs left of this target. That it cannot be done is no reason not to write."""
    with suppress(OSError):
        for path, match in _leftovers(target.parent, _stem(target)):
            _is_removed(path, match)


def _is_removed(path: Path, match: re.Match[str]) -> bool:
    """Remove a leftover unless somebody may still write it. Links are never followed."""
    mark, is_folder = match["file"] or match["folder"], match["folder"] is not None
    flags = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) if is_folder else os.O_RDWR | getattr(os, "O_NONBLOCK", 0)
    try:
        found = os.lstat(path)
        if not (stat.S_ISDIR if is_folder else stat.S_ISREG)(found.st_mode) or not _is_ours(found):
            return False
        descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        if not os.path.samestat(found, os.fstat(descriptor)):
            return False
        locked = _try_lock(descriptor)
        known = locked and len(mark) == 20 and mark.startswith(_machine())
        if locked is False or not (known or time.time() - _last_written(path) > _FORGOTTEN_SECONDS):
            return False
        shutil.rmtree(path) if is_folder else os.unlink(path)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_ours(found: os.stat_result) -> bool:
    user = os.geteuid() if hasattr(os, "geteuid") else found.st_uid
    return user in (0, found.st_uid)


def _try_lock(descriptor: int) -> bool | None:
    """Tell whether nobody holds the lock; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _last_written(path: Path) -> float:
    """Return when a file, or anything in a folder, was last written."""
    newest = os.lstat(path).st_mtime
    for folder, folders, files in os.walk(path):
        newest = max([newest, *(os.lstat(os.path.join(folder, name)).st_mtime for name in folders + files)])
    return newest


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the file system name the path that the caller knows."""
    try:
        yield
    except FileWriteError:
        raise
    except OSError as error:
        raise FileWriteError(f"{path} cannot be written: {error.strerror or error}.") from None
