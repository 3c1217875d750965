"""The chance of a yes in an event in which an item has one of its levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from kolmogorov._support.nearest import nearest
from kolmogorov._support.typing import Floats
from kolmogorov.kernels.draws.hidden import NOISE


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
