"""A table of answers as one of the kind that came: a frame of its library, with its columns and their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.data.answers import AnswerTable


def like(given: Any, table: AnswerTable) -> Any:
    """Return a table as the one that was given: a frame with its columns in their order, or an array of objects."""
    if isinstance(given, AnswerTable):
        return table
    if not hasattr(given, "columns"):
        out = np.empty((len(table), len(table.items)), dtype=object)
        for i, column in enumerate(table.answers):
            out[:, i] = column
        return out
    answers = dict(zip(table.items, table.answers, strict=True))
    make = getattr(type(given), "from_pydict", type(given))
    made = make({name: answers[name] for name in getattr(given, "column_names", given.columns)})
    if hasattr(given, "index") and hasattr(made, "set_index"):
        made = made.set_index(given.index)
        for name in given.columns:
            if hasattr(given[name], "cat"):
                made[name] = made[name].astype(_with(given[name], answers[name]))
    elif hasattr(given, "with_columns"):
        kept = [name for name, kind in given.schema.items() if str(kind).startswith("Categorical")]
        made = made.with_columns(*(made[name].cast(given.schema[name]) for name in kept))
    return made


def _with(column: Any, labels: list[Any]) -> Any:
    """Return the categorical type of a column of pandas, which may lack a category that was filled in."""
    more = [label for label in dict.fromkeys(labels) if label not in column.cat.categories]
    return column.cat.add_categories(more).dtype
