"""Data frames of pairs, a user and an item in each row: predictions are appended as a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.reading.columns import usual_columns
from kolmogorov.data.reading.frames.native import frame_of

#: What the column of predictions is called.
PREDICTION = "prediction"


@dataclass(frozen=True, eq=False)
class PairFrame:
    """A frame as narwhals sees it, and the ids of the user and of the item in each of its rows."""

    frame: Any
    users: NDArray[Any]
    items: NDArray[Any]

    def appended(self, numbers: Floats) -> Any:
        """Return the frame with a column of predictions, as what it came; its other columns stay what they are."""
        import narwhals as nw

        column = nw.new_series(PREDICTION, numbers, nw.Float64(), backend=self.frame.implementation)
        native = nw.to_native(self.frame)
        if hasattr(native, "assign") and hasattr(native, "index"):
            # pandas would align by the labels of rows, which need not be distinct.
            return native.assign(**{PREDICTION: numbers})
        return nw.to_native(self.frame.with_columns(column))


def pair_frame(raw: Any) -> PairFrame | None:
    """Return a frame whose columns have usual names for a user and an item; None for everything else.

    Examples
    --------
    >>> import pandas as pd
    >>> pair_frame(pd.DataFrame({"movieId": [7], "userId": ["ann"]})).users.tolist()
    ['ann']
    """
    frame = frame_of(raw)
    if frame is None:
        return None
    usual = usual_columns(frame.columns)
    if "user" not in usual or "item" not in usual:
        return None
    return PairFrame(frame, *(frame[:, usual[side]].to_numpy() for side in ("user", "item")))
