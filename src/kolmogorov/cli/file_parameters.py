"""What a verb reads and what it writes: no output may be one of the inputs, by whatever name."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

DATASET = "dataset:"
STANDARD = "-"


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


class Successor(Output):
    """A model that the verb writes, which may take the place of the one that it reads: the file is replaced whole."""


class OutputFolder(_File):
    """A folder into which the verb writes files of its own names."""

    def __init__(self) -> None:
        super().__init__(file_okay=False)


def check_targets(context: click.Context) -> None:
    """Refuse outputs that are inputs, or each other, or cannot be written; before any work."""
    from kolmogorov._support.files import check_writable

    outputs = list(_values(context, Output))
    replaceable = {flag for flag, _ in _values(context, Successor)}
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
    from kolmogorov.data.datasets.movielens import data_directories

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
