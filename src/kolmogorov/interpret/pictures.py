"""`model.plot`: pictures of what a model has learned (extra `plot`)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kolmogorov._support.typing import Rows
from kolmogorov.data import Observations
from kolmogorov.descent.fitted import Fitted, Trained
from kolmogorov.errors import DataError
from kolmogorov.interpret.events import Event, EventItems
from kolmogorov.interpret.plot import (
    calibration_curve,
    event_bars,
    history_curve,
    order_diagram,
    shortened,
    support_matrix,
    user_bars,
)
from kolmogorov.interpret.relations import Relations
from kolmogorov.interpret.supports import Order, Supports
from kolmogorov.models.ids import at_entries, id_of, rows_of
from kolmogorov.models.metrics import held_out


class Pictures:
    """Pictures of a fitted model; every method takes matplotlib Axes, or makes some, and returns them.

    Examples
    --------
    >>> import kolmogorov as km
    >>> zoo = km.datasets.load("zoo")
    >>> model = km.KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)
    >>> model.plot.events().get_xlabel()
    'share of the population'
    """

    def __init__(self, trained: Trained, read: Fitted) -> None:
        self._trained = trained
        # What is drawn; of draws the one model that stands for them.
        self._fitted = read

    @cached_property
    def _events(self) -> list[Event]:
        return EventItems(self._fitted).events(0)

    def events(self, ax: Any = None) -> Any:
        """Draw the share of each event, named by the items that set it apart."""
        return event_bars([event.name for event in self._events], [event.share for event in self._events], ax)

    def users(self, users: Any = None, max_rows: int = 20, ax: Any = None) -> Any:
        """Draw what some users are made of: a bar for each, with the probability of every event.

        Parameters
        ----------
        users : list of ids or titles, optional
            By default those with most observations. They are ordered by the event that they are most in.
        max_rows : int
            How many there are by default.
        ax : Axes, optional
        """
        fitted = self._fitted
        if users is None:
            rows = np.argsort(-fitted.training.rows.counts, kind="stable")[:max_rows]
        else:
            ids = [id_of(fitted.users, user, "user") for user in users]
            rows = rows_of(fitted.users, fitted.user_known, ids, "user", "error")
        theta = fitted.theta[rows]
        order = np.lexsort((-theta.max(axis=1), theta.argmax(axis=1)))
        rows = rows[order]
        names = [fitted.users.name(row) for row in rows.tolist()]
        named = fitted.users.are_names
        events = [", ".join(event.users) if named else event.name for event in self._events]
        return user_bars(names, theta[order], events, ax)

    def matrix(self, max_rows: int = 30, ax: Any = None) -> Any:
        """Draw the supports that most observations are about, one line for each; equal ones share it."""
        classes = self._classes(max_rows, trivial=True)
        psi = np.array([self._fitted.psi[rows].mean(axis=0) for rows in classes], dtype=np.float64)
        psi = np.clip(psi.reshape(len(classes), self._fitted.n_events), 0.0, 1.0)
        return support_matrix(psi, [*map(self._label, classes)], [event.name for event in self._events], ax)

    def order(self, max_classes: int = 24, ax: Any = None) -> Any:
        """Draw the order by implication of the classes that most observations are about."""
        rows = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *self._classes(max_classes, trivial=False)]))
        order = Order(Supports(self._happens.psi, rows), self._fitted.items.name)
        return order_diagram([*map(self._label, order.classes)], order.levels, order.ranks, order.covers, ax)

    def history(self, ax: Any = None) -> Any:
        """Draw the training error by sweep."""
        history = self._fitted.history
        return history_curve([sweep.sweep for sweep in history], [sweep.rmse for sweep in history], ax)

    def calibration(self, observations: Observations | None = None, ax: Any = None) -> Any:
        """Draw mean outcome against mean prediction.

        Parameters
        ----------
        observations : Observations, optional
            Those that the model was not trained on are looked at; without any, the training data.
        ax : Axes, optional
        """
        test = self._trained.training
        if observations is not None:
            test = held_out(self._trained, observations.rescaled(self._trained.scale))
            if not len(test):
                raise DataError("The model was trained on all of these observations. Give others, or none.")
        return calibration_curve(at_entries(self._trained, test), test.values, ax)

    @cached_property
    def _happens(self) -> Fitted:
        """The model of yes and no: what is at least as likely as not in an event happens there."""
        return self._fitted if self._fitted.psi.dtype == bool else self._fitted.reaching(0.5)

    def _classes(self, count: int, *, trivial: bool) -> list[Rows]:
        """Return the items of each of the classes of equal supports that most observations are about."""
        supports = Relations(self._happens, trivial=trivial).supports
        weight = np.bincount(supports.class_of, self._fitted.item_counts[supports.members], len(supports))
        return [supports.members_of(number) for number in np.argsort(-weight, kind="stable")[:count].tolist()]

    def _label(self, rows: Rows) -> str:
        best = rows[np.argmax(self._fitted.item_counts[rows])]
        rest = f" +{len(rows) - 1}" if len(rows) > 1 else ""
        return f"{shortened(self._fitted.items.name(int(best)), 28)}{rest}"
