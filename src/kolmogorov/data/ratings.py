"""`read_ratings` and `pack`: ratings of almost any make, into memory or into a packed table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kolmogorov._support.files import check_writable
from kolmogorov._support.progress import notice
from kolmogorov._support.validation import byte_count
from kolmogorov.data.observations import Observations
from kolmogorov.data.options import Duplicates, ReadingOptions
from kolmogorov.data.packed.packing import BYTES_PER_RECORD, Tell, pack_parts, pack_sources
from kolmogorov.data.reading.gathering import TableParts, gathered
from kolmogorov.data.reading.layout import Column, FileFormat, Header
from kolmogorov.data.reading.opening import sources_of
from kolmogorov.data.reading.source import Source
from kolmogorov.data.trainable import check_any
from kolmogorov.errors import FileWriteError, ParameterError

_LEAST_MEMORY = 1 << 24


def read_ratings(
    source: Any,
    *,
    user: Column = None,
    item: Column = None,
    value: Column = None,
    weight: Column = None,
    sep: str = "auto",
    header: Header = "auto",
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "max",
    duplicates: Duplicates = "error",
    encoding: str = "utf-8",
) -> Observations:
    """Read files, or other sources, of (user, item, rating) records.

    Takes comma, tab, semicolon, ``::`` and whitespace separated text, with or without a header, plain or
    compressed (.gz, .xz, .bz2, .zip), and parquet with the extra ``parquet``. Ids in text that are all integers
    become integers, otherwise they stay strings.

    Parameters
    ----------
    source : path, data frame or Arrow stream, or several of them
        "-" reads standard input, a directory stands for the parquet files in it. Several together are one table.
    user, item, value, weight : str or int, optional
        Columns by name or by position from 0. By default user, item and value are found by their usual
        names, else they are the first three columns; there is no weight.
    sep : str
        The separator; "auto" looks at the first line, "whitespace" splits at runs of blanks.
    header : bool or "auto"
        Whether the first line names the columns; "auto" says so where it holds usual names or no number.
    minimum, maximum, scaling, duplicates
        As in `Observations.from_arrays`.
    encoding : str
        Of a text file.

    Returns
    -------
    Observations

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "ratings.csv")
    >>> _ = path.write_text("userId,movieId,rating\\n1,10,4.5\\n1,20,5\\n2,10,0.5\\n")
    >>> read_ratings(path)
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    form = FileFormat({"user": user, "item": item, "value": value, "weight": weight}, sep, header, encoding)
    options = ReadingOptions(minimum, maximum, scaling, duplicates)
    observations = Observations(*gathered(sources_of(source, form), options))
    return _announced(observations, source if isinstance(source, (str, os.PathLike)) else "ratings", options)


def pack(
    source: Any,
    out: str | os.PathLike[str],
    *,
    memory: int | str = "1GB",
    user: Column = None,
    item: Column = None,
    value: Column = None,
    weight: Column = None,
    sep: str = "auto",
    header: Header = "auto",
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "max",
    duplicates: Duplicates = "error",
    encoding: str = "utf-8",
    progress: Tell | None = None,
) -> Observations:
    """Write whatever `read_ratings` takes, or observations, to a packed table, and map it.

    Parameters
    ----------
    source : path, data frame or Arrow stream, several of them, or Observations
        As in `read_ratings`; what comes as a stream is never in memory as a whole.
    out : path
        The table, usually ``*.kmt``. It takes this name when it is whole.
    memory : int or str
        Bytes for sorting, at least 16 MiB, or text such as "500MB". Ids are kept in memory besides, and the ratings of
        one user, or of one item, are always sorted together.
    user, item, value, weight, sep, header, minimum, maximum, scaling, duplicates, encoding
        As in `read_ratings`, for all sources.
    progress : callable, optional
        Called with a stage ("reading", "sorting by user", "sorting by item"), how much of it is done, and how much
        there is, in sources and then in records.

    Returns
    -------
    Observations
        The table, mapped; the same as `Observations.open(out)`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "1.csv").write_text("user,item,rating\\nann,tea,5\\nbob,tea,4\\nann,rum,1\\n")
    >>> pack(folder / "1.csv", folder / "drinks.kmt", maximum=5)
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    form = FileFormat({"user": user, "item": item, "value": value, "weight": weight}, sep, header, encoding)
    options = ReadingOptions(minimum, maximum, scaling, duplicates)
    limit = max(byte_count(memory, "memory"), _LEAST_MEMORY) // BYTES_PER_RECORD
    check_writable(out)
    if isinstance(source, Observations):
        if options != ReadingOptions() or any(column is not None for column in form.columns.values()):
            raise ParameterError("Observations have their columns and their scale; these options are for files.")
        check_any(source, "to pack")
        pack_parts(TableParts(source.users, source.items, source.rows, source.scale), source.columns, out)
        return Observations.open(out, verify=False)
    sources = sources_of(source, form)
    _refuse_to_overwrite(sources, out)
    pack_sources(sources, out, options, limit, progress)
    return _announced(Observations.open(out, verify=False), out, options)


def _announced(observations: Observations, name: Any, options: ReadingOptions) -> Observations:
    if options.maximum is None:
        notice(f"{name}: maximum taken as {observations.maximum:g}, so {observations.scale}")
    return observations


def _refuse_to_overwrite(sources: list[Source], out: Any) -> None:
    paths = (Path(source.path) for source in sources if hasattr(source, "path"))
    if Path(out).exists() and any(path.exists() and os.path.samefile(path, out) for path in paths):
        raise FileWriteError(f"{out} is one of the files to be packed. Choose another name for the table.")
