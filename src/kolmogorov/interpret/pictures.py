"""`model.plot`: pictures of what a model has learned (extra `plot`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.errors import DataError
from kolmogorov.fitted.base import Trained
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.events.naming import EventItems
from kolmogorov.interpret.relations.arrangement import ranks
from kolmogorov.interpret.relations.order import Order
from kolmogorov.interpret.relations.supports import Supports
from kolmogorov.plot.curves import draw_calibration, draw_history
from kolmogorov.plot.events import draw_events
from kolmogorov.plot.matrix import draw_matrix
from kolmogorov.plot.order import draw_order
from kolmogorov.surface.held_out import held_out
from kolmogorov.surface.ids import at_entries


class Pictures:
    """Pictures of a fitted model; every method takes matplotlib Axes, or makes some, and returns them.

    Examples
    --------
    >>> import kolmogorov as km
    >>> zoo = km.datasets.load("zoo")
    >>> model = km.KolmogorovModel(5, user_reg=0.3, n_init=10, random_state=0).fit(zoo)
    >>> model.plot.events().get_xlabel()
    'share of the population'
    """

    def __init__(self, trained: Trained, read: Fitted) -> None:
        self._trained = trained
        # What is drawn; of draws the one model that stands for them.
        self._fitted = read

    def events(self, ax: Any = None) -> Any:
        """Draw the share of each event, named by the items that set it apart."""
        return draw_events(self._names(), self._fitted.theta_or_population[-1].tolist(), ax)

    def matrix(self, max_rows: int = 30, ax: Any = None) -> Any:
        """Draw the supports that most observations are about, one line for each; equal ones share it."""
        fitted = self._fitted
        supports = Supports(self._inside(), np.flatnonzero(fitted.item_seen))
        weight = self._weights(supports)
        shown = np.argsort(-weight, kind="stable")[:max_rows].tolist()
        values = np.array([fitted.psi[supports.members_of(number)].mean(axis=0) for number in shown], dtype=np.float64)
        labels = [self._label(supports.members_of(number)) for number in shown]
        return draw_matrix(np.clip(values.reshape(len(shown), fitted.n_events), 0.0, 1.0), labels, self._names(), ax)

    def order(self, max_classes: int = 24, ax: Any = None) -> Any:
        """Draw the order by implication of the classes that most observations are about."""
        psi, size = self._inside(), self._inside().sum(axis=1)
        rows = np.flatnonzero(self._fitted.item_seen & (size > 0) & (size < self._fitted.n_events))
        weight = self._weights(Supports(psi, rows))
        kept = np.argsort(-weight, kind="stable")[:max_classes]
        every = Supports(psi, rows)
        few = Supports(psi, np.sort(np.concatenate([every.members_of(int(number)) for number in kept] or [rows[:0]])))
        order = Order(few, self._fitted.items.name)
        labels = [self._label(members) for members in order.classes]
        return draw_order(labels, order.levels, ranks(order), order.covers, ax)

    def history(self, ax: Any = None) -> Any:
        """Draw the training error by sweep."""
        history = self._fitted.history
        return draw_history([sweep.sweep for sweep in history], [sweep.rmse for sweep in history], ax)

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
        return draw_calibration(at_entries(self._trained, test), test.values, ax=ax)

    def _names(self) -> list[str]:
        return EventItems(self._fitted).names()

    def _inside(self) -> Any:
        psi = self._fitted.psi
        return psi if psi.dtype == bool else psi > 0.5

    def _weights(self, supports: Supports) -> Any:
        counts = self._fitted.item_counts
        return np.array([counts[supports.members_of(number)].sum() for number in range(supports.n_classes)])

    def _label(self, rows: Any) -> str:
        best = rows[np.argmax(self._fitted.item_counts[rows])]
        rest = f" +{len(rows) - 1}" if len(rows) > 1 else ""
        return f"{self._fitted.items.name(int(best))[:28]}{rest}"
