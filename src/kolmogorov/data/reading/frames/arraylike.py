"""Whatever people hand in where a table of users × items is expected: as a NumPy array, or as a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.numbers.columns import first_no_number, named_kind, refuse_containers, refuse_kind
from kolmogorov.data.reading.frames.long_format import refuse_long_frame
from kolmogorov.data.reading.frames.native import frame_of
from kolmogorov.data.reading.wide import columns_apart
from kolmogorov.errors import DataError

_TABLE = "a table of numbers with one row per user and one column per item, and NaN for missing entries"


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
