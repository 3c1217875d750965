"""A verb as a process: its output is checked first, and a mistake ends in one sentence in the words of the shell."""

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from kolmogorov._support.display import is_silent, say, shown
from kolmogorov.errors import FileWriteError, KolmogorovError, KolmogorovWarning, ParameterError

DEBUG = "KOLMOGOROV_DEBUG"
INTERRUPTED = 130
#: Seconds of silence after which a verb says what it is doing; KOLMOGOROV_PATIENCE says otherwise.
_PATIENCE = 2.0
_TIMER = "kolmogorov.timer"
#: A parameter with its value, as Python writes it; values that a sentence shows are short.
_NAMED = re.compile(
    r"(?<![\w.])([a-z_]+)=(True|False|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\{[^}]*\}|-?\d+(?:\.\d+)?)?"
)
#: A parameter that a sentence begins with, after the class that it is of.
_SUBJECT = re.compile(r"^(?:\w+: )?('?)([a-z_]+)\1(?= (?:must|goes|is) )")
#: Parameters of `read_ratings` without an option of their own: --set NAME=VALUE. The last three say what a scale is,
#: and a model has one.
SETTABLE = ["weight", "sep", "header", "decimal", "duplicates", "encoding"]
SETTABLE += ["minimum", "scaling", "scale"]


class Verbs(click.Group):
    """Ends every mistake with one sentence and a status."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which they are needed."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # UTF-8 in files and pipes whatever the locale; a terminal gets what it can show.
                own = stream.isatty() or "PYTHONIOENCODING" in os.environ
                stream.reconfigure(errors="replace", **({} if own else {"encoding": "utf-8"}))
        with _orderly_signals(), warnings.catch_warnings(), _in_one_sentence():
            if not sys.warnoptions:
                warnings.simplefilter("default", KolmogorovWarning)
            warnings.showwarning = lambda message, *_: None if is_silent() else say(message)
            return super().invoke(ctx)


class _Refused(click.ClickException):
    """What the library refuses ends a command as what click refuses."""

    exit_code = 2


class Verb(click.Command):
    """A command whose output is checked before it begins, and whose errors speak of its options."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            _check_output(ctx)
            doing("Loading libraries")
            found = super().invoke(ctx)
            if sys.stdout is not None:
                # A disk that is full is noticed here, and not when nobody listens any more.
                sys.stdout.flush()
            return found
        except KolmogorovError as error:
            kind = _Refused if isinstance(error, ParameterError) else click.ClickException
            raise kind(in_flags(str(error), self)) from None
        finally:
            doing(None)


def doing(words: str | None) -> None:
    """Note what the running verb does from here on: it is said on standard error if it takes more than two seconds."""
    context = click.get_current_context()
    if _TIMER in context.meta:
        context.meta.pop(_TIMER).cancel()
    if words is not None:
        seconds = float(os.environ.get("KOLMOGOROV_PATIENCE", _PATIENCE))
        timer = context.meta[_TIMER] = threading.Timer(seconds, lambda: None if is_silent() else say(f"{words} ..."))
        timer.daemon = True
        timer.start()


def _check_output(context: click.Context) -> None:
    """Refuse an output that is an input, or cannot be written, before any work; a model may be updated in its place."""
    from kolmogorov._support.outside import check_writable

    output = context.params.get("output")
    if output in (None, "-"):
        return
    for parameter in context.command.params:
        updated = context.info_name == "update" and parameter.name == "model"
        if isinstance(parameter.type, click.Path) and parameter.name != "output" and not updated:
            given = context.params[str(parameter.name)]
            if any(path and _is_same(path, output) for path in (given if isinstance(given, tuple) else [given])):
                raise click.UsageError(f"{output} is an input of this command and would be overwritten.")
    check_writable(output)


def _is_same(source: str, output: str) -> bool:
    """Tell whether two names lead to one file; a device may be both read and written."""
    try:
        there = os.stat(output)
        return stat.S_ISREG(there.st_mode) and os.path.samestat(there, os.stat(source))
    except (OSError, ValueError):
        return False


def standard_output() -> Any:
    """Return the stream, where there is one."""
    if sys.stdout is None:
        raise FileWriteError("Standard output is closed. Name a file with --output.")
    return sys.stdout


# --- errors -----------------------------------------------------------------------------------------------------------


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Turn whatever is raised inside the block into a sentence; names in it are shown and never interpreted."""
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
        raise click.ClickException(shown(_sentence(error))) from None


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return (
            f"Not enough memory{f' ({error})' if str(error) else ''}. Try a smaller --n-events, or pack the data first "
            "with `kolmogorov data pack`: a packed table is not read into memory whole."
        )
    if isinstance(error, OSError) and error.strerror:
        return f"{f'{error.filename}: ' if error.filename else ''}{error.strerror}."
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"This is a bug in kolmogorov ({what.rstrip('.')}). Please report it, with the output of `kolmogorov doctor` "
        f"and of this command run again with {DEBUG}=1."
    )


def in_flags(sentence: str, command: click.Command) -> str:
    """Write parameters of Python that a sentence names, such as missing='NA', as options of a verb.

    Examples
    --------
    >>> names = ("missing", "map", "n_events", "settings")
    >>> verb = click.Command("fit", params=[click.Option([f"--{name.replace('_', '-')}"]) for name in names])
    >>> in_flags("Say missing='n a', header=False or map={'yes': 1}.", verb)
    "Say --missing 'n a', --set header=False or --map yes=1."
    >>> in_flags("KolmogorovModel: 'n_events' must be an integer >= 1, got 0.", verb)
    '--n-events must be an integer >= 1, got 0.'
    """
    names = {option.name for option in command.params if isinstance(option, click.Option)}
    settable = [] if "settings" not in names else SETTABLE if "maximum" in names else SETTABLE[:-3]

    def flag(found: re.Match[str]) -> str:
        name, value = found[1], None if found[2] is None else shlex.quote(_in_words(found[1], found[2]))
        if name in names:
            return flag_of(name) if value in (None, "True") else f"{flag_of(name)} {value}"
        return f"--set {name}={value or 'VALUE'}" if name in settable else found[0]

    def subject(found: re.Match[str]) -> str:
        name = found[2]
        return flag_of(name) if name in names else f"--set {name}" if name in settable else found[0]

    return _NAMED.sub(flag, _SUBJECT.sub(subject, sentence.replace("unobserved='auto'", "implicit=True")))


def flag_of(name: str) -> str:
    """Return the option of a parameter."""
    return f"--{name.replace('_', '-')}"


def _in_words(name: str, value: str) -> str:
    """Return a value that Python writes as the shell does."""
    if value.startswith("{"):
        return ",".join(f"{word}={number}" for _, word, number in re.findall(r"(['\"])(.*?)\1: ([\w.-]+)", value))
    plain = ast.literal_eval(value)
    return joined(plain if isinstance(plain, list) else [plain]) if name in ("missing", "ignore") else str(plain)


def joined(values: Iterable[Any]) -> str:
    """Return what the shell separates by commas; what holds one is in quotes."""
    return ",".join(f'"{value}"' if "," in str(value) else str(value) for value in values)


@contextmanager
def _orderly_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a command as an error does, so that nothing is left lying about.

    What the process was told to ignore, as by nohup, it goes on ignoring.
    """

    def leave(number: int, frame: Any) -> None:
        # A second signal, while cleaning up, is to end the process at once.
        signal.signal(number, signal.SIG_DFL)
        sys.exit(128 + number)

    in_main = threading.current_thread() is threading.main_thread()
    caught = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)} if in_main else set()
    replaced = [number for number in caught if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)
