"""The command as a process: its streams, its signals, and warnings on their way to the terminal."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from kolmogorov._support.progress import is_silent, say
from kolmogorov._support.wording import worded
from kolmogorov.cli.command import flags_of
from kolmogorov.errors import KolmogorovWarning


def prepare_streams() -> None:
    """Write UTF-8 to files and pipes whatever the locale; a terminal gets what it can show."""
    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure"):
            continue
        stream.reconfigure(errors="replace")
        if not stream.isatty() and not os.environ.get("PYTHONIOENCODING"):
            stream.reconfigure(encoding="utf-8")


@contextmanager
def orderly_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as an error does, so that nothing is left lying about.

    What the process was told to ignore, as by nohup, it goes on ignoring.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: Any) -> None:
        # A second signal, while cleaning up, is to end the process at once.
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    caught = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in caught}
    replaced = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, before[number])


@contextmanager
def first_interrupt(tell: Callable[[str], None]) -> Iterator[threading.Event]:
    """Let the first Ctrl-C only be noted, so that a fit on a cluster ends after its sweep; the second raises.

    An exception out of nowhere can be lost in a cluster's client, where much happens while objects are deleted.
    """
    stopping = threading.Event()

    def note(number: int, frame: Any) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        tell("Stopping after this sweep. Press Ctrl-C again to stop now.")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show the library's own warnings as one line each; Python's options -W and PYTHONWARNINGS keep their say."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, KolmogorovWarning):
                usual(message, category, *place, **more)
            elif not is_silent():
                context = click.get_current_context(silent=True)
                say(worded(message.args[0], None if context is None else flags_of(context.command)))

        if not sys.warnoptions:
            warnings.simplefilter("default", KolmogorovWarning)
        warnings.showwarning = show
        yield
