"""What a column of a table is: how its numbers become values from 0 to 1 for a model, and predictions numbers again.

A column is one question to a model, a nominal one a question for each of its categories, and one without differences
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy.special import ndtri

from kolmogorov._support.typing import Floats
from kolmogorov.model.imputation.magnitude import Magnitude

Mapping = Literal["auto", "range", "quantile"]
Fill = Literal["mean", "value"]
#: A column of which at most so many numbers are known, each seen so often on average, is taken for one of few values.
#: By judgement.
_FEW, _OFTEN = 10, 3
#: From this third standardised moment on (or this fourth), and so many different numbers, a column is mapped by its
#: quantiles. By judgement.
_SKEWED, _HEAVY, _MANY = 1.0, 10.0, 13
#: How far inside either end the line begins by which a curved column goes on beyond what is known. By judgement.
_TENTH = 0.1
#: Where a curved column is averaged over normal noise, and with which weights.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


class Column(Protocol):
    """One column of a table, as a model sees it."""

    @property
    def n_questions(self) -> int:
        """How many questions to a model the column is."""

    def values(self, numbers: Floats) -> Floats:
        """Return values from 0 to 1 for known numbers; float64[n, n_questions]."""

    def expected(self, mean: Floats, variance: Floats, fill: Fill) -> Floats:
        """Return a number for each cell, given what each draw expects; float64[n_draws, n, n_questions] each."""

    def drawn(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Return a number for each cell, drawn around what one draw says; float64[n, n_questions], [n_questions]."""


