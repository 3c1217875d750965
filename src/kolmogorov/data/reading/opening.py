"""From what people have (paths, data frames, Arrow streams) to sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kolmogorov.data.reading.arraylike import frame_of
from kolmogorov.data.reading.arrow import ArrowSource, ParquetSource, is_arrow, is_parquet
from kolmogorov.data.reading.frames import FrameSource
from kolmogorov.data.reading.layout import FileFormat, Pick, pick_columns
from kolmogorov.data.reading.source import Source
from kolmogorov.data.reading.text import TextSource
from kolmogorov.errors import DataError


def sources_of(given: Any, form: FileFormat) -> list[Source]:
    """Return a source for each path, data frame or Arrow stream; a directory stands for the parquet files in it.

    Several together are one table.
    """
    single = _is_path(given) or isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable)
    things = [given] if single or _is_table(given) else list(given)
    sources: list[Source] = []
    for thing in things:
        if _is_path(thing):
            sources += [file_source(path, form) for path in _files(thing)]
            continue
        source = table_source(thing, partial(pick_columns, wanted=form.columns, source="The table"))
        if source is None:
            kind = type(thing).__name__
            raise DataError(f"Expected paths, data frames or Arrow streams, got {kind}.")
        sources.append(source)
    if not sources:
        raise DataError("There are no files to read.")
    if [str(thing) for thing in things if _is_path(thing)].count("-") > 1:
        raise DataError("Standard input can be read once only.")
    return sources


def file_source(path: str | os.PathLike[str], form: FileFormat) -> Source:
    """Choose the reader for a file."""
    if is_parquet(path):
        return ParquetSource(path, partial(pick_columns, wanted=form.columns, source=str(path)))
    return TextSource(path, form)


def table_source(thing: Any, pick: Pick) -> Source | None:
    """Choose the reader for a data frame or an Arrow stream; None for everything else."""
    if type(thing).__name__ == "LazyFrame" and hasattr(thing, "collect"):
        thing = thing.collect()
    # Arrow's own tables are read without the detour through Python objects.
    frame = None if type(thing).__module__.startswith("pyarrow") else frame_of(thing)
    if frame is not None:
        return FrameSource(frame, pick)
    return ArrowSource(thing, pick) if is_arrow(thing) else None


def _is_path(thing: Any) -> bool:
    return isinstance(thing, (str, os.PathLike))


def _is_table(thing: Any) -> bool:
    return is_arrow(thing) or hasattr(thing, "columns") or type(thing).__name__ == "LazyFrame"


def _files(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    inside = sorted(Path(path).glob("*.parquet")) if Path(path).is_dir() else []
    return [*inside] or [path]
