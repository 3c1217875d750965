"""What events of a model of categories say of a column of numbers beyond its straight relations to others.

Given what is known of a row, draws say how probable each event is for it. What straight relations leave of a column has
a mean in each event, and what is expected of a row is the mean of these. So kinds of rows count, and curves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kolmogorov._support.typing import Floats

#: So many rows of 0 are added to every event, so that one of few rows says little. By judgement.
_RIDGE = 3.0


@dataclass(frozen=True, eq=False)
class Bend:
    """What is added to a column's values by events."""

    #: [n_draws, D]: the mean of what is left in each event of each draw.
    steps: Floats
    #: How far to believe them, from 0 to 1.
    weight: float
    #: The share of the variance around straight relations that is left around this.
    share: float
    #: [n]: what it leaves of the rows that it was learned from, each left out in its turn.
    rest: Floats

    @classmethod
    def of(cls, events: Floats, left: Floats) -> Self:
        """Learn from what straight relations leave of rows, given the events of each; float64[n_draws, n, D], [n].

        How far to believe it is what would have been best for rows that were left out, each in its turn.
        """
        steps, out = np.empty((len(events), events.shape[2])), np.zeros(left.size)
        for k, theta in enumerate(events):
            inverse = np.linalg.inv(theta.T @ theta + _RIDGE * np.eye(theta.shape[1]))
            steps[k] = inverse @ (theta.T @ left)
            own = np.einsum("nd,de,ne->n", theta, inverse, theta)
            out += (theta @ steps[k] - own * left) / (1.0 - own) / len(events)
        size, total = float(out @ out), float(left @ left)
        if size == 0.0 or total == 0.0:
            return cls(steps, 0.0, 1.0, left)
        weight = min(max(float(left @ out) / size, 0.0), 1.0)
        rest = left - weight * out
        return cls(steps, weight, min(float(rest @ rest) / total, 1.0), rest)

    def added(self, events: Floats) -> Floats:
        """Return what is added to the values of rows."""
        found: Floats = self.weight * np.einsum("knd,kd->n", events, self.steps) / len(events)
        return found