@dataclass(frozen=True)
class Constant:
    """All numbers that are known are the same, and so are those that are not."""

    number: float
    n_questions = 0

    def values(self, numbers: Floats) -> Floats:
        """Return nothing: there is no question."""
        return np.empty((numbers.size, 0))

    def expected(self, mean: Floats, variance: Floats, fill: Fill) -> Floats:
        """Return the one number."""
        return np.full(mean.shape[1], self.number)

    def drawn(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Return the one number."""
        return np.full(len(said), self.number)


@dataclass(frozen=True)
class Straight:
    """Any number; the least and the greatest that are known are the ends of the scale."""

    low: float
    high: float
    n_questions = 1

    def values(self, numbers: Floats) -> Floats:
        """Return where numbers lie between both ends; those of new rows may lie beyond."""
        low, high = self._ends
        return ((self._magnitude.small(numbers) - low) / (high - low))[:, None]

    def expected(self, mean: Floats, variance: Floats, fill: Fill) -> Floats:
        """Return the mean over draws, cut to the ends."""
        return self._numbers(np.clip(mean[..., 0].mean(axis=0), 0.0, 1.0))

    def drawn(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Return what is said with noise around it: beyond the ends, too, but of no sign that no known number has."""
        noisy = said[:, 0] + deviation[0] * rng.standard_normal(len(said))
        return of_known_sign(self._numbers(noisy), self.low, self.high)

    @property
    def _magnitude(self) -> Magnitude:
        return Magnitude.of(np.array([self.low, self.high]))

    @property
    def _ends(self) -> Floats:
        return self._magnitude.small(np.array([self.low, self.high]))

    def _numbers(self, values: Floats) -> Floats:
        low, high = self._ends
        return self._magnitude.back((1.0 - values) * low + values * high)


@dataclass(frozen=True, eq=False)
class Curved:
    """Any number between two ends, on a scale on which those that are known look normal: skewed columns."""

    #: Both increasing: numbers that are known, and their values.
    numbers: Floats
    places: Floats
    n_questions = 1

    @classmethod
    def of(cls, numbers: Floats) -> Curved:
        """Take normal quantiles of ranks, ties in their middle, squeezed to the scale from 0 to 1."""
        known, counts = np.unique(numbers, return_counts=True)
        scores = ndtri((np.cumsum(counts) - 0.5 * counts) / numbers.size)
        reach = max(-scores[0], scores[-1])
        return cls(known, 0.5 + scores / (2.0 * reach))

    def values(self, numbers: Floats) -> Floats:
        """Return the values of numbers, between those known on straight lines."""
        return np.interp(self._magnitude.small(numbers), self._small, self.places)[:, None]

    def expected(self, mean: Floats, variance: Floats, fill: Fill) -> Floats:
        """Return the mean over draws and over the noise: that of a curve is not the curve of the mean."""
        total = np.zeros(mean.shape[1])
        for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
            said = mean[..., 0] + node * np.sqrt(variance[..., 0])
            total += weight * np.interp(said, self.places, self._small).mean(axis=0)
        # The weights sum to 1 but for rounding.
        return self._magnitude.back(np.clip(total, self._small[0], self._small[-1]))

    def drawn(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Return what is said with noise around it; beyond the ends on straight lines, as `Straight` does."""
        noisy = said[:, 0] + deviation[0] * rng.standard_normal(len(said))
        small = self._small
        found = np.interp(noisy, self.places, small)
        for end, inwards in ((0, _TENTH), (-1, -_TENTH)):
            inside = np.interp(self.places[end] + inwards, self.places, small)
            beyond = np.maximum((self.places[end] - noisy) * np.sign(inwards), 0.0)
            found += beyond / _TENTH * (small[end] - inside)
        return of_known_sign(self._magnitude.back(found), self.numbers[0], self.numbers[-1])

    @cached_property
    def _magnitude(self) -> Magnitude:
        return Magnitude.of(self.numbers)

    @cached_property
    def _small(self) -> Floats:
        return self._magnitude.small(self.numbers)


@dataclass(frozen=True, eq=False)
class Ordered:
    """One of few numbers: yes or no, stages, answers of a survey."""

    numbers: Floats
    n_questions = 1

    @property
    def _line(self) -> Straight:
        return Straight(float(self.numbers[0]), float(self.numbers[-1]))

    def values(self, numbers: Floats) -> Floats:
        """Return where numbers lie between both ends."""
        return self._line.values(numbers)

    def expected(self, mean: Floats, variance: Floats, fill: Fill) -> Floats:
        """Return the mean over draws, or the known number that is nearest to it."""
        found = self._line.expected(mean, variance, fill)
        return found if fill == "mean" else self._nearest(found)

    def drawn(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Return known numbers: of two with the chance that is said, of more the nearest to what is said with noise."""
        if self.numbers.size == 2:
            return self.numbers[(rng.random(len(said)) < said[:, 0]).astype(np.int64)]
        return self._nearest(self._line.drawn(said, deviation, rng))

    def _nearest(self, numbers: Floats) -> Floats:
        middles = 0.5 * self.numbers[1:] + 0.5 * self.numbers[:-1]
        return self.numbers[np.searchsorted(middles, numbers)]


@dataclass(frozen=True, eq=False)
class Nominal:
    """One of few categories without order, each a question with the answers yes and no."""

    numbers: Floats

    @property
    def n_questions(self) -> int:
        """One for each category."""
        return self.numbers.size

    def values(self, numbers: Floats) -> Floats:
        """Return 1 at the category of each number; new rows may have one that is not known, which is none."""
        return (numbers[:, None] == self.numbers).astype(np.float64)

    def expected(self, mean: Floats, variance: Floats, fill: Fill) -> Floats:
        """Return the likeliest category: there is no mean of them."""
        return self.numbers[mean.mean(axis=0).argmax(axis=1)]

    def drawn(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Return categories with the chances that are said; where none is above 0, as likely as each other."""
        chances = np.clip(said, 0.0, 1.0)
        chances[~chances.any(axis=1)] = 1.0
        return chosen(self.numbers, chances, rng)


def chosen(numbers: Floats, chances: Floats, rng: np.random.Generator) -> Floats:
    """Draw one of the numbers for every row of chances, which need not sum to 1.

    Examples
    --------
    >>> chosen(np.array([10.0, 20.0]), np.array([[0.5, 0.0], [0.0, 3.0]]), np.random.default_rng(0)).tolist()
    [10.0, 20.0]
    """
    upto = np.cumsum(chances, axis=1)
    beyond = rng.random(len(chances))[:, None] * upto[:, -1:]
    return numbers[(beyond >= upto[:, :-1]).sum(axis=1)]


def of_known_sign(numbers: Floats, low: float, high: float) -> Floats:
    """Cut numbers at 0 where all that are known, from `low` to `high`, lie on one side of it.

    Examples
    --------
    >>> of_known_sign(np.array([-3.0, 9.0]), 0.5, 7.0).tolist()
    [0.0, 9.0]
    """
    return np.clip(numbers, 0.0 if low >= 0.0 else None, 0.0 if high <= 0.0 else None)


def column_of(numbers: Floats, mapping: Mapping, kind: Literal["auto", "numbers", "ordered", "nominal"]) -> Column:
    """Choose what a column is by the numbers known of it, where that is left open.

    Examples
    --------
    >>> column_of(np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0]), "auto", "auto")
    Ordered(numbers=array([0., 1.]))
    >>> column_of(np.array([1.5, 2.5, 4.0]), "auto", "auto")
    Straight(low=1.5, high=4.0)
    """
    known = np.unique(numbers)
    if known.size == 1:
        return Constant(float(known[0]))
    if kind == "nominal":
        return Nominal(known)
    few = known.size <= _FEW and numbers.size >= _OFTEN * known.size
    if kind == "ordered" or (kind == "auto" and few):
        return Ordered(known)
    line = Straight(float(known[0]), float(known[-1]))
    if mapping == "quantile" or (mapping == "auto" and known.size >= _MANY and _is_bent(line.values(numbers)[:, 0])):
        return Curved.of(numbers)
    return line


def _is_bent(values: Floats) -> bool:
    """Tell whether few numbers lie far from the others, so that a range would squeeze these."""
    left = values - values.mean()
    deviation = left.std()
    skewness, tails = (left**3).mean() / deviation**3, (left**4).mean() / deviation**4
    return bool(abs(skewness) > _SKEWED or tails > _HEAVY)
