"""Moments: numbers in any unit, or dates, which become seconds since 1970."""

from __future__ import annotations

import datetime
import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.numbers.columns import Place
from kolmogorov.errors import DataError

#: Times lie between this and its negative: milliseconds since 1970 do, and differences can be computed with.
LARGEST_TIME = 1e13
_MICROSECONDS = 1e6


class Moments(NamedTuple):
    """Times as numbers, NaN where there is none, and whether they were dates: seconds since 1970 then."""

    seconds: Floats
    dated: bool


def moments_of(raw: Any) -> Moments:
    """Return times, which are all numbers or all dates, as the first one is; what is something else is NaN.

    Dates are those of Python, NumPy, pandas or polars, or texts as ISO 8601 has them. One without a time zone is UTC.

    Examples
    --------
    >>> moments_of(["1970-01-02", "1970-01-01T00:01Z", "yesterday"])
    Moments(seconds=array([8.64e+04, 6.00e+01,      nan]), dated=True)
    >>> moments_of(("881250949", "", "2020-01-01"))
    Moments(seconds=array([8.81250949e+08,            nan,            nan]), dated=False)
    """
    if isinstance(raw, tuple):
        try:
            # The fields of a text file, most often numbers.
            return Moments(np.array(list(map(float, raw))), False)
        except (TypeError, ValueError):
            pass
    array = np.asarray(raw)
    if array.dtype.kind == "M":
        return Moments(_of_datetimes(array), True)
    if array.dtype.kind in "biuf":
        return Moments(array.astype(np.float64), False)
    if array.dtype.kind not in "OUT":
        return Moments(np.full(array.shape, np.nan), False)
    read = [_moment(cell) for cell in array.ravel().tolist()]
    dated = next((is_date for _, is_date in read if is_date is not None), False)
    seconds = np.array([number if is_date is dated else np.nan for number, is_date in read])
    return Moments(seconds.reshape(array.shape), dated)


def _of_datetimes(array: NDArray[Any]) -> Floats:
    found = array.astype("datetime64[us]").astype(np.int64) / _MICROSECONDS
    return np.where(np.isnat(array), np.nan, found)


def _moment(cell: Any) -> tuple[float, bool | None]:
    """Return a cell as a number, and whether it is a date; None where it is neither."""
    if isinstance(cell, str):
        return _of_text(cell.strip())
    if isinstance(cell, datetime.date):
        return _of_date(cell)
    if isinstance(cell, np.datetime64):
        return float(_of_datetimes(np.array(cell))), True
    return _of_number(cell) if isinstance(cell, numbers.Real) else (np.nan, None)


def _of_number(cell: Any) -> tuple[float, bool | None]:
    try:
        number = float(cell)
    except (OverflowError, ValueError):
        return np.nan, None
    return (number, False) if math.isfinite(number) else (np.nan, None)


def _of_text(text: str) -> tuple[float, bool | None]:
    try:
        return _of_date(datetime.datetime.fromisoformat(text)) if "-" in text[4:] else _of_number(text)
    except ValueError:
        return _of_number(text)


def _of_date(date: datetime.date) -> tuple[float, bool | None]:
    if not isinstance(date, datetime.datetime):
        date = datetime.datetime(date.year, date.month, date.day)
    if date != date:  # pandas' NaT
        return np.nan, None
    return (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp(), True


class MomentReader:
    """Reads a column of times, batch by batch: all numbers, or all dates.

    Where the column was asked for, every record needs a time. Where it was found by its name, one record without makes
    it of no use.
    """

    def __init__(self, name: Any, *, asked: bool) -> None:
        self._name, self._asked = name, asked
        #: Whether every record so far has a time.
        self.is_usable = True
        #: Whether times are dates; None before there was one.
        self.dated: bool | None = None

    def read(self, cells: Any, wanted: NDArray[np.bool_], place: Place) -> Floats:
        """Return times, NaN where there is none; `wanted` are the rows that need one."""
        if not self.is_usable:
            return np.full(wanted.size, np.nan)
        seconds, dated = moments_of(cells)
        lost = ~(np.abs(seconds) <= LARGEST_TIME)
        if not lost.all():
            self.dated = dated if self.dated is None else self.dated
            lost |= dated != self.dated
        lost &= wanted
        if lost.any():
            self.is_usable = False
            if self._asked:
                at = int(np.argmax(lost))
                raise DataError(
                    f"{place(at)}: column {self._name!r} must hold a time for each rating, as a number (seconds, days, "
                    f"years) or a date such as 2024-05-31T18:00, all of one kind; got {str(cells[at])[:40]!r}."
                )
        return np.where(lost, np.nan, seconds)
