"""The chance of each answer in an event in which an item has one of its levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.kernels.draws.hidden import NOISE

#: The chance that an answer goes astray from its level: so much for each other answer, at most the second number; and
#: that it then goes one answer further, and so on. By judgement.
ASTRAY, MOST_ASTRAY, FURTHER = 0.1, 0.3, 0.3


@dataclass(frozen=True, eq=False)
class Emission:
    """Answers, and their chances where an item has each of its levels."""

    #: [R], on the probability scale, increasing.
    answers: Floats
    #: [L, R]
    chances: Floats
    #: [L], where a level stands in the items' normal prior.
    position: Floats

    @classmethod
    def of_chances(cls, chances: Floats) -> Emission:
        """Answers are yes or no: a level is the chance of a yes, and its place its log odds."""
        table = np.column_stack([1.0 - chances, chances])
        odds = np.log(chances) - np.log1p(-chances)
        return cls(np.array([0.0, 1.0]), table, 0.5 + odds / 8.0)

    @classmethod
    def of_answers(cls, answers: Floats) -> Emission:
        """A level is one of the answers themselves, from which some go astray to the neighbours."""
        distance = np.abs(np.subtract.outer(np.arange(answers.size), np.arange(answers.size)))
        table = np.where(distance == 0, 0.0, FURTHER**distance)
        astray = min(ASTRAY * (answers.size - 1), MOST_ASTRAY)
        table *= astray / table.sum(axis=1, keepdims=True)
        table[np.diag_indices(answers.size)] = 1.0 - astray
        return cls(answers, table, answers)

    @property
    def levels(self) -> Floats:
        """The mean answer of each level, which is what a model predicts with."""
        mean: Floats = self.chances @ self.answers
        return mean

    def codes(self, values: Floats) -> NDArray[np.uint8]:
        """Return the place of each observed value among the answers."""
        return nearest(values, self.answers)


def hides_ratings(likelihood: str, levels: Floats) -> bool:
    """Tell whether a yes is a hidden rating above one half: levels that are no chances are those of ratings."""
    return likelihood == "bernoulli" and bool(levels[0] < 0.0 or levels[-1] > 1.0)


def chances_of_yes(said: Floats) -> Floats:
    """Return the chances that hidden ratings around what draws say lie above one half; in single precision if they are.

    Examples
    --------
    >>> chances_of_yes(np.array([-1.0, 0.25, 0.5, 1.0])).round(4).tolist()
    [0.0001, 0.2654, 0.5, 0.895]
    """
    chance: Floats = ndtr((said - said.dtype.type(0.5)) * said.dtype.type(1.0 / np.sqrt(NOISE)))
    return chance


def emission_of(likelihood: str, levels: Floats, table: Observations) -> Emission:
    """Return the chances of answers behind a likelihood: of yes and no, or of the ratings that a table holds."""
    return Emission.of_chances(levels) if likelihood == "bernoulli" else Emission.of_answers(np.unique(table.values))
