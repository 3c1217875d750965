"""Every pair of items looked at once: which go together, which apart, corrected for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.interpret.rules.multiplicity import Looked
from kolmogorov.interpret.rules.readiness import Departures, Readiness

Bits = NDArray[np.bool_]
#: A rule is supported if its p-value, corrected, is at most this.
LEVEL = 0.05
#: All pairs are looked at in single precision, and what is found is counted again: p-values may differ by so much.
_ROUNDING = 1.1


class Judged:
    """All pairs of some items for which enough users answered both, and their corrected p-values.

    Pairs that go together and pairs that go apart are two families of tests. Each is corrected for all pairs, whatever
    is asked for afterwards: a rule has the same p-value in every list.

    Parameters
    ----------
    readiness : Readiness
        Of which the first threshold is looked at.
    item_of : int64[n_columns]
        The model's items of the columns, -1 where there is none.
    considered : bool[n_items]
        The items that rules may be about.

    Attributes
    ----------
    number : int
        How many pairs were looked at.
    """

    def __init__(self, readiness: Readiness, item_of: Rows, considered: Bits) -> None:
        self._readiness, self._item_of, self.considered = readiness, item_of, considered
        self._looked = {True: Looked(), False: Looked()}
        waiting: dict[bool, list[Any]] = {True: [], False: []}
        for left, right, found in self._stream():
            for sign, looked in self._looked.items():
                p, weights = found.p_values(sign), found.weights
                looked.add(p, weights)
                low = p <= LEVEL
                waiting[sign].append((left[low], right[low], p[low], weights[low]))
        self.number = self._looked[True].number
        self._supported = {sign: self._low(sign, waiting[sign], LEVEL) for sign in waiting}

    def adjusted(self, together: Any, p_values: Floats, weights: Floats, times: Any = 1) -> Floats:
        """Return corrected p-values of pairs that go together, or apart; no smaller than they were.

        `times` says that so many times as many were looked at, of which nothing else is known.
        """
        found = [self._looked[sign].adjusted(p_values, weights) for sign in (True, False)]
        return np.clip(np.where(together, *found) * times, p_values, 1.0)

    def pairs(self, together: bool, max_p: float) -> Rows:
        """Return the pairs whose corrected p-values may be as small: int64[2, n], in the model's row numbers."""
        if max_p <= LEVEL:
            return self._supported[together]
        every = []
        for left, right, found in self._stream():
            p = found.p_values(together)
            low = p <= max_p
            every.append((left[low], right[low], p[low], found.weights[low]))
        return self._low(together, every, max_p)

    def _low(self, together: bool, parts: list[Any], max_p: float) -> Rows:
        if not parts:
            return np.empty((2, 0), dtype=np.int64)
        left, right, p, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        low = self._looked[together].adjusted(p, weights) <= _ROUNDING * max_p
        return np.stack([left[low], right[low]])

    def _stream(self) -> Iterator[tuple[Rows, Rows, Departures]]:
        """Yield pairs of items in blocks, the model's row numbers, and how far each departs from readiness alone."""
        for left, right, found in self._readiness.departures():
            left, right = self._item_of[left], self._item_of[right]
            known = (left >= 0) & (right >= 0)
            known[known] = self.considered[left[known]] & self.considered[right[known]]
            yield left[known], right[known], Departures(*(values[known] for values in found))
