"""What a fit of a `ListModel` leaves behind: links between items, events, and the balance of the two."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.files import Arrays, Parts, Schema
from kolmogorov.descent.point import Fitted
from kolmogorov.descent.trained import Trained
from kolmogorov.errors import InvariantError
from kolmogorov.models.fitted_links import Links


@dataclass(frozen=True)
class ListSettings:
    """What lists of held-out entries settle.

    Attributes
    ----------
    ridge : float
        Of the regression of an item on all others.
    growth : float
        The ridge of an item grows with this power of how often it was observed.
    unobserved : float
        What an entry that was not observed weighs where events are learned.
    balance : float
        The share of events in a score; the rest is that of links.
    """

    ridge: float
    growth: float
    unobserved: float
    balance: float

    def validate(self) -> None:
        """Raise `InvariantError` where something is not what it must be; for numbers from a file."""
        limits = {"ridge": (1e-9, 1e12), "growth": (0.0, 1.0), "unobserved": (0.0, 1.0), "balance": (0.0, 1.0)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if type(value) not in (int, float) or not low <= value <= high:
                raise InvariantError(f"{name} must be a number from {low:g} to {high:g}, got {str(value)[:40]}")


@dataclass(frozen=True, eq=False)
class FittedLists(Trained):
    """A score is (1 - balance) times the sum of links from a user's items, plus balance times theta . psi."""

    has_scores: ClassVar[bool] = True
    SCHEMA: ClassVar[Schema] = Fitted.SCHEMA | {
        "link_matrix?": "f4 items items",
        "link_indptr?": "i8 *",
        "link_items?": "i4 links",
        "link_weights?": "f4 links",
    }
    links: Links
    events: Fitted
    settings: ListSettings

    @property
    def training(self) -> Observations:  # type: ignore[override]
        """What the model was fitted to."""
        return self.events.training

    def with_training(self, training: Observations) -> Self:
        """Return the same over observations whose items or users are called otherwise."""
        return replace(self, events=replace(self.events, training=training))

    def known_rows(self, users: Rows, items: Rows) -> tuple[Rows, Rows]:
        """Return the rows as they are: users and items without observations have thetas and psis too."""
        return users, items

    def at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return scores for aligned rows, cut to the scale."""
        return np.clip(self.scores_at_rows(users, items), 0.0, 1.0)

    def scores_at_rows(self, users: Rows, items: Rows) -> Floats:
        """Return scores for aligned rows as they are: what lists are ordered by."""
        theta, psi = self.events.theta_or_population[users], self.events.psi_or_average[items]
        balance = self.settings.balance
        linked = self.links.pairs(self.training.rows, users, items)
        return (1.0 - balance) * linked + balance * np.einsum("nd,nd->n", theta, psi)

    def of_users(self, users: Rows, lower: float | None = None) -> Floats:
        """Return the scores of all items for some users; they may lie beyond the scale, so that lists keep an order."""
        return self.of_rows(self.training.rows, users, self.events.theta_or_population[users])

    def of_rows(self, view: View, rows: Rows, theta: Floats) -> Floats:
        """Return the same for some rows of observations of anybody, whose thetas are given, one for each row."""
        out = self.links.scores(view, rows)
        out *= 1.0 - self.settings.balance
        if self.settings.balance > 0.0:
            out += self.settings.balance * (theta @ self.events.psi_or_average[:-1].T)
        return out

    def similar_to(self, item: int) -> Floats:
        """Return the mean of the weights to and from every other item, the geometric one, where both speak for it.

        That is the correlation of the two given all other items.
        """
        there, back = self.links.out_of(item), self.links.into(item)
        found: Floats = np.sqrt(np.maximum(there, 0.0) * np.maximum(back, 0.0))
        found[item] = 1.0
        return found

    def stored(self) -> Parts:
        """Return what a file holds of this: numbers and arrays by name."""
        meta, arrays = self.events.stored()
        return meta | {"settings": asdict(self.settings)}, arrays | self.links.arrays()

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Undo `stored`; what does not belong together is for `validate` to find."""
        return cls(Links.restored(arrays), Fitted.restored(meta, arrays), ListSettings(**meta["settings"]))

    def validate_numbers(self) -> None:
        """Check the events, the links, and the settings."""
        self.events.validate_numbers()
        if self.events.psi.dtype == bool:
            raise InvariantError("the events of lists must hold chances")
        self.links.validate(len(self.items))
        self.settings.validate()
