"""`read_ratings` and `pack`: ratings of almost any make become entries; what is guessed is said.

A source is read once: ids become keys, and of columns of values distinct cells are kept (`records_of`). Then these are
understood (`part_of`), and what all sources hold is put together.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import glob
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from kolmogorov._support.progress import notice
from kolmogorov._support.typing import Floats
from kolmogorov.data.columns import (
    index_column,
    list_columns,
    refuse_codes,
    refuse_scales,
    take_header,
    title_column,
    titles_of,
    wide_columns,
)
from kolmogorov.data.observations import Observations, check_any
from kolmogorov.data.packed import check_free, write_table
from kolmogorov.data.scale import Scale, Terms
from kolmogorov.data.sources import Source, parquet_source, sources_of, unreadable
from kolmogorov.data.told import Provenance, Reading, points_of
from kolmogorov.data.values import Notation, UnreadableError, ValueColumn, looks_like_number, numbers_of
from kolmogorov.data.view import View, ends_of, nothing_there
from kolmogorov.data.vocabulary import IdColumn, Vocabulary, in_array, in_order
from kolmogorov.errors import DataError, ParameterError

#: Distinct ratings that are told.
_MOST_POINTS = 64


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
    data frames of any library that speaks Arrow. Ids are texts. Values are numbers, percentages, or words that mean yes
    or no: ``yes`` and ``no``, ``true`` and ``false``, ``y`` and ``n``, ``+`` and ``-``, ``like`` and ``dislike``, the
    German and French yes and no. What was understood is in `Observations.source`.

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
    decimal, thousands : {"auto", ".", ","}, str
        What separates decimals, found out by default, and groups of three digits.
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

    Examples
    --------
    >>> import pandas as pd
    >>> read_ratings(pd.DataFrame({"user": ["a", "b"], "film": ["x", "x"], "stars": [4, 5], "age": [30, 40]}))
    Observations: 2 of 2 users × 1 items (100.0% observed), p = r / 5
    Columns: user = user, item = film, value = stars. Not used: age.
    Ratings: 4 to 5 by 1, p = r / 5. 2 read, 0 missing.
    """
    given = dict(locals())
    return read_as_told(given.pop("source"), Reading(**given))


def read_as_told(source: Any, told: Reading) -> Observations:
    """Do as `read_ratings` with options that were put together."""
    # Ratings may take minutes to read, and titles that are not there are found out first.
    names = None if told.titles is None else titles_of(told.titles)
    found = _gathered(sources_of(source, sep=told.sep, encoding=told.encoding), told)
    scale, called = found.scale, source if isinstance(source, (str, os.PathLike)) else "ratings"
    if told.maximum is None and told.scale == "table":
        notice(f"{called}: the scale is taken to reach from {scale.minimum:g} to {scale.maximum:g}, so {scale}")
    return found.with_titles(items=names)


