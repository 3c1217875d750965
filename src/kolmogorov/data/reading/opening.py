"""From what people have (paths, data frames, Arrow streams, cursors) to sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kolmogorov.data.reading.columns import TableForm
from kolmogorov.data.reading.frames.arrow import ArrowSource, ParquetSource, is_arrow, is_parquet
from kolmogorov.data.reading.frames.native import frame_of, with_index
from kolmogorov.data.reading.frames.sources import CursorSource, FrameSource, is_cursor
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.source import Source
from kolmogorov.data.reading.text.source import TextSource
from kolmogorov.errors import DataError


def sources_of(given: Any, options: ReadingOptions) -> list[Source]:
    """Return a source for each path, data frame, Arrow stream or cursor.

    A directory stands for the parquet files in it; several sources together are one table.
    """
    single = _is_path(given) or isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable)
    things = [given] if single or _is_table(given) else list(given)
    sources: list[Source] = []
    for thing in things:
        if _is_path(thing):
            sources += [file_source(path, options) for path in _files(thing)]
            continue
        source = table_source(thing, TableForm(options))
        if source is None:
            kind = type(thing).__name__
            raise DataError(f"Expected paths, data frames, Arrow streams or cursors of a database, got {kind}.")
        sources.append(source)
    if not sources:
        raise DataError("There are no files to read.")
    if [str(thing) for thing in things if _is_path(thing)].count("-") > 1:
        raise DataError("Standard input can be read once only.")
    return sources


def file_source(path: str | os.PathLike[str], options: ReadingOptions) -> Source:
    """Choose the reader for a file."""
    return ParquetSource(path, TableForm(options, str(path))) if is_parquet(path) else TextSource(path, options)


def frame_source(frame: Any, options: ReadingOptions) -> Source:
    """Return the source of one table whose columns go by their names."""
    source = table_source(frame, TableForm(options, "The frame", exact=True))
    if source is None:
        raise DataError(
            f"Expected a pandas, polars or pyarrow table, or an Arrow stream, got {type(frame).__name__}. "
            "For arrays use from_arrays, from_scipy or from_dense."
        )
    return source


def table_source(thing: Any, form: TableForm) -> Source | None:
    """Choose the reader for a data frame, an Arrow stream or a cursor; None for everything else."""
    if _is_lazy(thing):
        # Only the columns that are needed are computed.
        thing = thing.select(form.projected(thing.collect_schema().names())[0]).collect()
    # Arrow's own tables are read without the detour through Python objects.
    if form.options.wide and form.options.user is None:
        thing = with_index(thing)
    frame = None if type(thing).__module__.startswith("pyarrow") else frame_of(thing)
    if frame is not None:
        return FrameSource(frame, form)
    if is_arrow(thing):
        return ArrowSource(thing, form)
    return CursorSource(thing, form) if is_cursor(thing) else None


def _is_path(thing: Any) -> bool:
    return isinstance(thing, (str, os.PathLike))


def _is_lazy(thing: Any) -> bool:
    return type(thing).__name__ == "LazyFrame" and hasattr(thing, "collect")


def _is_table(thing: Any) -> bool:
    return is_arrow(thing) or is_cursor(thing) or hasattr(thing, "columns") or _is_lazy(thing)


def _files(path: str | os.PathLike[str]) -> list[Path | str | os.PathLike[str]]:
    folder = Path(path)
    if "\0" in str(path) or not folder.is_dir():
        return [path]
    inside: list[Path | str | os.PathLike[str]] = [*sorted(file for file in folder.iterdir() if is_parquet(file))]
    if not inside:
        raise DataError(
            f"{path} is a directory, and there are no parquet files in it. Name the files to be read, or one of them."
        )
    return inside
