"""What is in doubt is asked: columns that are no items, codes that mean no answer, lists that look like tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.columns import (
    is_time,
    listed,
)
from kolmogorov.data.options import Reading
from kolmogorov.data.sources import Source
from kolmogorov.data.values import (
    BLANK_WORDS,
    PAIR_OF,
    looks_like_number,
    text_of,
)
from kolmogorov.errors import DataError

#: Rows that are looked at where the kind of table is in doubt, and cells that tell what is in a column.
_LOOKED_AT, _TELLING = 1_000, 8
#: A code such as 99 lies beyond so many times the other values, is rare, and those are few and whole.
_FAR, _RARE, _FEW = 3.0, 0.1, 12


def head(source: Source) -> list[list[Any]]:
    """Return the first rows of all columns, by columns."""
    arrays = next(source.batches(range(len(source.names))), [])
    return [array.slice(0, _LOOKED_AT).to_pylist() for array in arrays]


def could_be_values(cells: Sequence[Any]) -> bool:
    """Tell whether cells are numbers or yes and no, empty ones aside."""
    texts = [text_of(cell) for cell in cells if cell is not None and text_of(cell).casefold() not in BLANK_WORDS]
    return bool(texts) and all(looks_like_number(text) or text.casefold() in PAIR_OF for text in texts)


def refuse_wide(source: Source, at: Mapping[str, int], guessed: set[str], told: Reading) -> None:
    """Refuse a table whose columns have no usual names, where all but the first few could be items."""
    if "value" not in guessed or not guessed & {"user", "item"}:
        return
    values = [k for k, cells in enumerate(head(source)) if k != at["user"] and could_be_values(cells)]
    others = len(source.names) - 1
    if len(values) < 3 or 2 * len(values) < others or not ("item" in guessed or at["item"] in values):
        return
    raise DataError(
        f"{source.name}: is it a list of ratings, or one row per user and one column per item? The columns "
        f"{listed([source.names[k] for k in values], 4)} all hold values. If each is an item, say wide=True. If it is "
        "a list, name its columns with item= and value=."
    )


def refuse_text(source: Source, at: Mapping[str, int]) -> None:
    """Refuse a column that was taken for the ratings and holds text, where others hold numbers."""
    others = [
        k
        for k, cells in enumerate(head(source))
        if k not in at.values() and not is_time(source.names[k]) and could_be_values(cells)
    ]
    if others:
        shown = ", ".join(repr(str(source.names[k])) for k in others)
        raise DataError(
            f"{source.place(0)}: column {str(source.names[at['value']])!r} was taken for the ratings, and holds text. "
            f"Numbers are in: {shown}. For example, say value={source.names[others[0]]!r}."
        ) from None


def refuse_scales(name: str, names: Sequence[str], columns: Sequence[Floats], words: Sequence[bool]) -> None:
    """Refuse columns that are not on the scale of the others, with the ranges that there are."""
    known = [k for k, column in enumerate(columns) if (~np.isnan(column)).any()]
    if not known:
        return
    ends = {k: (float(np.nanmin(columns[k])), float(np.nanmax(columns[k]))) for k in known}
    strange = strange_columns(list(ends.values()), [columns[k] for k in known], [words[k] for k in known])
    if not strange:
        return
    apart = [known[k] for k in strange]
    shown = [f"{names[k]} {ends[k][0]:g} to {ends[k][1]:g}" for k in apart[:6]]
    rest = [ends[k] for k in known if k not in apart]
    usual = f"{min(low for low, _ in rest):g} to {max(high for _, high in rest):g}" if rest else "none"
    out = repr(names[apart[0]]) if len(apart) == 1 else repr([names[k] for k in apart])
    which = f"s {names[apart[0]]!r} and {len(apart) - 1} more are" if len(apart) > 1 else f" {names[apart[0]]!r} is"
    raise DataError(
        f"{name}: column{which} on another scale than the others: {', '.join(shown)}; the others {usual}. To leave "
        f"out what is no item, say ignore={out}. To scale each column by itself, say scale='column'. If all are on one "
        "scale, say which: maximum=."
    )


def strange_columns(ends: Sequence[Any], columns: Sequence[Floats], words: Sequence[bool]) -> list[int]:
    """Return the numbers of the columns that are not on the scale of the others.

    A column of yes and no beside others is strange, and one that lies far above them. Where half of the columns or more
    begin (or end) at the same number, that is an end of the scale, and whatever lies beyond it is strange.

    Examples
    --------
    >>> stars, ages = np.array([1.0, 5, 3]), np.array([18.0, 61, 44])
    >>> strange_columns([(1, 5), (1, 5), (18, 61)], [stars, stars, ages], [False] * 3)
    [2]
    """
    low, high = (np.array([end[k] for end in ends], dtype=float) for k in (0, 1))
    cells = np.array([int((~np.isnan(column)).sum()) for column in columns])

    bits = (low == 0.0) & (high == 1.0) & ((cells >= _TELLING) | np.array(words))
    beyond = (high > 1.0) | (low < 0.0)
    if bits.any() and beyond.any():
        return np.flatnonzero(beyond if beyond.sum() <= bits.sum() else bits).tolist()
    if len(ends) < 2:
        return []
    strange = (low > _FAR * max(float(np.median(high)), 1.0)) & (cells >= 2)
    sure = cells >= _TELLING
    if sure.sum() > 2:
        for end, sign in ((high, 1.0), (low, -1.0)):
            points, counts = np.unique(end[sure], return_counts=True)
            if 2 * counts.max() >= sure.sum():
                strange |= sure & (sign * end > sign * points[counts.argmax()])
            else:
                span = max(float(np.median(high[sure]) - np.median(low[sure])), 1e-12)
                strange |= sure & (sign * (end - np.median(end[sure])) > 2.0 * span)
    return np.flatnonzero(strange).tolist() if not strange.all() else []


def refuse_list(table: Floats) -> None:
    """Refuse three columns of numbers that look like users, items and ratings, where a table is expected.

    Ids repeat, pairs of them do not, and there are more of them than there are ratings to give.
    """
    n_rows, width = table.shape
    if width != 3 or n_rows < 2 * _TELLING or np.isnan(table).any() or (table[:, :2] % 1.0).any():
        return
    n_users, n_items, n_ratings = (np.unique(column).size for column in table.T)
    more = min(n_users, n_items) >= 2 * n_ratings and 3 * max(n_users, n_items) <= 2 * n_rows
    if more and np.unique(table[:, :2], axis=0).shape[0] == n_rows:
        raise DataError(
            "Three columns of numbers look like a list of users, items and ratings; expected a table with one row per "
            "user and one column per item. For a list say Observations.from_arrays(X[:, 0], X[:, 1], X[:, 2]); for a "
            "table of three items Observations.from_dense(X)."
        )


def refuse_codes(points: Floats, counts: NDArray[np.int64], place_of: Callable[[float], str]) -> None:
    """Refuse a value such as 99 or -9 beside 1 to 5, which means that there is none."""
    for at, others in ((-1, points[:-1]), (0, points[1:])):
        if not 2 <= others.size <= _FEW or (points % 1.0).any():
            continue
        code, low, high, share = float(points[at]), others[0], others[-1], float(counts[at] / counts.sum())
        far = abs(code) > _FAR * max(abs(low), abs(high), 1.0) or (code < 0.0 <= low and low - code > high - low)
        if not far or share > _RARE:
            continue
        raise DataError(
            f"{place_of(code)}: the value {code:g} lies far outside the others, {low:g} to {high:g}, and {share:.1%} "
            f"of the rows have it. If it means that there is no answer, say missing={code:g}. If it is one, say "
            f"{'maximum' if at else 'minimum'}={code:g}."
        )
