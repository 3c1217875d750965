"""`read_ratings` and `pack`: ratings of almost any make, into memory or into a packed table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kolmogorov._support.progress import notice
from kolmogorov.data.observations import Observations, check_any, read
from kolmogorov.data.options import Reading
from kolmogorov.data.packed import check_free, write_table
from kolmogorov.data.titles import texts_of
from kolmogorov.errors import ParameterError


def read_ratings(
    source: Any,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    value: str | int | None = None,
    weight: str | int | None = None,
    sep: str = "auto",
    header: bool | str = "auto",
    wide: bool = False,
    keep: Any = None,
    ignore: Any = (),
    implicit: bool = False,
    map: Mapping[Any, float] | None = None,
    missing: Any = (),
    decimal: str = "auto",
    thousands: str | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    scaling: str = "auto",
    scale: str = "table",
    duplicates: str = "error",
    encoding: str = "auto",
    titles: Any = None,
) -> Observations:
    """Read files, or other sources, of (user, item, rating) records.

    Takes comma, tab, semicolon, ``|``, ``::`` and whitespace separated text, with or without a header, plain or
    compressed (.gz, .bz2, .xz, .zst, .zip); Parquet and Arrow files; Excel sheets where python-calamine is installed;
    data frames of any library that speaks Arrow. Ids are texts. Values are numbers, or words that mean yes or no:
    ``yes`` and ``no``, ``true`` and ``false``, ``y`` and ``n``, ``+`` and ``-``, ``like`` and ``dislike``, the German
    and French yes and no, in small letters or capitals. ``50%`` is 0.5. What was understood is in
    `Observations.source`.

    Parameters
    ----------
    source : path, data frame or Arrow stream, or several of them
        "-" reads standard input, a directory stands for the parquet files in it. Several together are one table.
    user, item, value, weight : str or int, optional
        Columns by name or by position from 0. By default user, item and value are found by their usual names, else
        files have them in the first three columns, times and row numbers aside; there is no weight.
    sep : str
        The separator; "auto" looks at the first line, "whitespace" splits at runs of blanks.
    header : bool or "auto"
        Whether the first line names the columns; "auto" says so where it holds usual names or no number.
    wide : bool
        Whether there is one row for each user, whose id is in the first column unless `user` says otherwise, and one
        column for each item, with its id in the header; empty cells are missing.
    keep, ignore : str, int, or several of them, optional
        Of a wide table: the columns that are items, or those that are none, such as an age.
    implicit : bool
        Whether every line is a yes, as in a list of clicks or purchases: there need be no value, and a pair that is
        repeated counts once.
    map : dict, optional
        A number for each value, as ``{"yes": 1, "abstain": 0.5, "no": 0}``. There may be no others then.
    missing : str, number, or several of them
        What stands for a missing value; such records are left out. "" is an empty field. Nulls of frames are missing.
    decimal : {"auto", ".", ","}
        The decimal separator; "auto" takes a comma for one where it can be nothing else.
    thousands : str, optional
        The separator between groups of three digits.
    minimum, maximum : float, optional
        Ends of the rating scale, between -1e100 and 1e100. By default `maximum` is the largest value seen, or 1 where
        none exceeds 1.
    scaling : {"auto", "max", "minmax"}
        p = r / maximum as in the paper ("max"), or p = (r - minimum) / (maximum - minimum). "auto" takes the first,
        unless `minimum` is given or, where neither end is, some value is negative, or above 1 and neither whole nor
        half: then `minimum` is the smallest value.
    scale : {"table", "column"}
        Whether the columns of a wide table have one scale, or each its own, from its smallest to its largest value.
        Columns of different ranges are refused unless this, or `maximum`, says what they are.
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
    given = dict(locals())
    return read_as_told(given.pop("source"), Reading(**given))


def read_as_told(source: Any, told: Reading) -> Observations:
    """Do as `read_ratings` with options that were put together."""
    # Ratings may take minutes to read, and titles that are not there are found out first.
    names = None if told.titles is None else texts_of(told.titles)
    found = read(source, told)
    _announce(found, source if isinstance(source, (str, os.PathLike)) else "ratings", told)
    return found.with_titles(items=names)


def pack(source: Any, out: str | os.PathLike[str], **options: Any) -> Observations:
    """Write whatever `read_ratings` takes, or observations, to a packed table, and map it.

    Packing takes about 50 bytes of memory for a rating; what is packed takes 24 on disk, and none in memory.

    Parameters
    ----------
    source : path, data frame or Arrow stream, several of them, or Observations
    out : path
        The table, a folder. It takes this name when it is whole.
    **options
        Those of `read_ratings`.

    Returns
    -------
    Observations
        The table, mapped; the same as `Observations.open(out)`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "1.csv").write_text("user,item,rating\\nann,tea,5\\nbob,tea,4\\nann,rum,1\\n")
    >>> print(pack(folder / "1.csv", folder / "drinks", maximum=5))
    Observations: 3 of 2 users × 2 items (75.0% observed), p = r / 5
    """
    told = Reading(**options)
    check_free(out)
    if isinstance(source, Observations):
        if told.to_dict():
            raise ParameterError("Observations have their columns and their scale; these options are for files.")
        table = source.with_titles(items=told.titles)
    else:
        table = read_as_told(source, told)
    check_any(table, "to pack")
    write_table(out, table.users, table.items, table.rows, table.scale, table.source)
    return Observations.open(out, verify=False)


def _announce(found: Observations, name: Any, told: Reading) -> None:
    """Say which scale was chosen, where it was left open."""
    scale = found.scale
    if told.maximum is not None or told.scale == "column":
        return
    if scale.minimum == 0.0:
        notice(f"{name}: maximum taken as {scale.maximum:g}, so {scale}")
    else:
        notice(f"{name}: the scale reaches from {scale.minimum:g} to {scale.maximum:g}, so {scale}")
