"""A planted roll call: nobody voted so, the truth behind it is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.data.datasets.polls import Poll, read_truth
from kolmogorov.data.datasets.synthetic import Planted
from kolmogorov.data.reading.options import ReadingOptions

#: In which of these a vote falls is drawn anew for every member and motion.
_EVENTS = ("welfare", "market", "green", "rural", "order", "liberty")
_POLL = Poll(
    kinds=("party", "region"),
    groups={
        "Labour": (40, (10.0, 0.2, 1.0, 0.3, 0.3, 0.7)),
        "Union": (36, (0.2, 7.5, 0.2, 0.4, 3.5, 0.5)),
        "Green": (20, (0.7, 0.2, 9.0, 0.2, 0.1, 2.5)),
        "Country": (24, (1.0, 0.5, 0.3, 9.0, 1.5, 0.1)),
    },
    places={
        "North": (0.2, 0.0, 0.0, 1.5, 0.0, 0.0),
        "Coast": (0.0, 0.0, 1.0, 0.3, 0.0, 0.0),
        "South": (0.0, 0.3, 0.0, 0.0, 1.5, 0.0),
        "City": (0.0, 0.5, 0.3, 0.0, 0.0, 1.5),
    },
    concentration=8.0,
    silent=0.1,
    answer=lambda _, values: values,
    scale=ReadingOptions(maximum=1.0),
)


def votes(random_state: Any = 0) -> Planted:
    """Draw the roll call with the truth behind it.

    It is *planted*: parties, regions and motions are invented, the votes are drawn from a seed. 120 members vote on 60
    motions, a tenth of the votes is missing. `psi` says in which of the six `events` a motion gets a yes, `groups` has
    the party and the region of each member.

    Examples
    --------
    >>> truth = votes()
    >>> truth.events
    ('welfare', 'market', 'green', 'rural', 'order', 'liberty')
    >>> truth.observations.users.name(0), truth.groups["party"][0], truth.groups["region"][0]
    ('labour-north-1', 'Labour', 'North')
    """
    motions = read_truth("votes")
    psi = np.array([[event in row["events"].split() for event in _EVENTS] for row in motions])
    return _POLL.draw([row["motion"] for row in motions], psi, _EVENTS, random_state)
