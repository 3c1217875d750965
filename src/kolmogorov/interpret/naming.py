"""Which items an event should be named by: those that its people say yes to more than others do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.fitting.fitted import Fitted

#: Between 0, which ranks by lift, and 1, which ranks by probability; here few events share an item and most are known.
WEIGHT = 0.2
#: Yeses spread over the events as all are, which an item counts as having had before; a lift needs some cases.
DOUBT = 5.0
_TINY = 1e-9
_LONGEST = 28


@dataclass(frozen=True, eq=False)
class EventItems:
    """How much of each item's yes falls to each event, and what that says about the event.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.KolmogorovModel(5, user_reg=0.3, n_init=10, random_state=0).fit(km.datasets.load("zoo"))
    >>> found = EventItems(model.fitted_)
    >>> bool(np.isclose(found.probability.sum(axis=0), 1).all())
    True
    """

    fitted: Fitted

    @cached_property
    def mass(self) -> Floats:
        """Yeses to each item that fall to each event; float64[n_items, D].

        A yes of user u to item i falls to event d with probability theta_ud psi_id / (theta_u . psi_i).
        """
        fitted = self.fitted
        rows = fitted.training.rows
        users = fitted.training.user_rows().astype(np.int64)
        chance = np.maximum(fitted.hard.at_rows(users, rows.indices.astype(np.int64)), 1e-3)
        shape = (len(fitted.users), len(fitted.items))
        yes = csr_array((rows.values / chance, rows.indices, rows.indptr), shape=shape)
        return np.asarray(yes.T @ fitted.theta) * np.maximum(fitted.psi.astype(np.float64), 0.0)

    @cached_property
    def probability(self) -> Floats:
        """Share of each item in an event's yeses."""
        mass: Floats = self.mass / np.maximum(self.mass.sum(axis=0), _TINY)
        return mass

    @cached_property
    def lift(self) -> Floats:
        """How much larger an event's share in an item's yeses is than its share in all."""
        share = np.maximum(self.mass.sum(axis=0), _TINY) / max(float(self.mass.sum()), _TINY)
        own = self.mass.sum(axis=1, keepdims=True)
        lift: Floats = (self.mass + DOUBT * share) / (own + DOUBT) / share
        return lift

    def relevance(self, weight: float = WEIGHT) -> Floats:
        """Return ``weight * log(probability) + (1 - weight) * log(lift)``; -inf where an item does not happen."""
        with np.errstate(divide="ignore"):
            score = weight * np.log(self.probability) if weight else np.zeros_like(self.mass)
            score = score + (1.0 - weight) * np.log(self.lift)
        return np.where(self.mass > 0.0, score, -np.inf)

    def best(self, event: int, count: int, weight: float = WEIGHT) -> Rows:
        """Return the items that an event is best described by."""
        score = self.relevance(weight)[:, event]
        order = np.argsort(-score, kind="stable")[:count]
        return order[np.isfinite(score[order])]

    def names(self, titles: list[str] | None = None, count: int = 2) -> list[str]:
        """Name every event by its items; none is used twice while there are others.

        Parameters
        ----------
        titles : list of str, optional
            What to call the items.
        count : int
            Items in a name.
        """
        score = self.relevance()
        chosen: dict[int, str] = {}
        used = np.zeros(len(score), dtype=bool)
        for event in np.argsort(-self.mass.sum(axis=0), kind="stable").tolist():
            order = np.argsort(-np.where(used, score[:, event] - 1e6, score[:, event]), kind="stable")
            rows = [int(row) for row in order[:count] if np.isfinite(score[row, event])]
            used[rows] = True
            words = [self.fitted.items.name(row) if titles is None else titles[row] for row in rows]
            chosen[event] = " · ".join(_short(word) for word in words) or f"event {event}"
        return [chosen[event] for event in range(self.fitted.n_events)]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
