"""A table of numbers as one of categories: numbers become ranges.

Nominal columns are filled in by what draws of a model of categories say. What is expected of an ordered one is mixed of
that and of what the model of numbers says, with the weight that is best for cells that were hidden. To a column of many
numbers the events of these draws add what straight relations leave, and rows nearby what these leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import generator
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data.answers import MOST_ANSWERS
from kolmogorov.errors import DataError
from kolmogorov.execution import Threads
from kolmogorov.model.imputation.bends import Bend
from kolmogorov.model.imputation.columns import Column, Constant, Curved, Nominal, Ordered, Straight
from kolmogorov.model.imputation.magnitude import Magnitude
from kolmogorov.model.imputation.nearby import Nearby
from kolmogorov.model.imputation.rows import Rows
from kolmogorov.sampling.nominal import Answers, NominalDraws, event_count, nominal_draws

#: Ranges that a column of many numbers is cut into, each with as many rows, and the fewest events where there are such
#: columns. Chosen on tables of kinds, on a curve, on straight relations and on columns of breast cancer.
_RANGES, _FEWEST = 6, 8
#: The share of cells that are hidden to find the weight, of so many rows at most, and of how many draws of numbers one
#: is looked at for them. By judgement.
_HIDDEN, _ROWS, _EVERY = 0.15, 1000, 10
#: Rows that say at most what rows nearby leave. By judgement: seconds grow with their third power.
_NEARBY = 400
#: Rows whose events are held at once. By judgement: some ten megabytes.
_PART = 10_000
#: Numbers that an ordered column may have so that they are its categories. By judgement.
_FEW = 20
#: Numbers of events, of chains, of sweeps that are not kept, and of draws that are kept.
Lengths = tuple[int | Literal["auto"], int, int, int]


@dataclass(frozen=True, eq=False)
class Cells:
    """Draws of a model of categories, how columns become such, and what they weigh where they have an order."""

    columns: Sequence[Column | None]
    #: For each column its known numbers, or the ends between ranges.
    ends: list[Floats]
    draws: NominalDraws
    weight: float = 0.0
    #: By the places of columns of many numbers.
    bends: Mapping[int, Bend] = field(default_factory=dict)
    nearby: Mapping[int, Nearby] = field(default_factory=dict)
    #: A few draws of numbers, by which rows are said to be alike.
    rows: Rows | None = None

    @classmethod
    def of(
        cls, table: Floats, columns: Sequence[Column | None], lengths: Lengths, seed: int, n_jobs: int | None
    ) -> Cells:
        """Draw models of a table."""
        ends = [_ends(column, numbers) for column, numbers in zip(columns, table.T, strict=True)]
        widths = np.array([found.size + (not _is_exact(column)) for column, found in zip(columns, ends, strict=True)])
        if widths.max() > MOST_ANSWERS:
            had = f"Column {int(widths.argmax())} has {widths.max():,} categories"
            raise DataError(f"{had}; a nominal one may have {MOST_ANSWERS}. Join rare ones.")
        answers = _codes(table, columns, ends)
        fewest = _FEWEST if any(isinstance(column, (Straight, Curved)) for column in columns) else 1
        n_events = max(event_count(int((answers >= 0).sum())), fewest) if lengths[0] == "auto" else lengths[0]
        with one_blas_thread(), Threads(n_jobs) as dealer:
            return cls(columns, ends, nominal_draws(answers, widths, (n_events, *lengths[1:]), seed, dealer))

    def weighed(
        self, table: Floats, values: Floats, rows: Rows, lengths: Lengths, seed: int, n_jobs: int | None
    ) -> Cells:
        """Return the same with the weight by which hidden cells of ordered columns are filled in best."""
        ordered = [i for i, column in enumerate(self.columns) if _is_short(column)]
        if not ordered:
            return self
        rng = generator(seed, 3)
        chosen = rng.permutation(len(table))[:_ROWS]
        hidden = np.zeros(table.shape, dtype=bool)
        hidden[chosen[:, None], ordered] = rng.random((chosen.size, len(ordered))) < _HIDDEN
        hidden &= ~np.isnan(table)
        rest = np.where(hidden, np.nan, table)
        other = Cells.of(rest, self.columns, lengths, seed, n_jobs)
        told = dict(zip(ordered, other.draws.said(_codes(rest, self.columns, self.ends), ordered), strict=True))
        some = rows.every(_EVERY)
        gain = total = 0.0
        for i in ordered:
            there, place = np.flatnonzero(hidden[:, i]), self._first[i]
            if not there.size:
                continue
            # What was hidden from one is hidden from the other, too.
            by_numbers, _ = _expected(some, values[there], place)
            step = self._value(i, told[i][there]) - by_numbers
            spread = max(float(np.nanvar(values[:, place])), 1e-12)
            gain += float(((values[there, place] - by_numbers) * step).sum()) / spread
            total += float((step**2).sum()) / spread
        return replace(self, weight=min(max(gain / total, 0.0), 1.0) if total > 0.0 else 0.0)

    def bent(self, table: Floats, values: Floats, rows: Rows, seed: int) -> Cells:
        """Return the same with what events, and rows nearby, add to columns of many numbers."""
        chosen = generator(seed, 4).permutation(len(table))[:_ROWS]
        table, values, some = table[chosen], values[chosen], rows.every(_EVERY)
        bends, nearby = {}, {}
        for i, place in enumerate(self._first):
            there = np.flatnonzero(~np.isnan(table[:, i]))
            if isinstance(self.columns[i], (Straight, Curved)):
                expected, others = _expected(some, values[there], place)
                bends[i] = Bend.of(self._events(table[there], i), values[there, place] - expected)
                nearby[i] = Nearby.of(others[:_NEARBY], bends[i].rest[:_NEARBY])
        return replace(self, bends=bends, nearby=nearby, rows=some)

    def added(self, table: Floats, values: Floats, place: int) -> Floats:
        """Return what is added to the values of a column's cells; nothing but where it has many numbers."""
        found = np.zeros(len(table))
        if place not in self.bends or self.rows is None:
            return found
        for first in range(0, len(table), _PART):
            part = slice(first, first + _PART)
            if self.bends[place].weight > 0.0:
                found[part] += self.bends[place].added(self._events(table[part], place))
            if self.nearby[place].share < 1.0:
                found[part] += self.nearby[place].added(_expected(self.rows, values[part], self._first[place])[1])
        return found

    def share(self, place: int) -> float:
        """Return the share of a column's noise that is left where something is added to it."""
        return self.bends[place].share * self.nearby[place].share if place in self.bends else 1.0

    def _events(self, table: Floats, place: int) -> Floats:
        with one_blas_thread():
            codes = _codes(table, self.columns, self.ends)
            return self.draws.events(codes, place, range(0, self.draws.n_draws, _EVERY))

    @property
    def _first(self) -> list[int]:
        """The first question of each column."""
        widths = [0 if column is None else column.n_questions for column in self.columns]
        found: list[int] = np.cumsum([0, *widths])[:-1].tolist()
        return found

    def mixed(self, mean: Floats, table: Floats, values: Floats, place: int) -> Floats:
        """Return what draws expect of a column's cells: `mean`, which is of numbers, with what categories say.

        Of a nominal column these are chances, and all that counts. float64[n_draws, n, n_questions].
        """
        column = self.columns[place]
        if place in self.bends:
            return mean + self.added(table, values, place)[:, None]
        if not isinstance(column, Nominal) and not (_is_short(column) and self.weight > 0.0):
            return mean
        with one_blas_thread():
            chances = self.draws.said(_codes(table, self.columns, self.ends), [place])[0]
        if isinstance(column, Nominal):
            return chances[None]
        return (1.0 - self.weight) * mean + self.weight * self._value(place, chances)[:, None]

    def drawn(self, k: int, table: Floats, rng: np.random.Generator) -> Callable[[int], Floats | None]:
        """Draw the events of rows in one draw; return a function from a column to the chances of its categories there.

        It returns None where numbers are to be drawn: of ordered columns as often as these weigh, all at once.
        """
        by_events = self.draws.drawn(k, _codes(table, self.columns, self.ends), rng)
        all_of_them = bool(rng.random() < self.weight)

        def chances(place: int) -> Floats | None:
            column = self.columns[place]
            chosen = isinstance(column, Nominal) or (_is_short(column) and all_of_them)
            return by_events(place) if chosen else None

        return chances

    def _value(self, place: int, chances: Floats) -> Floats:
        """Return the mean of an ordered column, as a value from 0 to 1, given the chances of its numbers."""
        column = self.columns[place]
        assert column is not None
        found: Floats = chances @ column.values(self.ends[place])[:, 0]
        return found


