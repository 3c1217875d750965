"""Where attributes come from: the columns of a data frame, or of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from kolmogorov.data.attributes.cells import plain_cells
from kolmogorov.data.ids.columns import BLANK_WORDS
from kolmogorov.data.reading.columns import id_column, usual_columns
from kolmogorov.data.reading.frames.arrow import is_parquet, opened_parquet
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.text.file import WHITESPACE, TextFile
from kolmogorov.data.reading.text.layout import is_number, separator_of
from kolmogorov.data.reading.titles import ID_NAMES, TITLE_NAMES
from kolmogorov.errors import DataError

Side = Literal["users", "items"]
#: Gives the cells of a column by its position.
Cells = Callable[[int], list[Any]]
#: Lines that are read together. By judgement.
_CHUNK = 4_096


class Sheet(NamedTuple):
    """The ids of users or items, the name of their column, and the cells of all other columns by name."""

    ids: Any
    id_name: str
    cells: dict[str, list[Any]]


def is_frame(raw: Any) -> bool:
    """Tell whether something is a data frame of any library."""
    return frame_of(raw) is not None


def sheet_of(raw: Any, side: Side) -> Sheet:
    """Return the columns of a frame, or of a text or parquet file given by its path.

    Ids are in the column with a usual name for them, such as user_id, or id, or member where no two rows have the same;
    else in pandas' index, where it has a name or holds texts; else in the first column, unless it names the other side.

    Examples
    --------
    >>> import pandas as pd
    >>> sheet_of(pd.DataFrame({"age": [30, 50], "user": [7, 9]}), "users").cells
    {'age': [30, 50]}
    """
    if isinstance(raw, (str, os.PathLike)):
        if not is_parquet(raw):
            return _of_text(raw, side)
        with opened_parquet(raw) as file:
            raw = file.read()
    raw, indexed = _with_index(raw)
    frame = frame_of(raw)
    if frame is None or not frame.columns:
        raise DataError(
            f"{side!r} must be a data frame or a file with one row for each id, its columns attributes; got "
            f"{type(raw).__name__}."
        )
    names = list(frame.columns)
    place = _place([str(name) for name in names], side, indexed, lambda at: plain_cells(frame[names[at]]))
    unused = {place, 0} if indexed else {place}
    cells = {str(name): plain_cells(frame[name]) for at, name in enumerate(names) if at not in unused}
    return Sheet(frame[names[place]].to_numpy(), str(names[place]), cells)


def _place(names: list[str], side: Side, indexed: int, cells: Cells) -> int:
    """Return which column holds the ids; the first is an index where `indexed`, which only a sure name speaks for."""
    role = side[:-1]
    found = id_column(names, role)
    if found is not None:
        return found
    columns = ["" if at < indexed else name for at, name in enumerate(names)]
    plain = [name.strip().lower() for name in columns]
    found = next((plain.index(name) for name in ID_NAMES if name in plain), None)
    other: Side = "items" if side == "users" else "users"
    if id_column(names[:1], other[:-1]) == 0:
        raise _of_others(names[0], side, other)
    if found is not None:
        return found
    # A name such as member may be that of ids, or of an attribute: ids differ.
    untitled = ["" if name in TITLE_NAMES else name for name in plain]
    for some in (untitled, columns):
        at = usual_columns(some).get(role)
        if at is not None and _all_differ(cells(at)):
            return at
    if usual_columns(names[:1]).get(other[:-1]) == 0:
        raise _of_others(names[0], side, other)
    return 0


def _of_others(name: str, side: Side, other: Side) -> DataError:
    return DataError(
        f"{side!r} must have the ids of {side} in a column, for example {side[:-1]!r}, but its first column, {name!r}, "
        f"names {other}. Give the frame as {other}=, or call the column of the ids {side[:-1]!r}."
    )


def _all_differ(cells: list[Any]) -> bool:
    return None not in cells and len(set(map(str, cells))) == len(cells)


def _of_text(path: str | os.PathLike[str], side: Side) -> Sheet:
    with TextFile(path) as file:
        line = file.first_line()
        separator = separator_of(line)
        names = [field.strip() for field in file.fields(line, separator)]
        if any(is_number(name) or not name for name in names):
            raise DataError(
                f"{file.name}: the first line must name the columns, such as '{side[:-1]},age,job', got "
                f"{line.strip()[:60]!r}."
            )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"{file.name}: two columns are called {twice!r}.")
        file.drop_first_line()
        records = file.records(separator, quoted=separator != WHITESPACE)
        rows: list[list[str]] = []
        while taken := file.take(records, _CHUNK):
            rows += [record for record in taken if any(field.strip() for field in record)]
        wrong = next((record for record in rows if len(record) != len(names)), None)
        if wrong is not None:
            raise DataError(
                f"{file.name}: expected {len(names)} columns in each line, got {len(wrong)} in "
                f"{separator.join(wrong)[:60]!r}."
            )
        columns = {name: [_cell(row[at]) for row in rows] for at, name in enumerate(names)}
        place = _place(names, side, 0, lambda at: columns[names[at]])
        return Sheet(_ids(columns.pop(names[place]), file.name), names[place], columns)


def _cell(text: str) -> str | None:
    plain = text.strip()
    return None if not plain or plain.lower() in BLANK_WORDS else plain


def _ids(texts: list[str | None], source: str) -> Any:
    """Return ids as they are elsewhere: integers where all of them are."""
    if any(text is None for text in texts):
        raise DataError(f"{source}: row {1 + texts.index(None):,} has no id.")
    whole = all(text.removeprefix("-").isdecimal() and len(text) < 19 for text in texts if text is not None)
    found = np.empty(len(texts), dtype=np.int64 if whole else object)
    found[:] = [int(text) if whole else text for text in texts if text is not None]
    return found


def _with_index(raw: Any) -> tuple[Any, int]:
    """Put an index of pandas that says something before the columns, and say how many were put there."""
    index: Any = getattr(raw, "index", None)
    if not hasattr(raw, "reset_index") or getattr(index, "nlevels", 2) != 1:
        return raw, 0
    if index.name is None and not all(isinstance(label, str) for label in index):
        return raw, 0
    free = next(name for name in ("index", "_index", "__index__") if name not in raw.columns)
    return raw.rename_axis(index=index.name if index.name not in (None, *raw.columns) else free).reset_index(), 1
