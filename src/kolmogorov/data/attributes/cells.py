"""The cells of an attribute: which kind they are of, and what they are as that kind."""

from __future__ import annotations

import datetime
import math
import numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.numbers.notation import PAIR_OF

Kind = Literal["number", "boolean", "category", "list"]
#: What stands between the entries of a list that is written as one text.
_BETWEEN = "|"
_DAY = 86_400.0
#: Texts that are a yes or a no beyond doubt, in small letters; a "t", a "+" or a "like" may be something else.
_DOUBTFUL = frozenset(("t", "f", "+", "-", "like", "dislike"))
_TRUTHS = {word: float(word == pair[0]) for word, pair in PAIR_OF.items() if word not in _DOUBTFUL}


def plain_cells(series: Any) -> list[Any]:
    """Return the cells of a column, as narwhals sees it, as Python objects; None where there is nothing.

    Examples
    --------
    >>> import narwhals as nw, pandas as pd
    >>> plain_cells(nw.from_native(pd.Series([1.5, float("nan")]), series_only=True))
    [1.5, None]
    """
    gone = series.is_null().to_list()
    return [None if no or _is_nothing(cell) else cell for cell, no in zip(series.to_list(), gone, strict=True)]


def _is_nothing(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return isinstance(cell, numbers.Real) and not math.isfinite(cell)


def kind_of(cells: list[Any]) -> Kind | None:
    """Return the kind of cells, None where they are of none.

    Examples
    --------
    >>> kind_of([True, None]), kind_of(["3", "4.5"]), kind_of(["Drama|War", "War"]), kind_of(["nurse", "engineer"])
    ('boolean', 'number', 'list', 'category')
    >>> kind_of(["True", "False"]), kind_of(["yes", "no", "maybe"])
    ('boolean', 'category')
    """
    known = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, (bool, np.bool_)) or _worded_truth(cell) is not None for cell in known):
        return "boolean"
    if all(isinstance(cell, (numbers.Real, datetime.date)) for cell in known):
        return "number"
    if all(_is_listed(cell) for cell in known):
        return "list"
    if not all(isinstance(cell, (str, numbers.Real)) for cell in known):
        return None
    if all(_number(cell) is not None for cell in known):
        return "number"
    return "list" if any(_BETWEEN in cell for cell in known if isinstance(cell, str)) else "category"


def as_numbers(cells: list[Any]) -> Floats:
    """Return cells as numbers, dates as days; NaN where there is none."""
    found = (None if cell is None else _number(cell) for cell in cells)
    return np.array([np.nan if number is None else number for number in found])


def as_truths(cells: list[Any]) -> Floats:
    """Return cells as 1 for yes and 0 for no; NaN where there is nothing, or something else.

    Examples
    --------
    >>> as_truths([True, "False", "yes", 0, None, "perhaps"]).tolist()
    [1.0, 0.0, 1.0, 0.0, nan, nan]
    """
    return np.array([np.nan if cell is None else _truth(cell) for cell in cells])


def as_texts(cells: list[Any]) -> NDArray[Any]:
    """Return cells as texts; None where there is nothing."""
    found = np.empty(len(cells), dtype=object)
    found[:] = [None if cell is None else str(cell).strip() for cell in cells]
    return found


def as_lists(cells: list[Any]) -> list[list[str] | None]:
    """Return cells as lists of texts; None where there is nothing.

    Examples
    --------
    >>> as_lists(["War | Drama", ["War"], None, []])
    [['War', 'Drama'], ['War'], None, []]
    """
    return [None if cell is None else _entries(cell) for cell in cells]


def _entries(cell: Any) -> list[str]:
    parts = list(cell) if _is_listed(cell) else str(cell).split(_BETWEEN)
    texts = (str(part).strip() for part in parts if part is not None)
    return [text for text in texts if text]


def _is_listed(cell: Any) -> bool:
    return isinstance(cell, (list, tuple, set, frozenset, np.ndarray))


def _worded_truth(cell: Any) -> float | None:
    return _TRUTHS.get(cell.strip().casefold()) if isinstance(cell, str) else None


def _truth(cell: Any) -> float:
    found = _worded_truth(cell)
    number = _number(cell) if found is None else found
    return number if number in (0.0, 1.0) else np.nan


def _number(cell: Any) -> float | None:
    """Return a cell as a number; None for one that is none."""
    if isinstance(cell, datetime.datetime):
        seconds = 3600.0 * cell.hour + 60.0 * cell.minute + cell.second
        return cell.toordinal() + seconds / _DAY
    if isinstance(cell, datetime.date):
        return float(cell.toordinal())
    try:
        found = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None
