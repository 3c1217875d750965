"""`read_answers`: tables of words and other labels, each item with categories of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import to_frame
from kolmogorov.data.ids.columns import normalise_ids
from kolmogorov.data.ids.encoder import IdEncoder
from kolmogorov.data.numbers.columns import in_array
from kolmogorov.data.reading.opening import sources_of
from kolmogorov.data.reading.options import Column, ReadingOptions, taking
from kolmogorov.data.reading.shape import RowSource
from kolmogorov.data.reading.source import Answered
from kolmogorov.errors import DataError

#: Cells that a table of answers may have, at most: all of them are held. By judgement.
_MOST_CELLS = 1 << 30


class AnswerKeywords(TypedDict, total=False):
    """Options of files of answers: those of `read_ratings` that concern no numbers."""

    user: Column
    item: Column
    value: Column
    sep: str
    header: bool | str
    wide: bool
    keep: Any
    ignore: Any
    missing: Any
    encoding: str


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """What people answer, a row for each of them and a column for each item; what is missing is None.

    Attributes
    ----------
    users, items : list
        What rows and columns are called.
    answers : list of lists
        The columns, in the order of the items.
    recipe : dict
        How the file was read, where it was told to.
    """

    users: Sequence[Any]
    items: list[Any]
    answers: list[list[Any]]
    recipe: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Any) -> Self:
        """Take a data frame, rows of equal length, or what is a table of answers already."""
        if isinstance(table, cls):
            return table
        if hasattr(table, "columns") and hasattr(table, "__getitem__") and not isinstance(table, np.ndarray):
            # A table of pyarrow has its columns there, and their names elsewhere.
            names = list(getattr(table, "column_names", table.columns))
            if len(set(names)) < len(names):
                raise DataError("The columns of the table must have distinct names.")
            found = [[_label(value) for value in _listed(table[name])] for name in names]
        else:
            rows = _rows(table)
            names = list(range(rows.shape[1]))
            found = [[_label(value) for value in column] for column in rows.T.tolist()]
        if not found or not found[0]:
            raise DataError("The table must have at least one row and one column.")
        return cls(range(len(found[0])), names, found)

    @classmethod
    def from_arrays(cls, users: Any, items: Any, answers: Any) -> AnswerTable:
        """Put a table together of aligned arrays or lists: who answers what with what.

        Examples
        --------
        >>> AnswerTable.from_arrays(["ann", "ann", "bob"], ["drink", "home", "drink"], ["tea", "coast", "milk"]).answers
        [['tea', 'milk'], ['coast', None]]
        """
        sides, cells = (normalise_ids(users, "user"), normalise_ids(items, "item")), list(answers)
        sizes = {side.size for side in sides} | {len(cells)}
        if len(sizes) > 1 or not cells:
            found = f"{sides[0].size} users, {sides[1].size} items and {len(cells)} answers"
            raise DataError(f"Arrays must have one entry per answer, and at least one; got {found}.")
        return _gathered([Answered(*sides, cells, in_array)], {""}, {})

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        known = sum(label is not None for column in self.answers for label in column)
        return f"AnswerTable: {known:,} answers of {len(self.users):,} users to {len(self.items):,} items"

    def arranged(self, items: Sequence[Any]) -> AnswerTable:
        """Return the table with these items as columns, in this order; nobody has answered one that it lacks."""
        strange = [item for item in self.items if item not in items]
        if strange:
            raise DataError(f"The item {strange[0]!r} is unknown. There are {listed(items)}.")
        place = {item: k for k, item in enumerate(self.items)}
        found = [self.answers[place[item]] if item in place else [None] * len(self) for item in items]
        return AnswerTable(self.users, list(items), found, self.recipe)

    def to_frame(self) -> Any:
        """Return a data frame with a column of users, then one for each item."""
        columns = {str(item): column for item, column in zip(self.items, self.answers, strict=True)}
        return to_frame({"user": list(self.users)} | columns)


@taking(AnswerKeywords)
def read_answers(source: Any, **options: Unpack[AnswerKeywords]) -> AnswerTable:
    """Read files, or other sources, of (user, item, answer) records, where answers are words or other labels.

    Takes what `read_ratings` takes, but leaves answers as they are written. Empty ones are missing.

    Parameters
    ----------
    source : path, data frame, Arrow stream or cursor, or several of them
    user, item, value : str or int, optional
        Columns by name or by position from 0, as in `read_ratings`. A list without usual names needs them, or
        ``header=False``, so that no answer is taken for a header.
    sep, header, encoding
        Of text files, as in `read_ratings`.
    wide : bool
        Whether there is one row for each user and one column for each item, with its id in the header.
    keep, ignore : str, int, or several of them, optional
        Of a wide table: the columns that are items, or those that are none.
    missing : str, number, or several of them
        What stands for a missing answer, beside nothing.

    Returns
    -------
    AnswerTable
        Users and items come in the order of the source. `NominalModel` takes it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "survey.csv")
    >>> _ = path.write_text("user,item,answer\\nann,drink,tea\\nann,travel,train\\nbob,drink,milk\\n")
    >>> read_answers(path)
    AnswerTable: 3 answers of 2 users to 2 items
    >>> read_answers(path).answers
    [['tea', 'milk'], ['train', None]]
    """
    return read_answers_as_told(source, ReadingOptions(**options))


def read_answers_as_told(source: Any, told: ReadingOptions) -> AnswerTable:
    """Do as `read_answers` with options that were put together."""
    sources = sources_of(source, told)
    strange = next((part for part in sources if not isinstance(part, RowSource)), None)
    if strange is not None:
        raise DataError(f"Expected a table of answers, got {type(strange).__name__}.")
    chunks = (chunk for part in sources if isinstance(part, RowSource) for chunk in part.answers())
    return _gathered(chunks, {"", *told.notation.missing}, told.to_dict())


def _gathered(chunks: Iterable[Answered], marks: set[str], recipe: dict[str, Any]) -> AnswerTable:
    """Put a table together of lists of answers; some texts stand for a missing one."""
    encoders = IdEncoder("user"), IdEncoder("item")
    keys: tuple[list[NDArray[Any]], list[NDArray[Any]]] = ([], [])
    labels: list[Any] = []
    for chunk in chunks:
        for encoder, found, side in zip(encoders, keys, (chunk.users, chunk.items), strict=True):
            found.append(encoder.read(side, chunk.place))
        labels += [_written(cell, marks) for cell in chunk.cells]
    (users, rows), (items, columns) = (_in_their_order(*side) for side in zip(encoders, keys, strict=True))
    return AnswerTable(users, items, _columns(users, items, (rows, columns), labels), recipe)


def _written(cell: Any, marks: set[str]) -> Any:
    """Return an answer without blanks around it, or None for what stands for a missing one."""
    label = _label(cell)
    if label is None or str(label).strip() in marks:
        return None
    return label.strip() if isinstance(label, str) else label


def _in_their_order(encoder: IdEncoder, keys: list[NDArray[Any]]) -> tuple[list[Any], NDArray[Any]]:
    """Return ids in the order in which they came, and the place of each entry's among them."""
    ids = encoder.finish()
    _, first, place = np.unique(encoder.row_numbers(np.concatenate(keys)), return_index=True, return_inverse=True)
    order = first.argsort()
    return ids[order].tolist(), order.argsort()[place]


