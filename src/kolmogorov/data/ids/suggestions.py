"""Ids that somebody may have meant who wrote one that does not exist."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Texts that are looked at, and those among them that are compared letter by letter. A million take half a second,
#: and people do not wait for longer.
_MOST_TEXTS, _MOST_COMPARED = 1_000_000, 3_000
_SHOWN = 3
#: Share of letters in common from which two texts are alike. By judgement.
_ALIKE = 0.65


def suggestion(ids: NDArray[Any], labels: NDArray[Any] | None, wrong: Any) -> str:
    """Return a sentence, with a blank before it, that names ids like the wrong one; nothing where there are none.

    Examples
    --------
    >>> suggestion(np.array(["dolphin", "lion"], dtype=object), None, "Dolfin")
    " Did you mean 'dolphin'?"
    >>> suggestion(np.array([3, 8, 12]), None, 9)
    ' The nearest ids are 8 and 12.'
    """
    if isinstance(wrong, str):
        return _like_a_text(ids, labels, wrong)
    if ids.dtype == object or not isinstance(wrong, (int, np.integer)) or not ids.size:
        return ""
    place = int(np.searchsorted(ids, wrong))
    near = [str(identifier) for identifier in ids[max(place - 1, 0) : place + 1].tolist()]
    return f" The nearest id is {near[0]}." if len(near) == 1 else f" The nearest ids are {near[0]} and {near[1]}."


def _like_a_text(ids: NDArray[Any], labels: NDArray[Any] | None, wrong: str) -> str:
    """Look for similar ids and titles, without regard to capitals."""
    found: dict[str, None] = {}
    if ids.dtype == object:
        found |= {repr(ids[row]): None for row in _similar(ids, wrong)}
    if labels is not None:
        found |= {f"{ids.item(row)!r} (titled {str(labels[row])!r})": None for row in _similar(labels, wrong)}
    shown = list(found)[:_SHOWN]
    return f" Did you mean {' or '.join(shown)}?" if shown else ""


def _similar(texts: NDArray[Any], wrong: str) -> list[int]:
    """Return the rows of texts that contain the wrong one, or that differ from it by little, best first."""
    sought = wrong.strip().casefold()
    if not sought:
        return []
    folded = [str(text).casefold() for text in texts[:_MOST_TEXTS].tolist()]
    if sought in folded:
        return [row for row, text in enumerate(folded) if text == sought][:_SHOWN]
    close = difflib.get_close_matches(sought, _worth_comparing(folded, sought), n=_SHOWN, cutoff=_ALIKE)
    contain = [text for text in folded if sought in text][:_SHOWN] if len(sought) > 2 else []
    wanted = set(close) | set(contain)
    rows: dict[str, int] = {}
    for row, text in enumerate(folded):
        if text in wanted:
            rows.setdefault(text, row)
    return [rows[text] for text in dict.fromkeys([*close, *contain])]


def _worth_comparing(texts: list[str], sought: str) -> list[str]:
    """Return some of the texts: those that begin alike for longest, then those that are about as long."""
    pool = texts
    for length in range(1, len(sought) + 1):
        if len(pool) <= _MOST_COMPARED:
            break
        narrower = [text for text in pool if text.startswith(sought[:length])]
        if len(narrower) <= _MOST_COMPARED:
            others = [text for text in pool if abs(len(text) - len(sought)) <= 1]
            return [*narrower, *others[: _MOST_COMPARED - len(narrower)]]
        pool = narrower
    return pool[:_MOST_COMPARED]
