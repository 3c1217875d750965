"""`read_ratings`, `read_answers` and `pack`: tables of almost any make become entries; what is guessed is said.

A source is read once. Ids become keys, and of values the distinct cells are kept (`_rows_of`); then these are
understood, and what is missing is left out (`_read`). Of all sources together the scale and the ids are found
(`understood`): of files here, and of the row groups of files that workers of a cluster read (`read_group`).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from kolmogorov._support.display import notice
from kolmogorov._support.typing import Floats
from kolmogorov.data import columns as named
from kolmogorov.data.observations import Observations, check_any
from kolmogorov.data.packed import check_free, write_table
from kolmogorov.data.scale import Terms
from kolmogorov.data.sources import Source, file_source, sources_of, unreadable
from kolmogorov.data.told import Provenance, Reading
from kolmogorov.data.values import (
    Coder,
    Notation,
    UnreadableError,
    ValueColumn,
    distinct,
    looks_like_number,
    numbers_of,
)
from kolmogorov.data.view import View, ends_of, nothing_there
from kolmogorov.data.vocabulary import IdColumn, Vocabulary, in_array, in_order
from kolmogorov.errors import DataError, ParameterError

#: Distinct ratings and words that are held, and those that a sentence lists.
_MOST_POINTS, _MOST_LISTED = 64, 8
#: Different words that a question may be answered with.
MOST_ANSWERS = 256
#: Options of ratings that say nothing of answers.
_IDLE = {"weight", "implicit", "map", "scaling", "scale", "duplicates", "titles"}
_DONE = {"error": "counted once", "mean": "their mean taken", "last": "the last kept"}


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
    ignore: Any = (),
    implicit: bool = False,
    map: Mapping[Any, float] | None = None,
    missing: Any = (),
    decimal: str = "auto",
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
    and French yes and no. What was understood is in `Observations.source`.

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
    ignore : str, int, or several of them, optional
        Columns of a wide table that are no items, such as an age.
    implicit : bool
        Whether every line is a yes, as in a list of clicks or purchases: there need be no value, and a pair that is
        repeated counts once.
    map : dict, optional
        A number for each value, as ``{"yes": 1, "abstain": 0.5, "no": 0}``. There may be no others then.
    missing : str, number, or several of them
        What stands for a missing value; such records are left out. "" is an empty field. Nulls of frames are missing.
    decimal : {"auto", ".", ","}
        What separates decimals, found out by default.
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
    Ratings: 4 to 5, p = r / 5. 2 read, 0 missing.
    """
    given = dict(locals())
    return read_as_told(given.pop("source"), Reading(**given))


def read_as_told(source: Any, told: Reading) -> Observations:
    """Do as `read_ratings` with options that were put together."""
    # Ratings may take minutes to read, and titles that are not there are found out first.
    titles = None if told.titles is None else named.titles_of(told.titles)
    parts = [_read(each, told) for each in sources_of(source, sep=told.sep, encoding=told.encoding)]
    for summary, (own, *_), _, place in parts:
        if not own.size and summary.n_cells:
            raise DataError(f"{place(None)} and all others: every value is missing. Nothing is left to read.")
        if not own.size:
            raise nothing_there("here")
    starts = ends_of(np.array([part[1][0].size for part in parts]))

    def place_of(record: int) -> str:
        number = int(np.searchsorted(starts, record, side="right")) - 1
        return parts[number][3](record - int(starts[number]))

    ratings = np.concatenate([entries[2] for _, entries, *_ in parts])
    table = understood([part[0] for part in parts], told, lambda code: place_of(int(np.argmax(ratings == code))))
    for summary, _, columns, _ in parts if told.is_open and told.scale == "table" and told.wide else ():
        words = [bool(column.words) for column in columns]
        named.refuse_scales(summary.place, [c.name for c in columns], [c.numbers for c in columns], words)
    own, partner = (
        np.concatenate([known.rows_of(summary.ids[side])[entries[side]] for summary, entries, *_ in parts])
        for side, known in enumerate((table.users, table.items))
    )
    weights = None
    if any(entries[3].size for _, entries, *_ in parts):
        weights = np.concatenate([e[3] if e[3].size else np.ones(e[2].size) for _, e, *_ in parts])
    terms = Terms(told.minimum, told.maximum, told.scaling, told.merging)
    found = Observations.of_rows(
        table.users, own, table.items, partner, ratings, terms, weights=weights, place=place_of
    )
    scale, about = found.scale, table.source or Provenance()
    if told.maximum is None and told.scale == "table":
        called = source if isinstance(source, (str, os.PathLike)) else "ratings"
        notice(f"{called}: the scale is taken to reach from {scale.minimum:g} to {scale.maximum:g}, so {scale}")
    if n_repeats := len(ratings) - len(found):
        *lines, last = about.lines
        last = f"{last.removesuffix('.')}, {n_repeats:,} repeated ({_DONE[told.duplicates]})."
        about = replace(about, lines=[*lines, last])
    return found.over(source=about).with_titles(items=titles)


