"""Whatever people hand in where a table of users × items is expected: as a NumPy array, or as a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.numbers.columns import first_no_number, named_kind, refuse_containers, refuse_kind
from kolmogorov.data.reading.columns import usual_columns
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.wide import columns_apart
from kolmogorov.errors import DataError

#: A list of ratings seldom has more columns: ids, rating, time, title, a weight, where it came from. By judgement.
_MOST_COLUMNS = 8
#: So many rows tell ids from ratings where names do not. By judgement.
_TELLING_ROWS = 20
_TABLE = "a table of numbers with one row per user and one column per item, and NaN for missing entries"


def refuse_long_frame(frame: Any) -> None:
    """Raise for a frame, as narwhals sees it, that is a list of ratings; the sentence names the call that reads it.

    Examples
    --------
    >>> import narwhals as nw, pandas as pd
    >>> refuse_long_frame(nw.from_native(pd.DataFrame({"user": [1, 1], "film": [7, 9], "stars": [5, 3]})))
    Traceback (most recent call last):
    kolmogorov.errors.DataError: This frame with the columns 'user', 'film', 'stars' looks like a list of ratings, one
    row for each; expected a table with one row per user and one column per item. Make observations of it with
    Observations.from_frame(df, user='user', item='film', value='stars'). If it is a table after all, pass
    df.to_numpy().
    """
    roles = _roles(frame)
    if roles is None:
        return
    names = [frame.columns[position] for position in roles]
    call = ", ".join(f"{role}={name!r}" for role, name in zip(("user", "item", "value"), names, strict=True))
    raise DataError(
        f"This frame with the columns {', '.join(map(repr, frame.columns))} looks like a list of ratings, one row for "
        "each; expected a table with one row per user and one column per item. Make observations of it with "
        f"Observations.from_frame(df, {call}). If it is a table after all, pass df.to_numpy()."
    )


def named_roles(raw: Any) -> tuple[Any, Any, Any] | None:
    """Return the columns of user, item and value of a frame that is a list of ratings by the names of its columns.

    None is returned for everything else, also for a frame that only looks like one.
    """
    frame = frame_of(raw)
    if frame is None or not {"user", "item"} <= usual_columns([str(name) for name in frame.columns]).keys():
        return None
    roles = _roles(frame)
    return None if roles is None else tuple(frame.columns[position] for position in roles)  # type: ignore[return-value]


def _roles(frame: Any) -> tuple[int, int, int] | None:
    """Return the positions of user, item and value, or None where the frame is no list of ratings."""
    n_rows, width = frame.shape
    if not 3 <= width <= _MOST_COLUMNS or n_rows == 0:
        return None
    numeric = [frame[:, position].dtype.is_numeric() for position in range(width)]
    texts = [position for position in range(width) if _is_text(frame, position)]
    usual = usual_columns([str(name) for name in frame.columns])
    named = "user" in usual and "item" in usual
    if not named and not texts:
        return (0, 1, 2) if all(numeric[:3]) and _as_different_as_ids_and_ratings(frame) else None
    # Text cannot belong to a table of numbers; two columns of it, or one and a usual name, make a list of ratings.
    if not named and len(texts) < 2 and not usual:
        return None
    ids = [position for position in (*texts, *range(width)) if position not in usual.values()]
    user = usual["user"] if "user" in usual else next(iter(ids), None)
    item = usual["item"] if "item" in usual else next((position for position in ids if position != user), None)
    free = [position for position in range(width) if numeric[position] and position not in (user, item)]
    value = usual.get("value", next(iter(free), None))
    if user is None or item is None or value is None or not numeric[value]:
        return None
    return (user, item, value) if _could_be_ids(frame, user, item) else None


def _could_be_ids(frame: Any, user: int, item: int) -> bool:
    """Tell whether two columns can say who and what: ids are there, are whole, and as pairs hardly repeat."""
    users, items = _codes(frame, user), _codes(frame, item)
    if users is None or items is None:
        return False
    if _is_text(frame, user) or _is_text(frame, item):
        return True
    return 2 * _distinct_pairs(users, items) >= frame.shape[0]


def _as_different_as_ids_and_ratings(frame: Any) -> bool:
    """Tell three columns of numbers apart by their looks: columns of a table are on one scale, those of a list are not.

    Ids repeat, pairs of them do not; there are more of them than there are ratings to give, and they are larger.
    """
    if frame.shape[0] < _TELLING_ROWS:
        return False
    users, items = _codes(frame, 0), _codes(frame, 1)
    ratings = frame[:, 2]
    if users is None or items is None or bool(ratings.is_null().any()):
        return False
    n_ratings, top = ratings.n_unique(), float(ratings.max())
    for position, codes in ((0, users), (1, items)):
        n_ids = int(codes.max()) + 1
        large = float(frame[:, position].max()) > 2 * top
        if not large or n_ids < 2 * n_ratings or 3 * n_ids > 2 * frame.shape[0]:
            return False
    return _distinct_pairs(users, items) == frame.shape[0]


def _codes(frame: Any, position: int) -> NDArray[np.int64] | None:
    """Number the distinct ids of a column; None where it cannot hold ids."""
    column = frame[:, position]
    if bool(column.is_null().any()):
        return None
    cells = column.to_numpy()
    if cells.dtype.kind == "f" and not (np.isfinite(cells).all() and (cells == np.floor(cells)).all()):
        return None
    if cells.dtype.kind not in "iufOUT":
        return None
    try:
        return np.unique(cells, return_inverse=True)[1].astype(np.int64)
    except TypeError:
        return None


def _distinct_pairs(users: NDArray[np.int64], items: NDArray[np.int64]) -> int:
    return int(np.unique(users * (int(items.max()) + 1) + items).size)


def _is_text(frame: Any, position: int) -> bool:
    """Tell whether a column holds texts, for each of which there is some."""
    import narwhals as nw

    column = frame[:, position]
    kind = column.dtype
    if kind == nw.Object:
        return all(isinstance(cell, str) for cell in column.to_numpy())
    return bool(kind in (nw.String, nw.Categorical, nw.Enum))


class NotNumbersError(DataError, TypeError):
    """A cell that no number can be made of; scikit-learn's conventions ask for a TypeError."""


