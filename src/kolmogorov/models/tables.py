"""What scikit-learn hands to an estimator, as observations: sparse and dense tables, data frames."""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_non_negative, validate_data

from kolmogorov._support.display import warn
from kolmogorov.data import Observations, Vocabulary, read_ratings
from kolmogorov.data.columns import refuse_list, refuse_scales, usual_columns
from kolmogorov.data.observations import NotNumbersError, check_trainable, dense_of
from kolmogorov.data.sources import is_table
from kolmogorov.errors import DataError, KolmogorovWarning


def table_of(model: Any, X: Any, *, reset: bool) -> Observations:
    """Turn whatever `fit` (with `reset`) and `transform` take into observations over the model's items."""
    listed = reset and is_table(X) and {"user", "item"} <= usual_columns(_names(X)).keys()
    if listed or isinstance(X, Observations):
        if reset:
            model.__dict__.pop("feature_names_in_", None)
            return read_ratings(X) if listed else X
        return X.rescaled(model.fitted_.scale)
    X = _arraylike(X, None if reset else getattr(model, "feature_names_in_", None))
    options: dict[str, Any] = {"accept_sparse": ("csr", "csc", "coo"), "ensure_all_finite": "allow-nan"}
    try:
        table = validate_data(model, X, reset=reset, dtype=np.float64, **options)
    except (TypeError, ValueError) as error:
        kind = NotNumbersError if isinstance(error, TypeError) else DataError
        expected = "Expected Observations, or a table of numbers with one row per user and one column per item"
        raise kind(f"{expected}: {error}") from None
    check_non_negative(table, type(model).__name__)
    sparse = hasattr(table, "tocoo")
    make = Observations.from_scipy if sparse else Observations.from_dense
    if not reset:
        scale = model.fitted_.scale
        scaling = "max" if scale.minimum == 0.0 else "minmax"
        found = make(table, minimum=scale.minimum, maximum=scale.maximum, scaling=scaling)
        return found.over(items=model.fitted_.items)
    if not sparse and is_table(X):
        refuse_scales("The frame", _names(X), list(table.T), [False] * table.shape[1])
    found = make(table)
    index, columns = (getattr(X, name, None) if hasattr(X, "iloc") else None for name in ("index", "columns"))
    items = _labels(columns, "column")
    if items is None and hasattr(model, "feature_names_in_"):
        items = Vocabulary(model.feature_names_in_)
    return found.over(users=_labels(index, "row") or found.users, items=items or found.items)


def learnable(model: Any, X: Any, *, only_yes: bool = False) -> Observations:
    """Return what `fit` takes as observations that are intact and can be learned from."""
    observations = table_of(model, X, reset=True)
    observations.rows.check_intact()
    check_trainable(observations, only_yes=only_yes)
    return observations


def _arraylike(X: Any, known_columns: Any) -> Any:
    """Refuse what is no table, and keep what scikit-learn would lose: masks, and that a frame is a list of ratings."""
    if isinstance(X, (str, os.PathLike)):
        raise DataError(f"Expected a table, got the text {str(X)!r}. Read files with kolmogorov.read_ratings.")
    if hasattr(X, "tocoo"):
        return X
    array = dense_of(X)
    # A frame with the columns that were learned from is a table, whatever they are called.
    if known_columns is None or not is_table(X) or list(known_columns) != _names(X):
        refuse_list(array)
    return X if is_table(X) else array


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", None) or frame.columns)


def _labels(index: Any, what: str) -> Vocabulary | None:
    """Return the labels of a pandas frame as ids, where they are distinct strings or rising integers."""
    if index is None or not len(index) or not index.is_unique:
        return None
    labels = np.asarray(index)
    if labels.dtype.kind in "iu" and not (labels[1:] > labels[:-1]).all():
        warn(
            f"The {what} labels of the frame are integers out of order and are not used as ids: {what}s are numbered "
            "from 0. Sort the frame, or make the labels strings.",
            KolmogorovWarning,
        )
        return None
    texts = labels.dtype.kind in "iu" or all(isinstance(label, str) for label in labels.tolist())
    return Vocabulary(map(str, labels.tolist())) if texts else None