def pack(source: Any, out: str | os.PathLike[str], **options: Any) -> Observations:
    """Write whatever `read_ratings` takes, with its options, or observations, to a packed table, a folder, and map it.

    Packing takes about 50 bytes of memory for a rating; what is packed takes 24 on disk, and none in memory.
    `Observations.open(out)` maps it again.
    """
    told = Reading(**options)
    check_free(out)
    if isinstance(source, Observations):
        if told != Reading():
            raise ParameterError("Observations have their columns and their scale; these options are for files.")
        table = source.with_titles(items=told.titles)
    else:
        table = read_as_told(source, told)
    check_any(table, "to pack")
    write_table(out, table)
    return Observations.open(out)


# --- one source -------------------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """The rows of one source: one for each rating, or for each user of a wide table."""

    #: Keys of the user of each row; of the item of each, or of each column of a wide table.
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    #: Of all rows; maybe none.
    weights: Floats
    #: One, or one for each item of a wide table, or none where every line is a yes.
    columns: list[ValueColumn]
    #: Roles of columns that have no usual name and were not named; the columns by role; those not used.
    guessed: set[str]
    roles: dict[str, str]
    ignored: list[str]


def _rows_of(source: Source, told: Reading, users: IdColumn, items: IdColumn) -> Rows:
    named.take_header(source, told)
    names, guessed, called, partner = source.names, set[str](), [""], []
    if told.wide:
        user, wide = named.wide_columns(source, told)
        at, values, called = {"user": user}, list(wide.values()), list(wide)
        shown = called[0] if len(called) == 1 else f"{len(called):,} columns, {called[0]} to {called[-1]}"
        roles = {"user": "index" if user == named.index_column(names) else str(names[user]), "items": shown}
        partner.append(np.array([items.texts[text] for text in called], np.int32))
    else:
        at, guessed = named.list_columns(source, told)
        roles = {role: str(names[k]) if source.named else f"column {k}" for role, k in at.items()}
        values = [at.pop("value")] if "value" in at else []
    used = {*at.values(), *values, named.index_column(names)}
    ignored = [str(name) for k, name in enumerate(names) if k not in used and str(name)] if source.named else []
    found = [ValueColumn(told.notation, text) for _, text in zip(values, called, strict=False)]
    mass, own, n_rows = ValueColumn(Notation(decimal=told.decimal)), list[Any](), 0
    for arrays in source.batches([*at.values(), *values]):
        cells = dict(zip(at, arrays, strict=False))
        for role, ids, keys in (("user", users, own), ("item", items, partner)):
            if role in cells:
                keys.append(ids.keys_of(*distinct(cells[role]), source.place, n_rows))
        if "weight" in cells:
            mass.read(cells["weight"])
        for column, array in zip(found, arrays[len(at) :], strict=True):
            column.read(array)
        n_rows += len(arrays[0])
    source.check(text for side in (users, items) for text in side.texts)
    mass.finish(source.place, "weight")
    sides = [np.concatenate(parts) if parts else np.empty(0, np.int32) for parts in (own, partner)]
    return Rows(sides[0], sides[1], mass.numbers, found, guessed, roles, ignored)


#: Users, items, ratings or values, and weights, if any.
Entries = tuple[NDArray[Any], NDArray[Any], Floats, Floats]


