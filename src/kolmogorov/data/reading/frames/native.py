"""Data frames of any library, as narwhals sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.errors import DataError


def frame_of(raw: Any) -> Any:
    """Return a data frame as narwhals sees it, or None for everything else."""
    if isinstance(raw, np.ndarray) or not (hasattr(raw, "columns") or hasattr(raw, "column_names")):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(raw, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(f"Every column of a frame needs a name of its own: {str(error).rstrip('.')}.") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def with_index(raw: Any) -> Any:
    """Return a pandas frame with its index as the first column, where it names the rows; all else as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> list(with_index(pd.DataFrame({"tea": [1, 0]}, index=["ann", "bob"])).columns)
    ['index', 'tea']
    """
    index: Any = getattr(raw, "index", None)
    if not hasattr(raw, "reset_index") or getattr(index, "nlevels", 2) != 1:
        return raw
    return raw.reset_index() if all(isinstance(label, str) for label in index) else raw
