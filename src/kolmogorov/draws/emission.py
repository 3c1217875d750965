"""Yes and no behind what draws say: the chance of a yes in an event, or of a hidden rating above one half."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from kolmogorov._support.typing import Floats
from kolmogorov.descent.fitted import NOISE

#: The paper's two levels where answers are yes and no: one answer in a hundred goes against its event. By judgement.
NEARLY_SURE = np.array([0.01, 0.99])
#: The chances of a no and of a yes at either level, and where these stand in the items' normal prior: by log odds.
CHANCES = np.column_stack([1.0 - NEARLY_SURE, NEARLY_SURE])
POSITION = 0.5 + (np.log(NEARLY_SURE) - np.log1p(-NEARLY_SURE)) / 8.0


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
