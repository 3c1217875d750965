"""One attribute as a block of standardised columns, and how cells that come later become the same columns."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.numbers.notation import PAIR_OF
from kolmogorov.data.reading.columns import id_column
from kolmogorov.errors import InvariantError

Kind = Literal["number", "boolean", "category", "list"]
#: What stands between the entries of a list that is written as one text.
_BETWEEN = "|"
_DAY = 86_400.0
#: Texts that are a yes or a no beyond doubt, in small letters; a "t", a "+" or a "like" may be something else.
_DOUBTFUL = frozenset(("t", "f", "+", "-", "like", "dislike"))
_TRUTHS = {word: float(word == pair[0]) for word, pair in PAIR_OF.items() if word not in _DOUBTFUL}
#: Categories that fewer rows have count as none; by judgement. With more different ones an attribute is left out.
_RARE, MOST_CATEGORIES = 3, 1_000
#: The most columns of an attribute: those of its most frequent categories. By judgement.
_MOST_COLUMNS = 200
#: Texts that repeat less often than this, on average, are names of their rows. By judgement.
_REPEATED = 1.5
#: Names of columns of ids: id, film_id, imdbId, but not paid.
_ID = re.compile(r"(^|[^a-zA-Z])[iI][dD]$|[a-z0-9]I[dD]$")
#: So many whole numbers that all differ, at equal distances, count the rows. By judgement: fewer may be years.
_MANY = 100
#: Numbers count as so many standard deviations at most. By judgement.
_FARTHEST = 5.0
#: Spreads, of numbers of size 1, that are rounding.
_NOTHING = 1e-9


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


class UnusableError(ValueError):
    """An attribute says nothing, or nothing that can be used; the message says why."""


@dataclass(frozen=True)
class Attribute:
    """What one column of a frame is, and how it becomes numbers.

    A number has one column, a category or a list one for each of its `categories`. They are centred and divided by one
    `scale`, so that their variances sum to 1 over the rows that have the attribute: what is missing is 0 everywhere.
    """

    name: str
    kind: Kind
    categories: tuple[str, ...]
    centre: tuple[float, ...]
    scale: float
    #: Categories that are too rare to have a column.
    n_rare: int = 0

    @classmethod
    def of(cls, name: str, cells: list[Any]) -> Attribute:
        """Recognise and learn an attribute; one that cannot be used raises `UnusableError`.

        Examples
        --------
        >>> job = Attribute.of("job", ["nurse", "engineer", None] * 4)
        >>> job.kind, job.categories
        ('category', ('engineer', 'nurse'))
        >>> job.encode(["nurse", None, "pilot"]).round(2).tolist()
        [[-0.71, 0.71], [0.0, 0.0], [-0.71, -0.71]]
        """
        kind = kind_of(cells)
        if kind is None:
            raise UnusableError("neither numbers nor texts nor lists")
        if all(cell is None for cell in cells):
            raise UnusableError("empty")
        categories, n_rare = _categories(kind, cells)
        raw = _raw(kind, categories, cells)
        if kind == "number":
            _refuse_ids(name, raw[:, 0])
        # Numbers may be so large that their squares are not finite.
        size = max(float(np.nanmax(np.abs(raw))), np.finfo(float).tiny)
        centre, spread = np.nanmean(raw / size, axis=0) * size, np.sqrt(np.nanvar(raw / size, axis=0).sum())
        if not spread > _NOTHING:
            raise UnusableError("always the same")
        return cls(name, kind, categories, tuple(centre.tolist()), float(spread * size), n_rare)

    @property
    def columns(self) -> tuple[str, ...]:
        """What the columns are called in front of people."""
        return tuple(f"{self.name}: {category}" for category in self.categories) or (self.name,)

    @property
    def words(self) -> str:
        """What it was recognised as."""
        if not self.categories:
            return "yes or no" if self.kind == "boolean" else "number"
        kinds = f"{len(self.categories):,} {'categories' if self.kind == 'category' else 'categories, lists of them'}"
        return f"{kinds}, {self.n_rare:,} rarer left out" if self.n_rare else kinds

    def encode(self, cells: list[Any]) -> Floats:
        """Return cells as standardised numbers; float64[n, n_columns]."""
        found = (_raw(self.kind, self.categories, cells) - np.array(self.centre)) / self.scale
        return np.clip(np.where(np.isnan(found), 0.0, found), -_FARTHEST, _FARTHEST)

    def strange(self, cells: list[Any]) -> list[str]:
        """Return what cells hold that this attribute does not know: one text for each cell that holds any.

        Examples
        --------
        >>> Attribute.of("age", [20, 30, 40]).strange([50, "old", None])
        ['old']
        >>> Attribute.of("job", ["nurse", "engineer"] * 3).strange(["nurse", "pilot"])
        ['pilot']
        """
        if self.kind in ("number", "boolean"):
            lost = np.isnan(_raw(self.kind, (), cells)[:, 0]).tolist()
            return [str(cell) for cell, no in zip(cells, lost, strict=True) if no and cell is not None]
        known = set(self.categories)
        listed = as_lists(cells) if self.kind == "list" else [None if t is None else [t] for t in as_texts(cells)]
        others = ([text for text in entries or () if text not in known] for entries in listed)
        return [entries[0] for entries in others if entries]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> Attribute:
        """Undo `to_dict`; what forms no attribute raises `InvariantError`."""
        categories, centre = (tuple(stored[name]) for name in ("categories", "centre"))
        kind, scale = stored["kind"], stored["scale"]
        by_category = kind in ("category", "list")
        if not (by_category or kind in ("number", "boolean")) or not all(isinstance(c, str) for c in categories):
            raise InvariantError(f"there is no attribute of the kind {str(kind)[:40]!r}")
        numbers = np.array([*centre, scale], dtype=np.float64)
        if len(centre) != (len(categories) if by_category else 1) or not np.isfinite(numbers).all() or not scale > 0:
            raise InvariantError("the numbers of an attribute do not belong together")
        rare = stored.get("n_rare", 0)
        if type(rare) is not int or rare < 0:
            raise InvariantError("an attribute has a strange number of rare categories")
        return cls(str(stored["name"]), kind, categories, tuple(map(float, centre)), float(scale), rare)


def _refuse_ids(name: str, numbers: Floats) -> None:
    """Refuse whole numbers no two of which are the same, where their name or their even steps say that they are ids."""
    known = np.sort(numbers[~np.isnan(numbers)])
    steps = np.diff(known)
    if known.size < 2 or not (steps > 0).all() or (known % 1.0).any():
        return
    if _ID.search(name.strip()) or id_column([name], "user") == 0 or id_column([name], "item") == 0:
        raise UnusableError(f"a different id in each of {known.size:,} rows")
    if known.size >= _MANY and (steps == steps[0]).all():
        raise UnusableError(f"a number of the row: {known.size:,} of them at equal distances")


def _categories(kind: Kind, cells: list[Any]) -> tuple[tuple[str, ...], int]:
    """Return the categories that enough rows have, by name, and how many others there are."""
    if kind not in ("category", "list"):
        return (), 0
    texts: Iterable[str]
    if kind == "list":
        texts = (text for entries in as_lists(cells) for text in dict.fromkeys(entries or ()))
    else:
        texts = (text for text in as_texts(cells) if text is not None)
    counts = Counter(texts)
    if kind == "category" and counts.total() < _REPEATED * len(counts):
        raise UnusableError(f"{len(counts):,} different texts in {counts.total():,} rows")
    if len(counts) > MOST_CATEGORIES:
        raise UnusableError(f"{len(counts):,} categories, at most {MOST_CATEGORIES:,} can be used")
    often = [text for text, count in counts.most_common(_MOST_COLUMNS) if count >= _RARE]
    if not often:
        raise UnusableError(f"no category of {_RARE} rows or more")
    return tuple(sorted(often)), len(counts) - len(often)


def _raw(kind: Kind, categories: tuple[str, ...], cells: list[Any]) -> Floats:
    """Return cells as numbers before they are standardised; NaN where there is nothing."""
    if kind in ("number", "boolean"):
        return (as_numbers if kind == "number" else as_truths)(cells)[:, None]
    gone = np.array([cell is None for cell in cells], dtype=bool)
    found = _listed(categories, cells) if kind == "list" else _one_hot(categories, as_texts(cells))
    found[gone] = np.nan
    return found


def _one_hot(categories: tuple[str, ...], texts: NDArray[Any]) -> Floats:
    from sklearn.preprocessing import OneHotEncoder

    known = np.array(categories, dtype=object)
    encoder = OneHotEncoder(categories=[known], handle_unknown="ignore", sparse_output=False).fit(known[:, None])
    filled = np.array(["" if text is None else text for text in texts], dtype=object)
    found: Floats = encoder.transform(filled[:, None]) if len(filled) else np.empty((0, len(known)))
    return found


def _listed(categories: tuple[str, ...], cells: list[Any]) -> Floats:
    from sklearn.preprocessing import MultiLabelBinarizer

    known = set(categories)
    entries = [[text for text in row or () if text in known] for row in as_lists(cells)]
    binarizer = MultiLabelBinarizer(classes=list(categories))
    found: Floats = binarizer.fit_transform(entries).astype(np.float64)
    return found