def pack(source: Any, out: str | os.PathLike[str], **options: Any) -> Observations:
    """Write whatever `read_ratings` takes, or observations, to a packed table, a folder, and map it.

    Options are those of `read_ratings`. Packing takes about 50 bytes of memory for a rating; what is packed takes 24 on
    disk, and none in memory. `Observations.open(out)` maps it again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> drinks = Observations.from_arrays(["ann", "bob"], ["tea", "tea"], [5, 4])
    >>> pack(drinks, pathlib.Path(tempfile.mkdtemp(), "drinks"))
    Observations: 2 of 2 users × 1 items (100.0% observed), p = r / 5
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
    write_table(out, table)
    return Observations.open(out)


# --- one source -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Part:
    """One source: first its rows, whose ids are keys (`records_of`), then its ratings (`part_of`)."""

    source: Source
    #: Keys of the users of all rows, later of all ratings. The same of items; first of the columns of a wide table.
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    #: Of all rows, later of all ratings; maybe none.
    weights: Floats
    #: One, or one for each item of a wide table, or none where every line is a yes.
    columns: list[ValueColumn]
    titles: Mapping[int, str]
    #: Roles of columns that have no usual name and were not named; the columns, and how the source is written.
    guessed: set[str]
    about: Mapping[str, Any]
    ratings: Floats = field(default_factory=lambda: np.empty(0))
    #: Of each row, for each of its values, whether it is a rating.
    kept: NDArray[np.bool_] = field(default_factory=lambda: np.empty((0, 1), bool))

    def place(self, record: int) -> str:
        """Name the place of a rating."""
        return self.source.place(int(np.flatnonzero(self.kept)[record]) // self.kept.shape[1])


def records_of(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Part:
    """Read a source: one row for each rating, or for each user."""
    take_header(source, told)
    names, guessed, texts, partner = source.names, set[str](), [""], []
    if told.wide:
        user, named = wide_columns(source, told)
        at, values, texts = {"user": user}, list(named.values()), list(named)
        shown = texts[0] if len(texts) == 1 else f"{len(texts):,} columns, {texts[0]} to {texts[-1]}"
        columns = {"user": "index" if user == index_column(names) else str(names[user]), "items": shown}
        partner.append(np.array([items.texts[text] for text in texts], np.int32))
    else:
        at, guessed = list_columns(source, told)
        title = title_column(names, at.values())
        at |= {} if title is None else {"title": title}
        values = [k for role, k in at.items() if role == "value"]
        columns = {role: str(names[k]) if source.named else f"column {k}" for role, k in at.items()}
    used = {*at.values(), *values, index_column(names)}
    ignored = [str(name) for k, name in enumerate(names) if k not in used and str(name)] if source.named else []

    found = [ValueColumn(told.notation, text) for _, text in zip(values, texts, strict=False)]
    mass = ValueColumn(Notation(decimal=told.decimal, thousands=told.thousands))
    own: list[NDArray[np.int32]] = []
    titles: dict[int, str] = {}
    beside = {role: k for role, k in at.items() if role != "value"}
    n_rows = 0
    for arrays in source.batches([*beside.values(), *values]):
        cells = dict(zip(beside, arrays, strict=False))
        own.append(users.read(cells["user"], source, n_rows))
        if "item" in cells:
            partner.append(items.read(cells["item"], source, n_rows))
        if "weight" in cells:
            mass.read(cells["weight"])
        if "title" in cells:
            keys, where = np.unique(partner[-1], return_index=True)
            for key, text in zip(keys.tolist(), cells["title"].take(pa.array(where)).to_pylist(), strict=True):
                if text is not None and str(text).strip():
                    titles.setdefault(key, str(text).strip())
        for column, array in zip(found, arrays[len(beside) :], strict=True):
            column.read(array)
        n_rows += len(arrays[0])
    source.check(text for side in (users, items) for text in side.texts)
    mass.finish(source.place, "weight")
    sides = [np.concatenate(parts) if parts else np.empty(0, np.int32) for parts in (own, partner)]
    about = {"columns": columns, "ignored": ignored, **source.written}
    return Part(source, sides[0], sides[1], mass.numbers, found, titles, guessed, about)


def part_of(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Part:
    """Read the ratings of one source; there may be none."""
    part = records_of(source, told, users, items)
    _find_numbers(part, told)
    table = np.stack([c.numbers for c in part.columns], axis=1) if part.columns else np.ones((part.users.size, 1))
    sides = part.users[:, None], part.items if told.wide else part.items[:, None]
    part.kept = ~np.isnan(table) & (sides[0] >= 0) & (sides[1] >= 0)
    part.users, part.items = (np.broadcast_to(side, table.shape)[part.kept] for side in sides)
    part.ratings = table[part.kept]
    part.weights = part.weights[:, None][part.kept] if part.weights.size else part.weights
    return part


def _find_numbers(part: Part, told: Reading) -> None:
    every = [text for column in part.columns for text in column.texts()] if told.wide else []
    if any("," in text for text in every):
        # The columns of a wide table write decimals alike.
        with suppress(UnreadableError):
            shared = list(dict.fromkeys(filter(looks_like_number, every)))
            decimal = numbers_of(shared, told.notation._replace(map=None)).decimal or told.decimal
            for column in part.columns:
                column.form = column.form._replace(decimal=decimal)
    for column in part.columns:
        try:
            column.finish(part.source.place, beside=every)
        except DataError as error:
            if told.wide:
                more = f" Or leave the column out with ignore={column.name!r}."
                raise DataError(f"Column {column.name!r}: {error}{more}") from None
            if "value" in part.guessed and part.source.named:
                more = (
                    f" Column {part.about['columns']['value']!r} was taken for the ratings; name another with value=."
                )
                raise DataError(f"{error}{more}") from None
            raise
        if told.scale == "column" and not np.isnan(column.numbers).all():
            found = column.numbers
            known = np.flatnonzero(~np.isnan(found))
            own = Terms(scaling="minmax").scale_of(found[known], None, lambda k: part.source.place(int(known[k])))  # noqa: B023
            constant = own.minimum == found[known].max()
            column.numbers = np.where(np.isnan(found), found, 1.0) if constant else own.probability(found)


def read_pairs(path: Any, told: Reading) -> tuple[list[str], list[str]]:
    """Read a file of users and items; further columns are ignored."""
    found: tuple[list[str], list[str]] = ([], [])
    roles = ("user", "item")
    for source in sources_of(path, sep=told.sep, encoding=told.encoding):
        take_header(source, told, roles)
        at, _ = list_columns(source, told, roles)
        for arrays in source.batches([at[role] for role in roles]):
            for texts, array, role in zip(found, arrays, roles, strict=True):
                ids = IdColumn(role)
                keys = ids.read(array, source, len(texts))
                texts.extend(np.array([*ids.texts], dtype=object)[keys].tolist())
    return found


# --- all sources ------------------------------------------------------------------------------------------------------


def _gathered(sources: Sequence[Source], told: Reading) -> Observations:
    """Read sources into memory: three numbers of 32 bits for each record, and every distinct text once."""
    users, items = (IdColumn(what, told.missing) for what in ("user", "item"))
    parts: list[Part] = []
    for source in sources:
        parts.append(part := part_of(source, told, users, items))
        if not part.ratings.size:
            if part.kept.size:
                raise DataError(f"{source.place(0)} and all others: every value is missing. Nothing is left to read.")
            raise nothing_there("here")
    columns = [column for part in parts for column in part.columns]
    ratings = np.concatenate([part.ratings for part in parts])
    ends = np.cumsum([part.ratings.size for part in parts])

    def place(record: int) -> str:
        number = int(np.searchsorted(ends, record, side="right"))
        return parts[number].place(record - (int(ends[number - 1]) if number else 0))

    weights = np.empty(0)
    if any(part.weights.size for part in parts):
        weights = np.concatenate([p.weights if p.weights.size else np.ones(p.ratings.size) for p in parts])
    scale = told.scale_of(ratings, weights if weights.size else None, place)
    points, counts = np.unique(ratings, return_counts=True)
    if told.is_open and told.scale == "table":
        refuse_codes(points, counts, lambda code: place(int(np.argmax(ratings == code))))
        for part in parts if told.wide else ():
            numbers, words = [c.numbers for c in part.columns], [bool(c.words) for c in part.columns]
            refuse_scales(part.source.name, [c.name for c in part.columns], numbers, words)
    sides = [np.concatenate([getattr(part, side) for part in parts]) for side in ("users", "items")]
    for part in parts:
        # What follows needs no more of the parts than their places and words, and memory for all else.
        part.users = part.items = np.empty(0, np.int32)
        part.ratings = part.weights = np.empty(0)
    for column in columns:
        column.numbers = np.empty(0)
    titles = {text: part.titles[key] for part in parts for text, key in items.texts.items() if key in part.titles}
    (user_ids, own), (item_ids, partner) = (side.finish(sides.pop(0)) for side in (users, items))
    terms = Terms(told.minimum, told.maximum, told.scaling, told.merging)
    named = Vocabulary(user_ids), own, Vocabulary(item_ids), partner
    found = Observations.of_rows(*named, ratings, terms, weights=weights if weights.size else None, place=place)

    meanings = {word: number for column in columns for word, number in column.words.items()}
    decimal = next((column.decimal for column in columns if column.decimal), "")
    sizes = ratings.size, sum(part.kept.size for part in parts), len(found)
    about = _provenance(parts[0].about, told, sources[0].path, scale, points, sizes)
    about = replace(about, words=dict(islice(meanings.items(), _MOST_POINTS)), decimal=decimal)
    if decimal == ",":
        about = replace(about, recipe={**about.recipe, "decimal": ","})
    return found.over(items=found.items.with_labels(titles) if titles else found.items, source=about)


def _provenance(
    about: Mapping[str, Any], told: Reading, path: Any, scale: Scale, points: Floats, sizes: tuple[int, int, int]
) -> Provenance:
    """Say what was understood, from the distinct ratings and the numbers of records, cells and entries."""
    n_records, n_cells, n_entries = sizes
    return Provenance(
        **about,
        points=points_of(points if points.size <= _MOST_POINTS else points[:0], float(points[0]), float(points[-1])),
        scale=str(scale),
        n_records=n_records,
        n_missing=n_cells - n_records,
        n_repeats=n_records - n_entries,
        duplicates="once" if told.merging != told.duplicates else told.duplicates,
        recipe={k: v for k, v in told.to_dict().items() if k not in ("minimum", "maximum", "scaling")},
        name="" if path in (None, "-") else Path(str(path)).name.split(".")[0],
    )


# --- row groups, each by itself --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupSummary:
    """What a row group of a Parquet file holds, but for its entries."""

    place: str
    #: Of users and items; how often each user occurs.
    ids: tuple[list[str], list[str]]
    counts: NDArray[np.int64]
    #: The distinct ratings and how often each occurs; where they are many those that decide the scale, and zeros.
    points: Floats
    times: NDArray[np.int64]
    n_cells: int
    titles: Mapping[str, str]
    about: Mapping[str, Any]


#: Users, items, ratings or values, and weights, if any.
Entries = tuple[NDArray[Any], NDArray[Any], Floats, Floats]


def row_groups(patterns: Sequence[str]) -> list[tuple[str, int]]:
    """Find the row groups of files, which may be named by patterns."""
    paths = [source.path for pattern in patterns for source in sources_of(sorted(glob(pattern)) or pattern)]
    try:
        return [(str(path), k) for path in paths for k in range(parquet.read_metadata(path).num_row_groups)]
    except pa.ArrowException as error:
        raise unreadable("One of the files, which must be Parquet,", error) from None


def read_group(path: str, group: int, told: Reading) -> tuple[GroupSummary, Entries]:
    """Read a row group; its entries have the numbers of its own ids."""
    users, items = (IdColumn(what, told.missing) for what in ("user", "item"))
    part = part_of(parquet_source(path, group), told, users, items)
    if told.map is None and any(column.words or (column.decimal == "," != told.decimal) for column in part.columns):
        said = "values must be numbers here: what words mean is seen from all row groups. Say it with map=."
        raise DataError(f"{part.source.place(0)}: {said}")
    if part.ratings.size:
        told.scale_of(part.ratings, part.weights if part.weights.size else None, part.place)
    points, times = np.unique(part.ratings, return_counts=True)
    if points.size > _MOST_POINTS:
        points = np.append(points[[0, -1]], points[np.rint(2.0 * points) != 2.0 * points][:1])
        times = np.zeros(points.size, np.int64)
    titles = {text: part.titles[key] for text, key in items.texts.items() if key in part.titles}
    (user_ids, own), (item_ids, partner) = users.finish(part.users), items.finish(part.items)
    place, ids = f"{path}, row group {group}", (user_ids, item_ids)
    found = GroupSummary(place, ids, np.bincount(own), points, times, part.kept.size, titles, part.about)
    return found, (own, partner, part.ratings, part.weights)


def understood(groups: Sequence[GroupSummary], told: Reading) -> Observations:
    """Return the table that row groups are together, without its entries: of the rows there are the ends."""
    if not any(group.points.size for group in groups):
        raise nothing_there("here")
    points, where = np.unique(np.concatenate([group.points for group in groups]), return_inverse=True)
    times = np.bincount(where, np.concatenate([group.times for group in groups])).astype(np.int64)
    few = all(group.times.all() for group in groups)
    if told.is_open and few:
        refuse_codes(points, times, lambda code: next(group.place for group in groups if code in group.points))
    scale = told.scale_of(points, None, in_array)
    users, items = (
        Vocabulary(in_order((text for group in groups for text in group.ids[side]), what))
        for side, what in enumerate(("user", "item"))
    )
    counts = np.zeros(len(users), np.int64)
    titles: dict[str, str] = {}
    for group in groups:
        counts[users.rows_of(group.ids[0])] += group.counts
        titles |= {text: title for text, title in group.titles.items() if text not in titles}
    n, empty = int(counts.sum()), np.empty(0)
    sizes = n, sum(group.n_cells for group in groups), n
    about = _provenance(groups[0].about, told, groups[0].place.rpartition(", ")[0], scale, points, sizes)
    if not few:
        about = replace(about, points=points_of(empty, points[0], points[-1]))
    rows = View(ends_of(counts), empty, empty, empty)
    return Observations(users, items.with_labels(titles) if titles else items, rows, scale, about)