def _expected(rows: Rows, values: Floats, place: int) -> tuple[Floats, Floats]:
    """Return what is expected of a column by what is known of the others alone, and the others, completed likewise."""
    masked = values.copy()
    masked[:, place] = np.nan
    mean = rows.moments(masked)[0].mean(axis=0)
    return mean[:, place], np.delete(np.where(np.isnan(masked), mean, masked), place, axis=1)


def _is_short(column: Column | None) -> bool:
    """Tell whether a column has an order, and so few numbers that they are categories."""
    return isinstance(column, Ordered) and column.numbers.size <= _FEW


def _is_exact(column: Column | None) -> bool:
    return isinstance(column, Nominal) or _is_short(column)


def _ends(column: Column | None, numbers: Floats) -> Floats:
    if isinstance(column, Nominal) or (isinstance(column, Ordered) and _is_short(column)):
        return column.numbers
    if column is None or isinstance(column, Constant):
        return np.empty(0)
    known = numbers[~np.isnan(numbers)]
    magnitude = Magnitude.of(known)
    return np.unique(magnitude.back(np.quantile(magnitude.small(known), np.arange(1, _RANGES) / _RANGES)))


def _codes(table: Floats, columns: Sequence[Column | None], ends: list[Floats]) -> Answers:
    """Return the category of every cell; -1 for what is missing, or was not known at the fit."""
    codes = np.full(table.shape, -1, dtype=np.int16)
    for i, (column, limits) in enumerate(zip(columns, ends, strict=True)):
        there: NDArray[np.intp] = np.flatnonzero(~np.isnan(table[:, i]))
        numbers = table[there, i]
        place = np.searchsorted(limits, numbers)
        if _is_exact(column):
            met = limits[np.minimum(place, limits.size - 1)] == numbers
            there, place = there[met], place[met]
        codes[there, i] = place
    return codes
