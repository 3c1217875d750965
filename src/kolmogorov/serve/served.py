"""The model that is served, and how another one takes its place without a request that fails."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kolmogorov.errors import DataError, KolmogorovError
from kolmogorov.models.loading import load
from kolmogorov.serve.answers import warmed

LOG = logging.getLogger("kolmogorov.serve")
#: What loading may end with where a file is rubbish, half of one, or none.
UNLOADABLE = (KolmogorovError, OSError, MemoryError, ValueError)
#: Seconds for the thread that looks at the file to end.
_PATIENCE = 5.0


@dataclass(frozen=True, eq=False)
class Served:
    """A model that answers; a request keeps the one that it began with."""

    model: Any
    #: A digest of the file.
    tag: str
    #: Seconds since 1970.
    since: float


class Holder:
    """Holds the model that is served, and looks whether its file has changed.

    A new file is loaded and tried beside the old model, which answers until then. Where that fails the old one goes on,
    and `problem` says why.
    """

    def __init__(self, path: str, titles: str | None = None) -> None:
        self.path, self._titles = Path(path), titles
        self._seen = _looks(self.path)
        self.current = self._loaded()
        self.problem: str | None = None
        self.swaps = 0
        self._look_now, self._end = threading.Event(), threading.Event()
        self._watcher: threading.Thread | None = None

    def watch(self, pause: float) -> None:
        """Look at the file again and again from a thread, until `close`."""

        def work() -> None:
            while not self._end.is_set():
                asked = self._look_now.wait(pause)
                self._look_now.clear()
                if not self._end.is_set():
                    self._looked(asked)

        self._watcher = threading.Thread(target=work, name="model file", daemon=True)
        self._watcher.start()

    def look_now(self) -> None:
        """Have the file read again soon, changed or not."""
        self._look_now.set()

    def close(self) -> None:
        """End the thread."""
        self._end.set()
        self._look_now.set()
        if self._watcher is not None:
            # A file may take long to load. The thread ends with the process at the latest.
            self._watcher.join(_PATIENCE)

    def _looked(self, again: bool) -> None:
        """Look, whatever comes of it: a thread that ends would leave the old model there for ever, and tell nobody."""
        try:
            self.look(again=again)
        except Exception as error:
            # What it says may hold anything, so that only its kind is told.
            LOG.error("looking at the model file failed: %s", type(error).__name__)
            self.problem = (
                f"An unexpected error ({type(error).__name__}) came up while the file was looked at, so the old model "
                "is served."
            )

    def look(self, *, again: bool = False) -> bool:
        """Take over the file where it has changed; tell whether the model is another."""
        seen = _looks(self.path)
        if seen == self._seen and not again:
            return False
        self._seen = seen
        try:
            found = self._loaded()
        except UNLOADABLE as error:
            why = _without_folders(str(error), self.path, self._titles)
            self.problem = f"The file has changed and could not be loaded, so the old model is served: {why}"
            return False
        self.problem = None
        if found.tag == self.current.tag:
            return False
        self.current = found
        self.swaps += 1
        return True

    def _loaded(self) -> Served:
        tag = _digest(self.path)
        model = load(self.path).with_titles(items=self._titles)
        # A file that was replaced in between belongs to neither: the next look finds it.
        return Served(warmed(model), tag, time.time())


def awaited(path: str, titles: str | None, pause: float) -> Holder:
    """Return a holder as soon as the file can be loaded."""
    said = ""
    while True:
        try:
            return Holder(path, titles)
        except UNLOADABLE as error:
            if str(error) != said:
                LOG.info("waiting for a model: %s", error)
            said = str(error)
            time.sleep(pause)


def _looks(path: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced or written to; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _without_folders(sentence: str, *paths: str | Path | None) -> str:
    """Return a sentence that names files but not where they lie: /health is open to everybody."""
    for path in paths:
        if path is not None:
            for form in (str(path), os.path.abspath(path), os.path.realpath(path)):
                sentence = sentence.replace(form, Path(path).name)
    return sentence


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    # Opening a pipe would wait for somebody who writes into it.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise DataError(f"{path} is no regular file.")
        read: Callable[[], bytes] = lambda: file.read(1 << 20)  # noqa: E731
        for block in iter(read, b""):
            digest.update(block)
    return digest.hexdigest()[:32]
