"""Words and other labels to numbers of categories, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data.answers import AnswerTable, listed
from kolmogorov.errors import DataError
from kolmogorov.sampling.nominal import Answers

#: Categories that an item may have at most, by judgement.
MOST_CATEGORIES = 256


@dataclass(frozen=True, eq=False)
class Categories:
    """The items of a table, and the categories that each of them has."""

    names: list[Any]
    categories: list[list[Any]]

    @classmethod
    def of(cls, table: AnswerTable) -> Self:
        """Take all labels that occur: in order where they have one, else as they come."""
        found = [_distinct(name, column) for name, column in zip(table.items, table.answers, strict=True)]
        return cls(table.items, found)

    @property
    def widths(self) -> NDArray[np.int64]:
        """How many categories every item has."""
        return np.array([len(categories) for categories in self.categories], dtype=np.int64)

    def table(self, given: Any) -> AnswerTable:
        """Return a table with the items of the fit as its columns, by name; one read from a list may lack some."""
        table = AnswerTable.of(given)
        if not isinstance(given, AnswerTable) and set(table.items) != set(self.names):
            raise DataError(
                f"The table must have the columns of the fit, {listed(self.names)}; it has {listed(table.items)}."
            )
        return table.arranged(self.names)

    def codes(self, table: AnswerTable) -> Answers:
        """Return numbers of categories, -1 for what is missing, or is no category of its item.

        A number that was read from a file is a text, and is found all the same.
        """
        out = np.empty((len(table), len(self.names)), dtype=np.int16)
        for i, (categories, column) in enumerate(zip(self.categories, table.answers, strict=True)):
            number = {str(label): k for k, label in enumerate(categories)} | {x: k for k, x in enumerate(categories)}
            out[:, i] = [number.get(label, -1) if _is_plain(label) else -1 for label in column]
        return out

    def place(self, item: Any) -> int:
        """Return the number of an item."""
        if item not in self.names:
            raise DataError(f"The item {item!r} is unknown. The table of the fit has {listed(self.names)}.")
        return self.names.index(item)


def _distinct(name: Any, column: list[Any]) -> list[Any]:
    strange = next((label for label in column if not _is_plain(label)), None)
    if strange is not None:
        raise DataError(f"Answers must be words, numbers or the like; {name!r} has {str(strange)[:40]!r}.")
    found = list(dict.fromkeys(label for label in column if label is not None))
    if not found:
        raise DataError(f"{name!r} has no answer at all. Leave the column out.")
    if len(found) > MOST_CATEGORIES:
        raise DataError(
            f"{name!r} has {len(found):,} different answers; an item may have {MOST_CATEGORIES} categories. "
            "Join rare ones, or, if they are numbers, cut them into ranges."
        )
    try:
        return sorted(found)
    except TypeError:
        return found


def _is_plain(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True
