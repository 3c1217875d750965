"""Events, named and described by the items that their people like more than everybody does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.table.liking import reaching
from kolmogorov.fitted.point import Fitted

#: Likes that an item counts as expecting of every event beside its own: what is rarely seen stands out in none. Chosen
#: by benchmarks/coherence.py on a split that is not reported.
_DOUBT = 0.5
#: Items in a name, and letters of each. By judgement: what fits beside a bar.
_IN_NAME, _LONGEST = 2, 28


@dataclass(frozen=True)
class Event:
    """One elementary event.

    Attributes
    ----------
    number : int
        Column of theta and psi.
    name : str
        The items that set it apart most; no two events are named by the same while there are others.
    share : float
        Mean probability of the event over the users observed; the shares of all events sum to 1.
    n_items : int
        How many items happen in it: those with the event in their support, or that are at least as likely to happen in
        it as not.
    items : tuple of str
        Those that its people like more than everybody does, the most telling first.
    rows : tuple of int
        Their row numbers.
    """

    number: int
    name: str
    share: float
    n_items: int
    items: tuple[str, ...]
    rows: tuple[int, ...]


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
        rows, shape = self.fitted.training.rows, (len(self.fitted.users), len(self.fitted.items))
        values = rows.values
        if self.fitted.points.size > 2:
            # Of ratings, those of the upper half say that something is liked.
            values = reaching(values, self.fitted.likes).astype(np.float64)
        said = csr_array((values, rows.indices, rows.indptr), shape=shape)
        return np.asarray(said.T @ self.fitted.theta)

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

    def best(self, event: int, count: int, used: Rows | None = None) -> Rows:
        """Return the items that tell most of an event, the most telling first; those `used` come after all others."""
        score = self.score[:, event]
        last = np.zeros(len(score)) if used is None else np.isin(np.arange(len(score)), used)
        order = np.lexsort((-score, last))[:count]
        return order[score[order] > 0.0]

    def names(self, titles: list[str] | None = None) -> list[str]:
        """Name every event by its items, or by its number where nothing sets it apart.

        The events that like most choose first. `titles` are what to call the items.
        """
        chosen: dict[int, str] = {}
        used = np.empty(0, dtype=np.int64)
        for event in np.argsort(-self.likes.sum(axis=0), kind="stable").tolist():
            rows = self.best(event, _IN_NAME, used)
            used = np.append(used, rows)
            words = [self.fitted.items.name(row) if titles is None else titles[row] for row in rows.tolist()]
            chosen[event] = " · ".join(_short(word) for word in words) or f"event {event}"
        return [chosen[event] for event in range(self.fitted.n_events)]

    def events(self, n_items: int = 10, titles: list[str] | None = None) -> list[Event]:
        """Describe every event by so many items at most."""
        fitted, found = self.fitted, []
        inside = (fitted.psi[fitted.item_seen] >= 0.5).sum(axis=0)
        for number, name in enumerate(self.names(titles)):
            rows = tuple(self.best(number, n_items).tolist())
            items = tuple(fitted.items.name(row) for row in rows)
            found.append(Event(number, name, float(fitted.population[number]), int(inside[number]), items, rows))
        return found


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
