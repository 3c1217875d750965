"""A verb as a process: outputs are checked first, and a mistake ends in one sentence that speaks of its options."""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import stat
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from glob import glob
from typing import Any

import click

from kolmogorov._support.markup import shown
from kolmogorov._support.progress import is_silent, say
from kolmogorov.errors import KolmogorovError, KolmogorovWarning, ParameterError

DEBUG = "KOLMOGOROV_DEBUG"
INTERRUPTED = 130
STANDARD = "-"
#: Seconds of silence after which a verb says what it is doing, and the variable that says otherwise.
_PATIENCE, PATIENCE_VARIABLE = 2.0, "KOLMOGOROV_PATIENCE"
_TIMER = "kolmogorov.timer"
#: A parameter with its value, as Python writes it; values that a sentence shows are short.
_NAMED = re.compile(
    r"(?<![\w.])([a-z_]+)=(True|False|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\{[^}]*\}|-?\d+(?:\.\d+)?)?"
)
#: A parameter that a sentence begins with, after the class that it is of.
_SUBJECT = re.compile(r"^(?:\w+: )?('?)([a-z_]+)\1(?= (?:must|goes|is) )")
#: What the shell separates by commas.
_SEVERAL = ("missing", "ignore", "keep")
#: Parameters of `read_ratings` that have no option of their own: --set NAME=VALUE.
SETTABLE = ("weight", "sep", "header", "keep", "decimal", "thousands", "duplicates", "encoding")
#: The same of scales, which the data of a model have already.
OF_SCALES = ("minimum", "scaling", "scale")


class Verb(click.Command):
    """A command whose outputs are checked before it begins, and whose errors speak of its options."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with in_one_sentence(flags_of(self)):
                _check_outputs(ctx)
                doing("Loading libraries")
                return super().invoke(ctx)
        finally:
            doing(None)


def doing(words: str | None) -> None:
    """Note what the running verb does from here on: it is said on standard error if it takes more than two seconds."""
    context = click.get_current_context(silent=True)
    if context is None:
        return
    if _TIMER in context.meta:
        context.meta.pop(_TIMER).cancel()
    if words is not None:
        seconds = float(os.environ.get(PATIENCE_VARIABLE, _PATIENCE))
        timer = context.meta[_TIMER] = threading.Timer(seconds, lambda: None if is_silent() else say(f"{words} ..."))
        timer.daemon = True
        timer.start()


# --- files ------------------------------------------------------------------------------------------------------------


class Input(click.Path):
    """A file that the verb reads: a model, ratings, "-" for standard input, a folder or pattern, dataset:NAME."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what no file system takes; the rest is for whoever opens the file."""
        if "\0" in os.fspath(value):
            self.fail("a path cannot hold a NUL character.", param, ctx)
        return super().convert(value, param, ctx)


class ModelFile(Input):
    """A model that the verb reads. Where there is none, it is said before anything else is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse a file that is not there."""
        found = super().convert(value, param, ctx)
        if not os.path.exists(found):
            raise click.ClickException(f"There is no file {os.fspath(found)}.")
        return found


class Output(Input):
    """A file that the verb writes; it may take the place of a model that is read only where that is `updated`."""

    def __init__(self, *, updated: bool = False, folder: bool = False) -> None:
        super().__init__(dir_okay=folder)
        self.updated, self.folder = updated, folder


def _check_outputs(context: click.Context) -> None:
    """Refuse outputs that are inputs, or cannot be written; before any work."""
    from kolmogorov._support.writing import check_writable
    from kolmogorov.data.packed import is_table

    paths = [(parameter, context.params.get(parameter.name or "")) for parameter in context.command.params]
    given = [
        (parameter.type, os.fspath(path))
        for parameter, value in paths
        if value is not None and isinstance(parameter.type, Input)
        for path in (value if isinstance(value, tuple) else (value,))
    ]
    for kind, output in given:
        if not isinstance(kind, Output) or output == STANDARD:
            continue
        for other, path in given:
            if isinstance(other, Output) or (kind.updated and isinstance(other, ModelFile)):
                continue
            inside = glob(f"{path}/*.parquet") if os.path.isdir(path) else glob(path)
            if any(_is_same(source, output) for source in (path, *inside)):
                raise click.UsageError(f"{output} is an input of this command and would be overwritten.")
        if not (kind.folder and is_table(output)):
            check_writable(output)


