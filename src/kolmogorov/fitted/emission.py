"""The chance of each answer in an event in which an item has one of its levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations

#: The chance that an answer goes astray from its level: so much for each other answer, at most the second number; and
#: that it then goes one answer further, and so on. By judgement.
ASTRAY, MOST_ASTRAY, FURTHER = 0.1, 0.3, 0.3
#: Between which chances of a yes are cut where levels reach beyond them: no answer is impossible. By judgement.
CUT = (2e-3, 1.0 - 2e-3)
#: Where none does, what is left of a chance when a difference of sums rounds to below 0.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Emission:
    """Answers, and their chances where an item has each of its levels."""

    #: [R], on the probability scale, increasing.
    answers: Floats
    #: [L, R]
    chances: Floats
    #: [L], where a level stands in the items' normal prior.
    position: Floats
    #: What a chance is cut to where levels that reach beyond 0 or 1 sum to less; from above to 1 - `least`.
    least: float = _LEAST

    @classmethod
    def of_chances(cls, chances: Floats) -> Emission:
        """Answers are yes or no: a level is the chance of a yes; its place is its log odds, or where it reaches beyond.

        Levels that reach beyond 0 and 1 are for averages: what a user says to an item is cut.
        """
        table = np.column_stack([1.0 - chances, chances])
        if reaches(chances):
            return cls(np.array([0.0, 1.0]), table, chances, CUT[0])
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
    def beyond(self) -> bool:
        """Whether levels lie beyond chances, so that their sums over events are cut to what chances can be."""
        return self.least > _LEAST

    @property
    def levels(self) -> Floats:
        """The mean answer of each level, which is what a model predicts with."""
        mean: Floats = self.chances @ self.answers
        return mean

    def codes(self, values: Floats) -> NDArray[np.uint8]:
        """Return the place of each observed value among the answers."""
        return nearest(values, self.answers)


def reaches(chances: Floats) -> bool:
    """Tell whether chances of a yes reach beyond those that answers can have."""
    return bool(chances[0] <= 0.0 or chances[-1] >= 1.0)


def bounds_of(likelihood: str, levels: Floats) -> tuple[float, float]:
    """Return what a draw's products are cut to: with yes and no, chances. Ratings are cut when draws are averaged."""
    cut = likelihood == "bernoulli" and reaches(levels)
    return CUT if cut else (-np.inf, np.inf)


def emission_of(likelihood: str, levels: Floats, table: Observations) -> Emission:
    """Return the chances of answers behind a likelihood: of yes and no, or of the ratings that a table holds."""
    return Emission.of_chances(levels) if likelihood == "bernoulli" else Emission.of_answers(np.unique(table.values))
