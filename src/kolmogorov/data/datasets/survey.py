"""A planted survey with answers from 1 to 5: nobody was asked, the truth behind it is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.data.datasets.polls import Poll, read_truth
from kolmogorov.data.datasets.synthetic import Planted
from kolmogorov.data.reading.options import ReadingOptions

_EVENTS = ("rider", "driver", "parent", "reveller", "gardener")
_LOWEST, _HIGHEST = 1.0, 5.0
#: Share of answers that are one step away from what the event says.
_ASTRAY = 0.2


def _answer(rng: np.random.Generator, values: Floats) -> Floats:
    step = rng.choice([-1.0, 0.0, 1.0], size=values.size, p=[_ASTRAY / 2, 1.0 - _ASTRAY, _ASTRAY / 2])
    return np.clip(_LOWEST + (_HIGHEST - _LOWEST) * values + step, _LOWEST, _HIGHEST)


_POLL = Poll(
    kinds=("age", "district"),
    groups={
        "Young": (50, (5.0, 1.0, 0.3, 4.0, 0.3)),
        "Middle": (70, (1.5, 3.5, 5.0, 0.5, 1.0)),
        "Old": (40, (1.0, 3.0, 0.3, 0.2, 6.0)),
    },
    places={
        "Harbour": (1.0, 0.0, 0.0, 2.0, 0.0),
        "Hill": (0.0, 2.0, 1.0, 0.0, 1.0),
        "Centre": (2.0, 0.0, 0.0, 1.0, 0.0),
        "Fields": (0.0, 1.5, 1.0, 0.0, 2.0),
    },
    concentration=0.7,
    silent=0.15,
    answer=_answer,
    scale=ReadingOptions(minimum=_LOWEST, maximum=_HIGHEST),
)


def survey(random_state: Any = 0) -> Planted:
    """Draw the survey with the truth behind it.

    It is *planted*: town and statements are invented, the answers are drawn from a seed. 160 people say how far 40
    statements are true, from 1 (not at all) to 5 (fully); 15% of the answers are missing, and of the others one in five
    is a step off. `psi` holds the value of each statement in each of the five `events`, on the scale from 0 to 1;
    `groups` has the age and the district of each person.

    Examples
    --------
    >>> truth = survey()
    >>> truth.observations.scale.rating(truth.psi[0]).tolist()
    [5.0, 2.0, 3.0, 4.0, 3.0]
    """
    statements = read_truth("survey")
    values = np.array([[float(row[event]) for event in _EVENTS] for row in statements])
    psi = (values - _LOWEST) / (_HIGHEST - _LOWEST)
    return _POLL.draw([row["question"] for row in statements], psi, _EVENTS, random_state)
