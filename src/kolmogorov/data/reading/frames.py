"""Data frames as sources, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kolmogorov.data.columns import numbers_of
from kolmogorov.data.ids import normalise_ids
from kolmogorov.data.reading.layout import Pick
from kolmogorov.data.reading.source import Chunk
from kolmogorov.data.trainable import nothing_there
from kolmogorov.errors import DataError

#: Rows that are looked at together.
_BATCH = 1 << 19


class FrameSource:
    """A frame as narwhals sees it.

    Parameters
    ----------
    frame : narwhals.DataFrame
    pick : callable
        Chooses the columns.
    index : sequence, optional
        Names of the rows; they are numbered from 0 by default.
    batch : int
        Rows that are looked at together.
    """

    def __init__(self, frame: Any, pick: Pick, index: Any = None, batch: int = _BATCH) -> None:
        self._frame, self._pick, self._index, self._batch = frame, pick, index, batch

    def chunks(self) -> Iterator[Chunk]:
        """Go through the rows once."""
        # By position, since the names of a frame need not be texts.
        columns = {role: self._frame[:, at] for role, at in self._pick(self._frame.columns).items()}
        if not len(self._frame):
            raise nothing_there("here")
        for start in range(0, len(self._frame), self._batch):

            def place(offset: int, start: int = start) -> str:
                return self.place(start + offset)

            parts = {}
            for role, column in columns.items():
                part = column[start : start + self._batch]
                missing = part.is_null().to_numpy()
                if missing.any():
                    first = place(int(np.argmax(missing)))
                    raise DataError(f"{first}: column {column.name!r} is empty. Drop such rows first.")
                parts[role] = part.to_numpy()
            ids = [normalise_ids(parts[role], role, place) for role in ("user", "item")]
            weights = numbers_of(parts["weight"], "weight", place) if "weight" in parts else None
            yield Chunk(ids[0], ids[1], numbers_of(parts["value"], "value", place), weights)

    def place(self, record: int) -> str:
        """Name the row."""
        return f"row {record if self._index is None else self._index[record]}"
