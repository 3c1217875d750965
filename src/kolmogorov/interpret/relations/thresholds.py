"""Thresholds between the ratings of a scale: what "at least 4 stars" means for the levels of a many-valued model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.execution import Threads
from kolmogorov.fitted.base import Trained
from kolmogorov.interpret.relations.supports import packed
from kolmogorov.kernels.sets.graded import count_graded, list_graded

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
#: Rules in a block of a stream: 32 MiB.
_BLOCK = 1 << 20
#: A row's weight when rows are dealt to threads, so that a share has some dozens of rows.
_ROW = 1 << 11
# Values come through divisions, and those of draws in single precision.
_ROUNDING, _SINGLE = 1e-9, 1e-6


@dataclass(frozen=True, eq=False)
class Grades:
    """The thresholds of a model that tell ratings apart, lowest first.

    Attributes
    ----------
    cuts : float64[T]
        Levels: a value of at least this is at or above the threshold.
    marks : float64[T]
        The ratings that this means, on the probability scale: at least these.

    Examples
    --------
    >>> grades = Grades.between(np.array([-0.5, 0.0, 0.5, 1.0, 1.5]), np.array([0.2, 0.4, 0.6, 0.8, 1.0]))
    >>> grades.cuts.tolist(), grades.marks.tolist()
    ([0.5, 1.0], [0.6, 1.0])
    """

    cuts: Floats
    marks: Floats

    @classmethod
    def of(cls, fitted: Trained) -> Grades:
        """Return the thresholds of a many-valued model.

        Where an item may be anything in an event, a threshold is where rounding to the nearest rating changes. Of a
        scale without steps, the levels are the thresholds.
        """
        points = fitted.points
        if fitted.levels is None:
            return cls(0.5 * (points[1:] + points[:-1]), points[1:])
        if not fitted.has_few_points:
            inside = (fitted.levels > points[0]) & (fitted.levels <= points[-1])
            points = np.append(points[0], fitted.levels[inside])
        return cls.between(fitted.levels, points)

    @classmethod
    def between(cls, levels: Floats, points: Floats) -> Grades:
        """Return the levels that tell ratings apart.

        Of several that tell the same ratings apart, the lowest is taken that is nearer to the upper of the two, as
        rounding to the nearest rating would.
        """
        cuts, marks = [], []
        for below, mark in pairwise(points.tolist()):
            between = levels[(levels > below + _ROUNDING) & (levels <= mark + _ROUNDING)]
            if between.size:
                upper = between[between >= (below + mark) / 2 - _ROUNDING]
                cuts.append(float(upper[0] if upper.size else between[-1]))
                marks.append(float(mark))
        return cls(np.array(cuts), np.array(marks))

    def __len__(self) -> int:
        return len(self.cuts)

    def reached(self, values: Floats) -> Rows:
        """Return how many of the thresholds ratings reach."""
        return np.searchsorted(self.marks - _ROUNDING, values, side="right").astype(np.int64)


class GradedSupports:
    """The supports of "at least threshold t" for some items of a model.

    Parameters
    ----------
    psi : float64 or float32[n, n_events]
    grades : Grades

    Attributes
    ----------
    words, others : uint64[n, T, ceil(n_events / 64)]
        The supports, and their complements.
    full, empty : int64[n]
        How many of an item's statements hold in every event, and the first that holds in none.
    """

    def __init__(self, psi: Floats, grades: Grades) -> None:
        n, n_events = psi.shape
        self.bits = psi[:, None, :] >= grades.cuts[None, :, None] - _SINGLE
        flat = self.bits.reshape(n * len(grades), n_events)
        everything = packed(np.ones((1, n_events), dtype=bool))
        self.words = packed(flat).reshape(n, len(grades), everything.shape[1])
        self.others = ~self.words & everything
        size = self.bits.sum(axis=2)
        self.full: Rows = (size == n_events).sum(axis=1).astype(np.int64)
        self.empty: Rows = (size > 0).sum(axis=1).astype(np.int64)

    @cached_property
    def ends(self) -> Rows:
        """Where the rules that begin with each item end, if all stand in one list."""
        out = np.zeros(len(self.words), dtype=np.int64)
        sides = (self.words, self.others, self.full, self.empty)
        with Threads() as dealer:
            dealer.deal(lambda first, last: count_graded(*sides, first, last, out), len(out), row_entries=_ROW)
        return np.cumsum(out)

    def rules(self) -> Iterator[Rows]:
        """Yield (item, statement, item, statement) of all rules in blocks; those of one left item stand together."""
        ends, begin = self.ends, 0
        with Threads() as dealer:
            while begin < len(ends):
                offset = int(ends[begin - 1]) if begin else 0
                end = max(begin + 1, int(np.searchsorted(ends, offset + _BLOCK, side="right")))
                found = np.empty((int(ends[end - 1]) - offset, 4), dtype=np.int64)
                if len(found):
                    dealer.deal(partial(self._list, begin, offset, found), end - begin, row_entries=_ROW)
                    yield found
                begin = end

    def _list(self, begin: int, offset: int, out: Rows, first: int, last: int) -> None:
        sides: Any = (self.words, self.others, self.full, self.empty, self.ends)
        list_graded(*sides, begin + first, begin + last, offset, out)
