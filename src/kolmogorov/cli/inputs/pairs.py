"""Pairs of a user and an item, read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kolmogorov.data.reading.options import ReadingOptions


def pair_texts(path: str, options: ReadingOptions) -> tuple[list[str], list[str]]:
    """Read pairs as texts, whatever they are in."""
    from kolmogorov.data import Observations
    from kolmogorov.data.packed.file import is_table
    from kolmogorov.data.reading.columns import TableForm
    from kolmogorov.data.reading.frames.arrow import is_parquet, parquet_pairs
    from kolmogorov.data.reading.text.source import read_pairs

    if is_table(path):
        table = Observations.open(path)
        sides = ((table.users, table.user_rows()), (table.items, table.item_rows()))
        users, items = ([str(i) for i in names.ids[rows].tolist()] for names, rows in sides)
        return users, items
    return parquet_pairs(path, TableForm(options, path)) if is_parquet(path) else read_pairs(path, options)