def _is_same(source: str, output: str) -> bool:
    """Tell whether two names lead to one file; a device may be both read and written."""
    try:
        there = os.stat(output)
        read = os.fstat(sys.stdin.fileno()) if source == STANDARD else os.stat(source)
    except (OSError, ValueError, AttributeError):
        # What is not there cannot be lost; standard input may be closed, or no file.
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, read)


# --- errors and warnings ----------------------------------------------------------------------------------------------


def flags_of(command: click.Command) -> dict[str, str]:
    """Map the parameters of the library that a verb has options for to these options."""
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    flags = {str(option.name): max(option.opts, key=len) for option in options}
    if "more" in flags:
        names = (*SETTABLE, *OF_SCALES) if "maximum" in flags else SETTABLE
        flags |= {name: f"{flags['more']} {name}" for name in names}
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
    except click.ClickException as error:
        # Newer versions of click raise the help that was asked for by saying nothing.
        if type(error).__name__ != "NoArgsIsHelpError":
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
        fewer = f" Try a smaller {flags['n_events']}." if "n_events" in flags else ""
        return (
            f"Not enough memory{f' ({error})' if str(error) else ''}.{fewer} Or pack the data first with `kolmogorov "
            "data pack`: a packed table is not read into memory whole."
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"This is a bug in kolmogorov ({what.rstrip('.')}). Please report it, with the output of `kolmogorov doctor` "
        f"and of this command run again with {DEBUG}=1."
    )


def in_flags(sentence: str, flags: Mapping[str, str]) -> str:
    """Write parameters of Python that a sentence names, such as missing='NA', as the flags of a verb.

    Examples
    --------
    >>> flags = {"missing": "--missing", "map": "--map", "header": "--set header", "n_events": "--events"}
    >>> in_flags("Say missing='n a', header=False or map={'yes': 1}.", flags)
    "Say --missing 'n a', --set header=False or --map yes=1."
    >>> in_flags("KolmogorovModel: 'n_events' must be an integer >= 1, got 0.", flags)
    '--events must be an integer >= 1, got 0.'
    """

    def flag_of(found: re.Match[str]) -> str:
        name, text = found[1], found[2] or ""
        if name not in flags:
            return found[0]
        value = _in_words(name, text)
        if flags[name].endswith(f" {name}"):
            return f"{flags[name]}={'VALUE' if value is None else shlex.quote(value)}"
        return flags[name] if value is None or text == "True" else f"{flags[name]} {shlex.quote(value)}"

    sentence = _SUBJECT.sub(lambda found: flags.get(found[2], found[0]), sentence)
    return _NAMED.sub(flag_of, sentence.replace("unobserved='auto'", flags.get("implicit", "unobserved='auto'")))


def _in_words(name: str, text: str) -> str | None:
    """Return a value that a sentence shows as the shell writes it; None where there is none."""
    if text.startswith("{"):
        return ",".join(f"{word}={number}" for _, word, number in re.findall(r"(['\"])(.*?)\1: ([\w.-]+)", text))
    try:
        value = ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):
        value = None
    if value is None or name not in _SEVERAL:
        return None if value is None else str(value)
    return joined(value if isinstance(value, list) else [value])


def joined(values: Iterable[Any]) -> str:
    """Return what the shell separates by commas; what holds one is in quotes."""
    return ",".join(f'"{value}"' if "," in str(value) else str(value) for value in values)


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


# --- streams and signals ----------------------------------------------------------------------------------------------


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

    def leave(number: int, frame: Any) -> None:
        # A second signal, while cleaning up, is to end the process at once.
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    in_main = threading.current_thread() is threading.main_thread()
    caught = [signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)] if in_main else []
    replaced = [number for number in caught if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


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
