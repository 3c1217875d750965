"""From what people have (paths, data frames, Arrow streams, cursors) to sources."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kolmogorov._support.progress import notice
from kolmogorov.data.ids.vocabulary import Vocabulary
from kolmogorov.data.reading.columns import TableForm, usual_columns
from kolmogorov.data.reading.frames.arrow import ArrowSource, ParquetSource, is_arrow, is_parquet, opened_parquet
from kolmogorov.data.reading.frames.native import frame_of, with_index
from kolmogorov.data.reading.frames.sources import CursorSource, FrameSource, is_cursor
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.data.reading.source import Source
from kolmogorov.data.reading.text.file import WHITESPACE, TextFile
from kolmogorov.data.reading.text.source import SEPARATORS, TextSource, separator_of
from kolmogorov.errors import DataError

#: Usual names of columns of titles, and of ids.
TITLE_NAMES = ("title", "name", "label", "text", "description")
ID_NAMES = ("id", "key", "code")
#: Lines that are read together. By judgement.
_CHUNK = 4_096


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


def titled(vocabulary: Vocabulary, given: Any, what: str) -> Vocabulary:
    """Return the same ids with titles; `what` says whose they are.

    Parameters
    ----------
    vocabulary : Vocabulary
    given : dict, data frame, Arrow table, path or None
        Ids with their titles, compared as text: ids of a file may read as integers there and as texts here. An id
        without a title keeps the one that it had, or is its own.
    what : {"user", "item"}

    Examples
    --------
    >>> titled(Vocabulary.of([50, 64]), {"50": "Star Wars (1977)"}, "item").labels.tolist()
    ['Star Wars (1977)', '64']
    """
    if given is None:
        return vocabulary
    texts = texts_of(given, what)
    found = {i: texts[str(i)] for i in vocabulary.ids.tolist() if texts.get(str(i))}
    if len(vocabulary) and not found:
        theirs, ours = next(iter(texts), None), vocabulary.ids.item(0)
        came = f"they are for ids such as {theirs!r}" if theirs is not None else "there are none"
        raise DataError(f"No {what} has one of these titles: {came}, and the {what}s here are such as {ours!r}.")
    if vocabulary.labels is not None:
        found = dict(zip(vocabulary.ids.tolist(), vocabulary.labels.tolist(), strict=True)) | found
    if len(found) < len(vocabulary):
        notice(f"{len(found):,} of {len(vocabulary):,} {what}s have a title; the others go by their ids")
    return vocabulary.with_labels(found)


def texts_of(given: Any, what: str = "item") -> dict[str, str]:
    """Return titles by ids, both as texts."""
    return dict(_pairs(given, what))


def _pairs(given: Any, what: str) -> Iterator[tuple[str, str]]:
    """Yield ids and titles as texts, without those that have none."""
    if isinstance(given, Mapping):
        pairs: Any = given.items()
    elif isinstance(given, (str, os.PathLike)):
        pairs = _of_parquet(given) if is_parquet(given) else _of_text(given)
    elif (frame := frame_of(given)) is not None or (frame := _frame_of_arrow(given)) is not None:
        pairs = _of_frame(frame, "The titles")
    else:
        raise DataError(
            f"Titles of {what}s are a dictionary, a data frame of two columns or a file of them, got "
            f"{type(given).__name__}."
        )
    for identifier, title in pairs:
        if identifier is not None and title is not None and title == title:
            whole = isinstance(identifier, float) and identifier.is_integer()
            yield str(int(identifier) if whole else identifier), str(title)


def _of_frame(frame: Any, source: str) -> Iterator[tuple[Any, Any]]:
    known = [str(name) for name in frame.columns]
    if len(known) < 2:
        raise DataError(f"{source} must have two columns, an id and a text; there is {', '.join(known) or 'none'}.")
    first, second = (frame[:, at].to_list() for at in _positions(known) or (0, 1))
    return zip(first, second, strict=True)


def _positions(names: list[str]) -> tuple[int, int] | None:
    """Find id and title by their usual names; None where one of them has none."""
    plain = [name.strip().lower().replace("_", "").replace(" ", "") for name in names]
    title = next((k for name in TITLE_NAMES for k, found in enumerate(plain) if found.endswith(name)), None)
    others = ["" if k == title else name for k, name in enumerate(names)]
    usual = usual_columns(others)
    known = next((k for name in ID_NAMES for k, found in enumerate(plain) if found == name and k != title), None)
    identifier = usual.get("item", usual.get("user", known)) if known is None else known
    return None if title is None or identifier is None else (identifier, title)


def _frame_of_arrow(stream: Any) -> Any:
    if not is_arrow(stream):
        return None
    from pyarrow import RecordBatchReader

    return frame_of(RecordBatchReader.from_stream(stream).read_all())


def _of_parquet(path: Any) -> Iterator[tuple[Any, Any]]:
    with opened_parquet(path) as file:
        return _of_frame(frame_of(file.read()), str(path))


def _of_text(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    with TextFile(path) as file:
        line = file.first_line()
        if not line.strip():
            raise DataError(f"{file.name} is empty.")
        separator = _first_separator(line)
        # Quotes mean something only where a separator may stand between them.
        quoted = separator in (",", ";", "\t")
        header = _positions([field.strip() for field in file.fields(line, separator, quoted=quoted)])
        first, second = header or (0, 1)
        records = file.records(separator, quoted=quoted, most=1 if separator == WHITESPACE else -1)
        skip = header is not None
        while taken := file.take(records, _CHUNK):
            for record in taken:
                if skip and record:
                    skip = False
                elif len(record) > max(first, second):
                    yield record[first].strip(), record[second].strip()
                elif any(field.strip() for field in record):
                    raise DataError(
                        f"{file.name}: expected an id and a title in each line, got {separator.join(record)[:60]!r}."
                    )


def _first_separator(line: str) -> str:
    """Tell what stands after the first field; a title may hold any other of them."""
    places = {separator: line.find(separator) for separator in SEPARATORS if separator in line}
    return min(places, key=lambda separator: places[separator]) if places else separator_of(line)