@dataclass(frozen=True, eq=False)
class GroupSummary:
    """What a source, or a row group of a Parquet file, holds but for its entries."""

    place: str
    #: Of users and items; how often each user occurs.
    ids: tuple[list[str], list[str]]
    counts: NDArray[np.int64]
    #: The distinct ratings and how often each occurs; where they are many those that decide the scale, and zeros.
    points: Floats
    times: NDArray[np.int64]
    n_cells: int
    about: Provenance


def _read(source: Source, told: Reading) -> tuple[GroupSummary, Entries, list[ValueColumn], Any]:
    """Read the ratings of one source, there may be none, and the place of each; users and items count from 0 there."""
    ids = [IdColumn(what, told.missing) for what in ("user", "item")]
    rows = _rows_of(source, told, *ids)
    _find_numbers(source, rows, told)
    numbers = [column.numbers for column in rows.columns]
    table = np.stack(numbers, axis=1) if numbers else np.ones((rows.users.size, 1))
    sides = rows.users[:, None], rows.items if told.wide else rows.items[:, None]
    kept = ~np.isnan(table) & (sides[0] >= 0) & (sides[1] >= 0)
    ratings, weights = table[kept], rows.weights[:, None][kept] if rows.weights.size else rows.weights

    def place(record: int | None) -> str:
        return source.place(0 if record is None else int(np.flatnonzero(kept)[record]) // kept.shape[1])

    if ratings.size:
        told.scale_of(ratings, weights if weights.size else None, place)
    present, keys = [], []
    for side, known in zip(sides, ids, strict=True):
        texts, own = list(known.texts), np.broadcast_to(side, table.shape)[kept]
        there = np.bincount(own, minlength=len(texts)) > 0
        present.append([texts[key] for key in np.flatnonzero(there).tolist()])
        keys.append((np.cumsum(there) - 1)[own])
    points, times = np.unique(ratings, return_counts=True)
    if points.size > _MOST_POINTS:
        points = np.append(points[[0, -1]], points[np.rint(2.0 * points) != 2.0 * points][:1])
        times = np.zeros(points.size, np.int64)
    words = {word: number for column in rows.columns for word, number in column.words.items()}
    decimal = next((column.decimal for column in rows.columns if column.decimal), "")
    used = ", ".join(f"{role} = {column}" for role, column in rows.roles.items())
    lines = [f"Columns: {used}.{f' Not used: {_listed(rows.ignored)}.' if rows.ignored else ''}"]
    lines += source.written(decimal)
    if words:
        meant = sorted(words.items(), key=lambda pair: -pair[1])
        lines.append(f"Words: {_listed([f'{word} = {number:g}' for word, number in meant])}.")
    recipe = told.recipe | ({"decimal": ","} if decimal == "," else {})
    name = "" if source.path in (None, "-") else Path(str(source.path)).name.split(".")[0]
    about = Provenance(rows.roles, rows.ignored, lines, dict(list(words.items())[:_MOST_POINTS]), recipe, name)
    summary = GroupSummary(source.name, (present[0], present[1]), np.bincount(keys[0]), points, times, kept.size, about)
    return summary, (keys[0], keys[1], ratings, weights), rows.columns, place


def _find_numbers(source: Source, rows: Rows, told: Reading) -> None:
    every = [text for column in rows.columns for text in column.said()[0]] if told.wide else []
    for column in rows.columns:
        try:
            column.finish(source.place, beside=every)
        except DataError as error:
            before, more = "", ""
            if told.wide:
                before, more = f"Column {column.name!r}: ", f" Or leave the column out with ignore={column.name!r}."
            elif "value" in rows.guessed and source.named:
                more = f" Column {rows.roles['value']!r} was taken for the ratings; name another with value=."
            raise DataError(f"{before}{error}{more}") from None
        known = np.flatnonzero(~np.isnan(column.numbers))
        if told.scale == "column" and known.size:
            ratings = column.numbers[known]
            own = Terms(scaling="minmax").scale_of(ratings, None, lambda k: source.place(int(known[k])))  # noqa: B023
            column.numbers[known] = 1.0 if ratings.min() == ratings.max() else own.probability(ratings)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def read_pairs(path: Any, told: Reading) -> tuple[list[str], list[str]]:
    """Read a file of users and items; further columns are ignored."""
    found: tuple[list[str], list[str]] = ([], [])
    for source in sources_of(path, sep=told.sep, encoding=told.encoding):
        named.take_header(source, told, ("user", "item"))
        at, _ = named.list_columns(source, told, ("user", "item"))
        for arrays in source.batches(list(at.values())):
            for texts, array, role in zip(found, arrays, at, strict=True):
                ids = IdColumn(role)
                keys = ids.keys_of(*distinct(array), source.place, len(texts))
                texts.extend(np.array([*ids.texts], dtype=object)[keys].tolist())
    return found


# --- all sources, or all row groups -----------------------------------------------------------------------------------


def row_groups(patterns: Sequence[str]) -> list[tuple[str, int]]:
    """Find the row groups of files, which may be named by patterns."""
    paths = [source.path for pattern in patterns for source in sources_of(sorted(glob(pattern)) or pattern)]
    try:
        return [(str(path), k) for path in paths for k in range(parquet.read_metadata(path).num_row_groups)]
    except pa.ArrowException as error:
        raise unreadable("One of the files, which must be Parquet,", error) from None


def read_group(path: str, group: int, told: Reading) -> tuple[GroupSummary, Entries]:
    """Read a row group; its entries have the numbers of its own ids."""
    summary, entries, columns, place = _read(file_source(path, group), told)
    if told.map is None and any(column.words or (column.decimal == "," != told.decimal) for column in columns):
        said = "values must be numbers here: what words mean is seen from all row groups. Say it with map=."
        raise DataError(f"{place(None)}: {said}")
    return replace(summary, place=f"{path}, row group {group}"), entries


def understood(
    groups: Sequence[GroupSummary], told: Reading, place_of: Callable[[float], str] | None = None
) -> Observations:
    """Return the table that sources are together, without its entries: of the rows there are the ends."""
    if not any(group.points.size for group in groups):
        raise nothing_there("here")
    points, where = np.unique(np.concatenate([group.points for group in groups]), return_inverse=True)
    times = np.bincount(where, np.concatenate([group.times for group in groups])).astype(np.int64)
    if told.is_open and told.scale == "table" and times.all():
        named.refuse_codes(points, times, place_of or (lambda code: next(g.place for g in groups if code in g.points)))
    scale = told.scale_of(points, None, in_array)
    users, items = (
        Vocabulary(in_order((text for group in groups for text in group.ids[side]), what))
        for side, what in enumerate(("user", "item"))
    )
    counts, empty = np.zeros(len(users), np.int64), np.empty(0)
    for group in groups:
        counts[users.rows_of(group.ids[0])] += group.counts
    about, n_cells = groups[0].about, sum(group.n_cells for group in groups)
    ends = f"{points[0]:g} to {points[-1]:g}" if points.size > 1 else f"{points[0]:g}"
    said = f"Ratings: {ends}, {scale}. {counts.sum():,} read, {n_cells - counts.sum():,} missing."
    about = replace(about, lines=[*about.lines, said])
    return Observations(users, items, View(ends_of(counts), empty, empty, empty), scale, about)


# --- questions with answers of their own ------------------------------------------------------------------------------


def read_answers(source: Any, *, several: str | None = None, **options: Any) -> Observations:
    """Read files, or other sources, of (user, question, answer) records, where each question is on a scale of its own.

    A question that is answered with numbers, with yes and no, or in a column of ordered categories, is one item, on its
    own scale from 0 to 1. One that is answered with other words, which have no order, is an item for each answer:
    ``colour = red`` is 1 for those who say red, 0 for those who say something else, unknown of those who say nothing.

    Parameters
    ----------
    source : path, data frame or Arrow stream, or several of them
        A list without usual names needs its columns named, or ``header=False``.
    several : str, optional
        What separates several answers in one cell, as in ``Python;SQL``: each is an item of yes and no.
    **options
        Those of `read_ratings` that say how a file is laid out and written. `minimum` and `maximum` are the ends of all
        questions with numbers beyond 0 to 1; by default each has its own, as `read_ratings` would find it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "survey.csv")
    >>> _ = path.write_text("who,drink,smokes,mood\\nann,tea,no,3\\nbob,milk,yes,4\\ncas,,no,1\\n")
    >>> answers = read_answers(path, wide=True)
    >>> answers.items.ids.tolist()
    ['drink = milk', 'drink = tea', 'mood', 'smokes']
    >>> answers.to_frame("pandas").query("user == 'ann'")["value"].tolist()
    [0.0, 1.0, 0.75, 0.0]
    """
    if idle := sorted(_IDLE & options.keys()):
        raise ParameterError(f"Answers have no {idle[0]}; leave out {idle[0]}=.")
    told = Reading(**options)
    users, questions = (IdColumn(what, told.missing) for what in ("user", "item"))
    words, orders, found = Coder(), dict[int, dict[str, float]](), list[Any]()
    for table in sources_of(source, sep=told.sep, encoding=told.encoding):
        rows = _rows_of(table, told, users, questions)
        if rows.guessed and table.named:
            shown = ", ".join(map(repr, rows.roles.values()))
            raise DataError(
                f"{table.name}: is the first line a header, with the columns {shown}? If so, name them with user=, "
                "item= and value=. If not, say header=False. If every column is a question, say wide=True."
            )
        for question, column in zip(rows.items.tolist() if told.wide else [rows.items], rows.columns, strict=True):
            texts, codes = column.said()
            known = np.array([-1 if text in ("", *told.missing) else words[text] for text in texts])[codes]
            found.append(np.stack([np.broadcast_to(question, codes.size), rows.users, known], axis=1))
            orders |= dict.fromkeys(np.unique(question).tolist(), column.order)
    # Which question is answered by whom with which word, each once.
    answers = np.unique(np.concatenate(found), axis=0)
    answers = answers[(answers >= 0).all(axis=1)]
    people, asked, spoken = list(users.texts), list(questions.texts), list(words)
    twice = np.flatnonzero((np.diff(answers[:, :2], axis=0) == 0).all(axis=1))
    if twice.size:
        (question, who, one), (*_, other) = answers[twice[0] : twice[0] + 2].tolist()
        both = f"{spoken[one][:40]!r} and with {spoken[other][:40]!r}"
        raise DataError(f"User {people[who]!r} answers {asked[question]!r} with {both}. Leave one.")
    if not answers.size:
        raise DataError("Every answer is missing. Nothing is left to read.")
    items, entries = list[str](), list[Any]()
    for part in np.split(answers, np.flatnonzero(np.diff(answers[:, 0])) + 1):
        number = int(part[0, 0])
        said = [spoken[word] for word in part[:, 2].tolist()]
        called, values = _answered(asked[number], said, orders[number], several, told)
        places = len(items) + np.arange(len(called))
        entries.append((np.repeat(part[:, 1], places.size), np.tile(places, len(part)), values.ravel()))
        items += called
    own, partner, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    present, own = np.unique(own, return_inverse=True)
    sides = Vocabulary.index([people[key] for key in present.tolist()], "user"), Vocabulary.index(items, "item")
    (who, rows_of), (what, columns_of) = sides
    return Observations.of_rows(who, rows_of[own], what, columns_of[partner], values, Terms(maximum=1))


def _answered(
    question: str, said: list[str], order: dict[str, float], several: str | None, told: Reading
) -> tuple[list[str], Floats]:
    """Return the items that a question becomes, and for each of its answers the value of each item."""
    texts = list(dict.fromkeys(said))
    if several is None or not any(several in text for text in texts):
        try:
            table = [order[t] for t in texts] if order else numbers_of(texts, told.notation).numbers.tolist()
            number = dict(zip(texts, table, strict=True))
            values = np.array([number[text] for text in said])
            if values.min() < 0.0 or values.max() > 1.0:
                terms = Terms(1.0, float(len(order))) if order else told
                values = terms.scale_of(values, None, lambda row: f"question {question!r}").probability(values)
            return [question], values
        except UnreadableError as error:
            # A stray word among numbers is rather one for what is missing.
            if 2 * sum(map(looks_like_number, said)) > len(said):
                raise DataError(f"Question {question!r}: an answer {error}") from None
    answers = [{word.strip() for word in text.split(several)} if several else {text} for text in said]
    words = sorted({word for some in answers for word in some if word})
    if len(words) > MOST_ANSWERS:
        raise DataError(
            f"{question!r} has {len(words):,} different answers, and a question may have {MOST_ANSWERS}. Join rare "
            f"ones, or leave it out with ignore={question!r}."
        )
    return [f"{question} = {word}" for word in words], np.array([[float(w in some) for w in words] for some in answers])
