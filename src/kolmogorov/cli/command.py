"""What all verbs have in common: what they read and write is checked first, and errors name their own options."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from kolmogorov._support.progress import is_silent, say
from kolmogorov.cli.process import flags_of, in_one_sentence

F = TypeVar("F", bound=Callable[..., Any])
DATASET = "dataset:"
STANDARD = "-"
_FORCE = "kolmogorov.force"
_SAFE_CELLS = "kolmogorov.safe_cells"
_TIMER = "kolmogorov.timer"
#: Seconds of silence after which a verb says what it is doing, and the variable that says otherwise.
_PATIENCE, PATIENCE_VARIABLE = 2.0, "KOLMOGOROV_PATIENCE"


class Verb(click.Command):
    """A command whose outputs are checked before it begins, and whose errors speak of its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what is written behind the verb; a word too many may be meant for an option."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            has_data = any("--data" in parameter.opts for parameter in self.params)
            if "unexpected extra argument" in error.message and has_data:
                error.message = f"{error.message.rstrip('.')}. Did you mean it for --data?"  # type: ignore[misc]
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from kolmogorov._support.writing import READ_ONLY_TOO

        force = READ_ONLY_TOO.set(bool(ctx.meta.get(_FORCE)))
        try:
            with in_one_sentence(flags_of(self)):
                _check_safe_cells(ctx)
                check_targets(ctx)
                doing("Loading libraries")
                return super().invoke(ctx)
        finally:
            doing(None)
            READ_ONLY_TOO.reset(force)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the options, those of a group under its title."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                groups.setdefault(getattr(parameter, "group", "Options"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def grouped(title: str, *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options, in this order, which the help lists under a title of their own."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
            function.__click_params__[-1].group = title  # type: ignore[attr-defined]
        return function

    return add


def doing(words: str | None) -> None:
    """Note what the running verb does from here on: it is said on standard error if it takes more than two seconds."""
    context = click.get_current_context(silent=True)
    if context is None:
        return
    if _TIMER in context.meta:
        context.meta.pop(_TIMER).cancel()
    if words is not None:
        seconds = float(os.environ.get(PATIENCE_VARIABLE, _PATIENCE))
        timer = context.meta[_TIMER] = threading.Timer(seconds, _tell, [words])
        timer.daemon = True
        timer.start()


def _tell(words: str) -> None:
    if not is_silent():
        say(f"{words} ...")


def _check_safe_cells(context: click.Context) -> None:
    """Refuse --safe-cells where nothing would come of it."""
    chosen = chosen_format(context.params.get("form", "csv"), context.params.get("output"))
    if context.meta.get(_SAFE_CELLS) and chosen != "csv":
        raise click.UsageError(f"--safe-cells works only with CSV, but the output is {chosen}. Add --format csv.")


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[f"kolmogorov.{parameter.name}"] = value


def force_option(function: F) -> F:
    """Add --force, which lets a read-only file be replaced."""
    return click.option(
        "--force",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="Replace the output even if it is read-only.",
    )(function)


def safe_cells_option(function: F) -> F:
    """Add --safe-cells, for CSV that is going to be opened in a spreadsheet."""
    return click.option(
        "--safe-cells",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="In CSV, put ' before cells that a spreadsheet would run as a formula.",
    )(function)


def chosen_format(form: str, output: str | None) -> str:
    """Return what is written: into a file, "table" becomes csv, or json where the file is called so."""
    if form != "table" or output is None:
        return form
    return "json" if output.lower().endswith(".json") else "csv"


def wants_safe_cells() -> bool:
    """Tell whether the running verb was given --safe-cells."""
    context = click.get_current_context(silent=True)
    return bool(context and context.meta.get(_SAFE_CELLS))


# --- files ------------------------------------------------------------------------------------------------------------


class _File(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what no file system takes; the rest is for whoever opens the file."""
        if "\0" in os.fspath(value):
            self.fail("a path cannot hold a NUL character.", param, ctx)
        return super().convert(value, param, ctx)


class Input(_File):
    """A file that the verb reads: a model, ratings, "-" for standard input, a folder or pattern, dataset:NAME."""

    def __init__(self, *, dir_okay: bool = False) -> None:
        super().__init__(dir_okay=dir_okay)


class ModelFile(Input):
    """A model that the verb reads. Where there is none, it is said before anything else is done."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse a file that is not there."""
        found = super().convert(value, param, ctx)
        if not os.path.exists(found):
            raise click.ClickException(f"There is no file {os.fspath(found)}.")
        return found


class DatasetName(click.types.StringParamType):
    """The name of a dataset, whose files the verb reads."""


class Output(_File):
    """A file that the verb writes."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)


class Table(Output):
    """A packed table that the verb writes: a folder, which may take the place of another one."""

    def __init__(self) -> None:
        _File.__init__(self, dir_okay=True)


class Successor(Output):
    """A model that the verb writes, which may take the place of the one that it reads: the file is replaced whole."""


def check_targets(context: click.Context) -> None:
    """Refuse outputs that are inputs, or each other, or cannot be written; before any work."""
    from kolmogorov._support.writing import check_writable
    from kolmogorov.data.packed import is_table

    outputs = list(_values(context, Output))
    replaceable = {flag for flag, _ in _values(context, Successor)}
    tables = {flag for flag, _ in _values(context, Table)}
    models = {path for _, path in _values(context, ModelFile)}
    for flag, output in outputs:
        for source in _sources(context):
            if _is_same(source, output) and not (flag in replaceable and source in models):
                where = "on standard input" if source == STANDARD else f"as {source}"
                raise click.UsageError(
                    f"{output} is an input of this command ({where}) and would be overwritten. "
                    f"Choose another name for {flag}."
                )
        for other, taken in outputs:
            if other < flag and os.path.realpath(taken) == os.path.realpath(output):
                raise click.UsageError(
                    f"{output} cannot be both {other} and {flag}. Choose another name for one of them."
                )
        if not (is_table(output) and flag in tables):
            check_writable(output)


def _values(context: click.Context, kind: type[Any]) -> Iterator[tuple[str, str]]:
    """Yield the given paths of a kind, with the options or arguments that they were given as."""
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if not isinstance(parameter.type, kind) or value is None:
            continue
        name = max(parameter.opts, key=len)
        for path in value if isinstance(value, tuple) else (value,):
            if not issubclass(kind, Output) or path != STANDARD:
                yield name, os.fspath(path)


def _sources(context: click.Context) -> Iterator[str]:
    """Yield the files that the verb is going to read."""
    for _, name in _values(context, DatasetName):
        yield from _files_of_dataset(name)
    for _, path in _values(context, Input):
        if path.startswith(DATASET):
            yield from _files_of_dataset(path.removeprefix(DATASET))
        elif os.path.isdir(path):
            yield from map(str, Path(path).glob("*.parquet"))
        else:
            yield path
            yield from _matches(path)


def _matches(pattern: str) -> list[str]:
    from glob import glob, has_magic

    return glob(pattern) if has_magic(pattern) else []


def _files_of_dataset(name: str) -> Iterator[str]:
    from kolmogorov.data.datasets import data_directories

    for directory in data_directories():
        for folder, _, files in os.walk(directory / name):
            yield from (os.path.join(folder, file) for file in files)


def _is_same(source: str, output: str) -> bool:
    """Tell whether two names lead to one file; a device may be both read and written."""
    try:
        there = os.stat(output)
        read = os.fstat(sys.stdin.fileno()) if source == STANDARD else os.stat(source)
    except (OSError, ValueError, AttributeError):
        # What is not there cannot be lost; standard input may be closed, or no file.
        return False
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, read)
