"""Which items name an event: those that its people like more than everybody does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.fitted.point import Fitted

#: Likes that an item counts as expecting of every event beside its own: what is rarely seen stands out in none. Chosen
#: by benchmarks/coherence.py on a split that is not reported.
_DOUBT = 0.5
_LONGEST = 28


@dataclass(frozen=True, eq=False)
class EventItems:
    """How far each item stands out in each event.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.KolmogorovModel(5, random_state=0).fit(km.datasets.load("zoo"))
    >>> found = EventItems(model.fitted_)
    >>> bool(np.isclose(found.likes.sum(axis=0), found.expected.sum(axis=0)).all())
    True
    """

    fitted: Fitted

    @cached_property
    def likes(self) -> Floats:
        """How much the people of each event like each item, all together: what they said above the usual, summed.

        A user counts to an event as far as theta says; float64[n_items, D].
        """
        rows = self.fitted.training.rows
        shape = (len(self.fitted.users), len(self.fitted.items))
        # Of ratings, those of the upper half say that something is liked.
        values = rows.values if self._only_values else (rows.values >= self._liked).astype(np.float64)
        said = csr_array((values, rows.indices, rows.indptr), shape=shape)
        return np.asarray(said.T @ self.fitted.theta)

    @property
    def _only_values(self) -> bool:
        return self.fitted.points.size == 2

    @cached_property
    def _liked(self) -> float:
        """The least rating that at most about half of all ratings reach."""
        values, points = self.fitted.training.values, self.fitted.points
        reached = np.array([(values >= point - 1e-9).mean() for point in points])
        return float(points[np.argmax(reached <= _HALF) if (reached <= _HALF).any() else -1]) - 1e-9

    @cached_property
    def expected(self) -> Floats:
        """The same, if all events liked the same things as much as they like anything."""
        share = self.likes.sum(axis=0) / max(float(self.likes.sum()), 1e-300)
        return self.likes.sum(axis=1, keepdims=True) * share

    @cached_property
    def score(self) -> Floats:
        """How far an item stands out in an event, times the share of its standing out that falls to this event.

        Standing out is counted in deviations: likes beyond those expected over the root of these. What stands out
        everywhere else too says less of the event.
        """
        out = np.maximum(self.likes - self.expected, 0.0) / np.sqrt(self.expected + _DOUBT)
        total = out.sum(axis=1, keepdims=True)
        score: Floats = out**2 / np.where(total > 0.0, total, 1.0)
        return score

    def best(self, event: int, count: int) -> Rows:
        """Return the items that name an event, the most telling first."""
        score = self.score[:, event]
        order = np.argsort(-score, kind="stable")[:count]
        return order[score[order] > 0.0]

    def names(self, titles: list[str] | None = None, count: int = 2) -> list[str]:
        """Name every event by its items; none is used twice while there are others.

        Parameters
        ----------
        titles : list of str, optional
            What to call the items.
        count : int
            Items in a name.
        """
        chosen: dict[int, str] = {}
        used = np.zeros(len(self.score), dtype=bool)
        for event in np.argsort(-self.likes.sum(axis=0), kind="stable").tolist():
            score = self.score[:, event]
            order = np.argsort(-np.where(used, score - 1e6, score), kind="stable")
            rows = [int(row) for row in order[:count] if score[row] > 0.0]
            used[rows] = True
            words = [self.fitted.items.name(row) if titles is None else titles[row] for row in rows]
            chosen[event] = " · ".join(_short(word) for word in words) or f"event {event}"
        return [chosen[event] for event in range(self.fitted.n_events)]


#: About half of all ratings.
_HALF = 0.6


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