#: Row numbers, column numbers and values of the observed cells of a table, and its shape.
Cells = tuple[NDArray[Any], NDArray[Any], NDArray[Any], tuple[int, int]]


def sparse_cells(matrix: Any) -> Cells:
    """Return the stored cells of a SciPy sparse matrix or array, zeros among them."""
    from scipy.sparse import issparse

    if not issparse(matrix) or matrix.ndim != 2:
        raise DataError(f"Expected a two-dimensional SciPy sparse matrix or array, got {type(matrix).__name__}.")
    if matrix.format in ("dia", "bsr"):
        raise DataError(
            f"The format '{matrix.format}' does not tell stored zeros from padding. Convert the matrix to csr or coo."
        )
    table = matrix.tocoo()
    return table.row, table.col, table.data, table.shape


def dense_cells(table: Any, *, scale_known: bool = True) -> Cells:
    """Return the cells of a table that are not missing; the columns of a frame must be on one scale, or it is known."""
    array = dense_of(table)
    if not scale_known and (frame := frame_of(table)) is not None:
        refuse_two_scales(frame.columns, array)
    observed = ~np.isnan(array)
    if not observed.any():
        raise DataError("There are no observations: every cell of the table is NaN or there are no cells.")
    row, column = np.nonzero(observed)
    return row, column, array[observed], (array.shape[0], array.shape[1])


def dense_of(raw: Any) -> Floats:
    """Return a table as floats; NaN, None, masked cells and the empty cells of data frames become NaN.

    Examples
    --------
    >>> dense_of(np.ma.masked_equal([[1, 9], [0, 1]], 9))
    array([[ 1., nan],
           [ 0.,  1.]])
    """
    refuse_containers(raw, f"Expected {_TABLE}")
    frame = frame_of(raw)
    if frame is not None:
        refuse_long_frame(frame)
        return cells_of(frame)
    array = floats_of(raw)
    if array.ndim != 2:
        raise DataError(f"Expected a two-dimensional array (users × items), got shape {array.shape}.")
    return array


def floats_of(raw: Any) -> Floats:
    """Return an array or nested lists as floats, whatever their shape; masked cells are NaN."""
    if isinstance(raw, np.ma.MaskedArray):
        refuse_kind(raw.data, "The cells of the table")
        hidden = np.ma.getmaskarray(raw)
        array = np.full(raw.shape, np.nan)
        array[~hidden] = floats_of(raw.data[~hidden])
        return array
    try:
        array = np.asarray(raw)
    except (TypeError, ValueError) as error:
        raise DataError(f"Expected {_TABLE}: {str(error).rstrip('.')}.") from None
    if array.ndim == 0:
        raise DataError(f"Expected a two-dimensional array (users × items), got {named_kind(raw)}.")
    refuse_kind(array, "The cells of the table")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        position, entry = first_no_number(array)
        cell = ", ".join(map(str, np.unravel_index(position, array.shape)))
        kind = NotNumbersError if isinstance(error, TypeError) else DataError
        raise kind(f"Expected {_TABLE}; cell ({cell}) holds {entry!r} ({error}).") from None


def cells_of(frame: Any) -> Floats:
    """Return the cells of a wide frame, whatever way it marks the empty ones."""
    array = np.full(frame.shape, np.nan)
    for position, name in enumerate(frame.columns):
        column = frame[:, position]
        known = ~column.is_null().to_numpy()
        cells = column.to_numpy()[known]
        try:
            refuse_kind(cells, f"The cells of column {name!r}")
            array[known, position] = cells.astype(np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            held = f"Expected {_TABLE}; column {name!r} holds {first_no_number(cells)[1]!r}."
            raise DataError(f"{held} {_way_to_read(frame)}") from None
    return array


def _way_to_read(frame: Any) -> str:
    """Name the call that reads a frame with texts."""
    if frame.shape[1] == 2:
        return (
            "If every row is a yes, as in a list of clicks or purchases, read it with "
            "kolmogorov.read_ratings(df, only_yes=True)."
        )
    return (
        "kolmogorov.read_ratings(df, wide=True) takes the first column, or an index of texts, for the users, and reads "
        "words such as yes and no."
    )


def refuse_two_scales(names: Any, table: Floats) -> None:
    """Refuse a frame of numbers with a column on another scale, such as an age beside yes and no."""
    strange = columns_apart(table)
    if not strange.size:
        return
    name, cells = names[int(strange[0])], table[:, int(strange[0])]
    low, high = np.nanmin(cells), np.nanmax(cells)
    raise DataError(
        f"Column {name!r} is on another scale than the others: it reaches from {low:g} to {high:g}. Drop it if it is "
        f"no item. If it names the users, read the frame with kolmogorov.read_ratings(df, wide=True, user={name!r}). "
        f"If all are on one scale, say so: Observations.from_dense(df, maximum={np.nanmax(table):g})."
    )
