"""Files that are either whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that takes its name only when the block ends without an error.

    The bytes go to a neighbour in the same directory, are flushed to the disk, and replace `path` in one
    step. Whatever stood there before stays untouched until then.
    """
    target = Path(path)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _new_file_mode())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _new_file_mode() -> int:
    """Return the permissions an ordinary new file gets; mkstemp gives narrower ones."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
