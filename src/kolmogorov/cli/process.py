"""The command as a process: its streams, its signals, and how it ends when something went wrong.

A mistake ends in one sentence that says what to do, and a status.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from kolmogorov._support.markup import shown
from kolmogorov._support.progress import is_silent, say
from kolmogorov.errors import KolmogorovError, KolmogorovWarning, ParameterError

DEBUG = "KOLMOGOROV_DEBUG"
INTERRUPTED = 130
#: Newer versions of click raise the help that was asked for by saying nothing.
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
#: A parameter with its value, as Python writes it; values that a sentence shows are short.
_NAMED = re.compile(
    r"(?<![\w.])([a-z_]+)=(True|False|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\{[^}]*\}|-?\d+(?:\.\d+)?)?"
)
#: A parameter that a sentence begins with, after the class that it is of.
_SUBJECT = re.compile(r"^(?:\w+: )?('?)([a-z_]+)\1(?= (?:must|goes|is) )")
_LONGEST = 2_000
#: What the shell separates by commas.
_SEVERAL = ("missing", "ignore", "keep")
#: Names in the library of what a verb calls otherwise, or a name with the value that a flag stands for.
_IN_THE_LIBRARY = {
    "events": "n_events",
    "seed": "random_state",
    "jobs": "n_jobs",
    "chains": "n_chains",
    "samples": "n_samples",
    "top": "n",
    "implicit": "unobserved='auto'",
    "everything": "supported=False",
    "antecedents": "max_antecedents",
    "folds": "k",
}


def flags_of(command: click.Command) -> dict[str, str]:
    """Map the parameters of the library that a verb has options for to these options."""
    flags: dict[str, str] = {}
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name:
            flag = max(parameter.opts, key=len)
            flags[parameter.name] = flag
            if parameter.secondary_opts:
                flags[f"no {parameter.name}"] = parameter.secondary_opts[0]
            flags[_IN_THE_LIBRARY.get(parameter.name, parameter.name)] = flag
    return flags


class _WrongValue(click.ClickException):
    """A value that the library refuses ends a command as one that click refuses."""

    exit_code = 2


@contextmanager
def in_one_sentence(flags: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn whatever is raised inside the block into a sentence; names in it are shown and never interpreted.

    Parameters of the library are called by the `flags` of the verb.
    """
    try:
        yield
    except (click.exceptions.Exit, click.Abort, BrokenPipeError, SystemExit, GeneratorExit):
        raise
    except _HELP:
        raise
    except click.ClickException as error:
        error.message = shown(error.message)  # type: ignore[misc]
        raise
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    except BaseException as error:  # asyncio's CancelledError is no Exception
        kind = _WrongValue if isinstance(error, ParameterError) else click.ClickException
        raise kind(shown(_sentence(error, flags or {}))) from None


def _sentence(error: BaseException, flags: Mapping[str, str]) -> str:
    if isinstance(error, KolmogorovError):
        return in_flags(str(error), flags)
    if isinstance(error, MemoryError):
        return _out_of_memory(error, flags)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return _unforeseen(error)


def _read(text: str) -> Any:
    """Return a value that a sentence shows; a map as the shell writes it."""
    if text.startswith("{"):
        return ",".join(f"{word}={number}" for _, word, number in re.findall(r"(['\"])(.*?)\1: ([\w.-]+)", text))
    try:
        value = ast.literal_eval(text) if text and len(text) < _LONGEST else None
    except (ValueError, SyntaxError):
        return None
    return value


def _joined(values: Iterable[Any]) -> str:
    """Return what the shell separates by commas; what holds one is in quotes."""
    return ",".join(f'"{value}"' if "," in str(value) else str(value) for value in values)


def in_flags(sentence: str, flags: Mapping[str, str]) -> str:
    """Write parameters of Python that a sentence names, such as missing='NA', as the flags of a verb.

    Examples
    --------
    >>> in_flags("Say missing='n a', header=False or map={'yes': 1}.", {"missing": "--missing", "map": "--map"})
    "Say --missing 'n a', header=False or --map yes=1."
    >>> in_flags("KolmogorovModel: 'n_events' must be an integer >= 1, got 0.", {"n_events": "--events"})
    '--events must be an integer >= 1, got 0.'
    """

    def flag_of(found: re.Match[str]) -> str:
        if found[0] in flags:
            return flags[found[0]]
        name, text = found[1], found[2] or ""
        value = _read(text)
        if name in _SEVERAL and value is not None:
            value = _joined(value if isinstance(value, list) else [value])
        flag = flags.get(f"no {name}") if value is False else flags.get(name)
        if flag is None:
            return found[0]
        return flag if value is None or isinstance(value, bool) else f"{flag} {shlex.quote(str(value))}"

    sentence = _SUBJECT.sub(lambda found: flags.get(found[2], found[0]), sentence)
    return _NAMED.sub(flag_of, sentence)


def _out_of_memory(error: MemoryError, flags: Mapping[str, str]) -> str:
    asked = f" ({error})" if str(error) else ""
    events = flags.get("n_events")
    return (
        f"Not enough memory{asked}.{f' Try a smaller {events}.' if events else ''} "
        "Or pack the data first with `kolmogorov data pack`: a packed table is not read into memory whole."
    )


def _unforeseen(error: BaseException) -> str:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"This is a bug in kolmogorov ({what.rstrip('.')}). Please report it, with the output of `kolmogorov doctor` "
        f"and of this command run again with {DEBUG}=1."
    )


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
                say(in_flags(str(message), {} if context is None else flags_of(context.command)))

        if not sys.warnoptions:
            warnings.simplefilter("default", KolmogorovWarning)
        warnings.showwarning = show
        yield