def _columns(
    users: list[Any], items: list[Any], places: tuple[NDArray[Any], NDArray[Any]], labels: list[Any]
) -> list[list[Any]]:
    """Return answers by items; two different ones to the same question are refused."""
    if len(users) * len(items) > _MOST_CELLS:
        raise DataError(f"{len(users):,} users and {len(items):,} items are more than a table of answers can have.")
    found: list[list[Any]] = [[None] * len(users) for _ in items]
    for row, column, label in zip(*(place.tolist() for place in places), labels, strict=True):
        before = found[column][row]
        if None not in (before, label) and before != label:
            raise DataError(
                f"User {users[row]!r} answers {items[column]!r} with {str(before)[:40]!r} and with "
                f"{str(label)[:40]!r}. Leave one answer."
            )
        found[column][row] = before if label is None else label
    return found


def _listed(column: Any) -> list[Any]:
    found: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return found


def _rows(table: Any) -> NDArray[Any]:
    try:
        rows = np.array(table, dtype=object)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2:
        raise DataError(
            "Expected a table of answers: a data frame, or rows of equal length, one answer for each item; "
            f"got {type(table).__name__} of {rows.ndim} dimension(s)."
        )
    return rows


def _label(value: Any) -> Any:
    """Return a label as it is, or None for what stands for a missing one: None, nan, NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value != value else value


def listed(names: Sequence[Any]) -> str:
    """Name the first few, and count the others."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more
