"""What a file holds of a model of answers: items with their categories as JSON, draws as arrays, both checked."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.reading.options import ReadingOptions
from kolmogorov.errors import DataError, InvariantError
from kolmogorov.fitted.files import Parts, StoredParts
from kolmogorov.model.nominal.categories import MOST_CATEGORIES, Categories
from kolmogorov.sampling.nominal import NominalDraws

#: What a file can hold as a label, or as the name of an item, and the digits of a whole number.
_PLAIN, _MOST_DIGITS = (str, bool, int, float), 40
#: Bytes that all labels may take: the footer of a file, where they stand, has an end.
_LARGEST = 3 << 20
#: How far chances may be from a sum of 1: they are rounded to single precision. And the least logarithm of one.
_TOLERANCE, _LEAST_LOG = 1e-3, -1000.0


def stored(known: Categories, draws: NominalDraws, recipe: dict[str, Any]) -> Parts:
    """Return what a file holds."""
    for name, labels in zip(known.names, known.categories, strict=True):
        strange = next((label for label in (name, *labels) if not _is_plain(label)), None)
        if strange is not None:
            raise DataError(
                f"A file can hold texts, numbers, yes and no as answers and as names of items; {str(name)[:40]!r} has "
                f"{str(strange)[:40]!r} ({type(strange).__name__}). Make texts of them before the fit."
            )
    meta = {"items": known.names, "categories": known.categories, "recipe": recipe}
    if len(json.dumps(meta)) > _LARGEST:
        raise DataError(f"The labels of all items take more than {_LARGEST >> 20} MB. Shorten them, or join rare ones.")
    n_draws, n_items, _, _ = draws.logs.shape
    return meta, {"logs": draws.logs.reshape(n_draws, n_items, -1), "log_shares": draws.log_shares}


def _is_plain(label: Any) -> bool:
    try:
        text = json.dumps(label, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return False
    return type(label) in _PLAIN and (not isinstance(label, int) or len(text) <= _MOST_DIGITS)


def restored(parts: StoredParts) -> tuple[Categories, NominalDraws, dict[str, Any]]:
    """Undo `stored`; what does not belong together is an `InvariantError`."""
    known = Categories(parts.meta["items"], parts.meta["categories"])
    _check_labels(known)
    logs, shares = parts.array("logs", 3, "float32"), parts.array("log_shares", 2, "float64")
    n_draws, size = shares.shape
    widths = known.widths
    if not n_draws or not size or logs.shape != (n_draws, len(widths), size * int(widths.max())):
        raise InvariantError("logs and log_shares do not belong together")
    logs = logs.reshape(n_draws, len(widths), size, -1)
    there = np.arange(logs.shape[3]) < widths[:, None, None]
    _check_chances(shares, np.True_, "log_shares")
    for draw in logs:
        _check_chances(draw, there, "logs")
    recipe = dict(parts.meta["recipe"])
    ReadingOptions.of_recipe(recipe, {})
    return known, NominalDraws(logs, shares, widths), recipe


def _check_labels(known: Categories) -> None:
    if not isinstance(known.names, list) or not isinstance(known.categories, list) or not known.names:
        raise InvariantError("there must be items, with categories")
    for labels in (known.names, *known.categories):
        sound = isinstance(labels, list) and labels and all(type(label) in _PLAIN for label in labels)
        if not sound or len(set(labels)) < len(labels):
            raise InvariantError("items and categories must be distinct texts or numbers")
    if len(known.names) != len(known.categories) or known.widths.max() > MOST_CATEGORIES:
        raise InvariantError(f"every item must have 1 to {MOST_CATEGORIES} categories")


def _check_chances(logs: Floats, there: Any, name: str) -> None:
    """Raise where the last axis holds no logarithms of chances; those that are not `there` must be of none."""
    own, past = np.where(there, logs, 0.0), np.where(there, -np.inf, logs)
    if not ((own >= _LEAST_LOG) & (own <= _TOLERANCE)).all() or not np.isneginf(past).all():
        raise InvariantError(f"{name} must hold logarithms of chances")
    if not np.allclose(np.exp(logs.astype(np.float64)).sum(axis=-1), 1.0, atol=_TOLERANCE):
        raise InvariantError(f"{name} must hold chances that sum to 1")
