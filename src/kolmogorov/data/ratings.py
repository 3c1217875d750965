"""`read_ratings` and `pack`: ratings of almost any make, into memory or into a packed table."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from kolmogorov._support.files import check_writable
from kolmogorov._support.progress import notice
from kolmogorov._support.validation import byte_count
from kolmogorov.data.numbers.scale import Scale
from kolmogorov.data.packed.packing import BYTES_PER_RECORD, Tell, pack_parts, pack_sources
from kolmogorov.data.reading.gathering import TableParts, gathered
from kolmogorov.data.reading.opening import sources_of, texts_of, titled
from kolmogorov.data.reading.options import ReadingKeywords, ReadingOptions, taking
from kolmogorov.data.reading.source import Source
from kolmogorov.data.table.observations import Observations
from kolmogorov.data.table.trainable import check_any
from kolmogorov.errors import FileWriteError, ParameterError

#: Sorting in less would mean thousands of files. By judgement.
_LEAST_MEMORY = 1 << 24


@taking(ReadingKeywords)
def read_ratings(source: Any, **options: Unpack[ReadingKeywords]) -> Observations:
    """Read files, or other sources, of (user, item, rating) records.

    Takes comma, tab, semicolon, ``::`` and whitespace separated text, with or without a header, plain or
    compressed (.gz, .xz, .bz2, .zip), and parquet with the extra ``parquet``. Ids in text that are all integers
    become integers, otherwise they stay strings. Values are numbers, or words that mean yes or no: ``yes`` and
    ``no``, ``true`` and ``false``, ``y`` and ``n``, ``+`` and ``-``, ``like`` and ``dislike``, the German and French
    yes and no, in small letters or capitals. ``50%`` is 0.5. What was understood is in `Observations.source`.

    Parameters
    ----------
    source : path, data frame, Arrow stream or cursor, or several of them
        "-" reads standard input, a directory stands for the parquet files in it. Several together are one table. A
        cursor is one of a database, on which a query was executed.
    user, item, value, weight : str or int, optional
        Columns by name or by position from 0. By default user, item and value are found by their usual
        names, else they are the first three columns; there is no weight.
    sep : str
        The separator; "auto" looks at the first line, "whitespace" splits at runs of blanks.
    header : bool or "auto"
        Whether the first line names the columns; "auto" says so where it holds usual names or no number.
    wide : bool
        Whether there is one row for each user, whose id is in the first column unless `user` says otherwise, and one
        column for each item, with its id in the header; empty cells are missing.
    keep, ignore : str, int, or several of them, optional
        Of a wide table: the columns that are items, or those that are none, such as an age. Columns on another scale
        than the others are refused unless `maximum` says what the scale is.
    only_yes : bool
        Whether every line is a yes, as in a list of clicks or purchases: there need be no value, and a pair that is
        repeated counts once.
    map : dict, optional
        A number for each value, as ``{"yes": 1, "abstain": 0.5, "no": 0}``. There may be no others then.
    missing : str, number, or several of them
        What stands for a missing value; such records are left out. "" is an empty field or cell.
    decimal : {"auto", ".", ","}
        What stands before decimals; "auto" takes a comma for one where it can be nothing else.
    thousands : str, optional
        What stands between groups of three digits.
    minimum, maximum : float, optional
        Ends of the rating scale, between -1e100 and 1e100. By default `maximum` is the largest value seen, or 1 where
        none exceeds 1.
    scaling : {"auto", "max", "minmax"}
        p = r / maximum as in the paper ("max"), or p = (r - minimum) / (maximum - minimum). "auto" takes the first,
        unless `minimum` is given or, where neither end is, some value is negative, or above 1 and neither whole nor
        half: then `minimum` is the smallest value.
    duplicates : {"error", "mean", "last"}
        What to do with several values for one (user, item). "mean" is weighted and adds the weights up.
    encoding : str
        Of a text file; "auto" tells UTF-8, UTF-16 and what Windows writes in Western Europe by the bytes.
    titles : dict, data frame or path, optional
        What the items are called, as in `Observations.with_titles`.

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
    Columns: user = userId, item = movieId, value = rating.
    File: separator comma, with header, decimal point, encoding utf-8.
    Ratings: 0.5 to 5 by 0.5, p = r / 5. 3 read, 0 missing.
    """
    return read_as_told(source, ReadingOptions(**options))


def read_as_told(source: Any, told: ReadingOptions) -> Observations:
    """Do as `read_ratings` with options that were put together."""
    # Ratings may take minutes to read, and titles that are not there are found out first.
    names = None if told.titles is None else texts_of(told.titles)
    found = Observations(*gathered(sources_of(source, told), told))
    _announce(found.scale, source if isinstance(source, (str, os.PathLike)) else "ratings", told)
    return found.with_titles(items=names)


@taking(ReadingKeywords)
def pack(
    source: Any,
    out: str | os.PathLike[str],
    *,
    memory: int | str = "1GB",
    progress: Tell | None = None,
    **options: Unpack[ReadingKeywords],
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
    progress : callable, optional
        Called with a stage ("reading", "sorting by user", "sorting by item"), how much of it is done, and how much
        there is, in sources and then in records.
    **options
        Those of `read_ratings`, for all sources.

    Returns
    -------
    Observations
        The table, mapped; the same as `Observations.open(out)`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "1.csv").write_text("user,item,rating\\nann,tea,5\\nbob,tea,4\\nann,rum,1\\n")
    >>> print(pack(folder / "1.csv", folder / "drinks.kmt", maximum=5))
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    told = ReadingOptions(**options)
    limit = max(byte_count(memory, "memory"), _LEAST_MEMORY) // BYTES_PER_RECORD
    check_writable(out)
    if isinstance(source, Observations):
        if told.to_dict():
            raise ParameterError("Observations have their columns and their scale; these options are for files.")
        check_any(source, "to pack")
        table = source.with_titles(items=told.titles)
        pack_parts(TableParts(table.users, table.items, table.rows, table.scale, table.source), table.columns, out)
        return Observations.open(out, verify=False)
    sources = sources_of(source, told)
    _refuse_to_overwrite(sources, out)
    naming = None if told.titles is None else partial(titled, given=texts_of(told.titles), what="item")
    pack_sources(sources, out, told, limit, progress, naming)
    packed = Observations.open(out, verify=False)
    _announce(packed.scale, out, told)
    return packed


def _announce(scale: Scale, name: Any, options: ReadingOptions) -> None:
    """Say which scale was chosen, where it was left open."""
    if options.maximum is not None:
        return
    if scale.minimum == 0.0:
        notice(f"{name}: maximum taken as {scale.maximum:g}, so {scale}")
    else:
        notice(f"{name}: the scale reaches from {scale.minimum:g} to {scale.maximum:g}, so {scale}")


def _refuse_to_overwrite(sources: list[Source], out: Any) -> None:
    paths = (Path(source.path) for source in sources if hasattr(source, "path"))
    if Path(out).exists() and any(path.exists() and os.path.samefile(path, out) for path in paths):
        raise FileWriteError(f"{out} is one of the files to be packed. Choose another name for the table.")
