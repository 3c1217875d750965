"""How a command ends when something went wrong: one sentence that says what to do, and a status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from kolmogorov._support.wording import Flags, shown, worded
from kolmogorov.errors import KolmogorovError, ParameterError

DEBUG = "KOLMOGOROV_DEBUG"
INTERRUPTED = 130
#: Newer versions of click raise the help that was asked for by saying nothing.
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class _WrongValue(click.ClickException):
    """A value that the library refuses ends a command as one that click refuses."""

    exit_code = 2


@contextmanager
def in_one_sentence(flags: Flags = None) -> Iterator[None]:
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
        raise kind(shown(_sentence(error, flags))) from None


def _sentence(error: BaseException, flags: Flags) -> str:
    if isinstance(error, KolmogorovError):
        return worded(error.args[0], flags) if error.args else str(error)
    if isinstance(error, MemoryError):
        return _out_of_memory(error, flags)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return _unforeseen(error)


def _out_of_memory(error: MemoryError, flags: Flags) -> str:
    asked = f" ({error})" if str(error) else ""
    events = (flags or {}).get("n_events")
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
