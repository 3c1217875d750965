"""Pairs of statements about items, of which relations and rules are made.

A statement is that an item reaches a threshold; where there is only one threshold it is that the item happens.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Vocabulary

#: The kinds of relations between two supports.
KINDS = ("implication", "equivalence", "exclusion", "coverage")
#: What each kind says of its two items: (yes to the first, yes to the second).
SAYS = {
    "implication": (True, True),
    "equivalence": (True, True),
    "exclusion": (True, False),
    "coverage": (False, True),
    "contrapositive": (False, False),
}
#: Items by their row numbers, and thresholds by number from 0.
PAIR = np.dtype(
    [("antecedent", np.int64), ("antecedent_at", np.int8), ("consequent", np.int64), ("consequent_at", np.int8)]
)
#: The same, of draws: with the share of them in which the relation holds.
PROBABLE_PAIR = np.dtype([*PAIR.descr, ("probability", np.float64)])
#: Named columns, `PAIR` or `PROBABLE_PAIR`.
Pairs = NDArray[np.void]


def pairs_of(antecedent: Rows, consequent: Rows, antecedent_at: Any = 0, consequent_at: Any = 0) -> Pairs:
    """Return pairs of aligned columns."""
    pairs = np.empty(len(antecedent), dtype=PAIR)
    pairs["antecedent"], pairs["consequent"] = antecedent, consequent
    pairs["antecedent_at"], pairs["consequent_at"] = antecedent_at, consequent_at
    return pairs


def with_probability(pairs: Pairs, probability: Floats) -> Pairs:
    """Return the pairs with one more column."""
    found = np.empty(len(pairs), dtype=PROBABLE_PAIR)
    for name in PAIR.names or ():
        found[name] = pairs[name]
    found["probability"] = probability
    return found


def turned(pairs: Pairs) -> Pairs:
    """Return the pairs with their sides exchanged."""
    found = pairs.copy()
    for one, other in (("antecedent", "consequent"), ("antecedent_at", "consequent_at")):
        found[one], found[other] = pairs[other], pairs[one]
    return found


def sides_of(pairs: Pairs) -> tuple[Rows, Rows, NDArray[np.int8], NDArray[np.int8]]:
    """Return the items and the thresholds of both sides as columns of their own, as kernels take them."""
    left, right, left_at, right_at = (
        np.ascontiguousarray(pairs[name]) for name in ("antecedent", "consequent", "antecedent_at", "consequent_at")
    )
    return left, right, left_at, right_at


def statements(items: Vocabulary, ratings: Floats | None, rows: Rows, at: NDArray[np.int8], yes: Any) -> list[str]:
    """Say that items reach thresholds, or not: "Alien >= 4", "Alien < 4".

    Parameters
    ----------
    items : Vocabulary
    ratings : float64[T] or None
        What the thresholds are in rating units. With None it is said that items happen, or not: "milk", "not milk".
    rows : int64[n]
        The items.
    at : int8[n]
        Their thresholds.
    yes : bool[n] or bool
    """
    names, so = [items.name(row) for row in rows.tolist()], np.broadcast_to(yes, len(rows)).tolist()
    if ratings is None:
        return [name if positive else f"not {name}" for name, positive in zip(names, so, strict=True)]
    words = [f"{rating:.6g}" for rating in ratings.tolist()]
    return [
        f"{name} {'>=' if positive else '<'} {words[number]}"
        for name, positive, number in zip(names, so, at.tolist(), strict=True)
    ]
