"""The estimator's readings: methods whose answers are made one layer up, in `interpret`.

`model.explain()` and `model.relations()` belong to the model in the eyes of its user. This file is the
only one below `interpret` that may import it, and only inside the methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from kolmogorov.model.prediction import Unknown

if TYPE_CHECKING:
    from kolmogorov.interpret.contributions import Explanation
    from kolmogorov.interpret.events import Event
    from kolmogorov.interpret.relations import Relations
    from kolmogorov.model.parameters import Fitted


class ReadingMixin:
    """Methods that put a fitted model into words."""

    fitted_: Fitted

    def explain(self, user: Any, item: Any, *, unknown: Unknown = "average") -> Explanation:
        """Say which events carry the probability that `user` says yes to `item`; contributions sum to it."""
        from kolmogorov.interpret.contributions import explain

        check_is_fitted(self)
        return explain(self.fitted_, user, item, unknown)

    def events(self, n_items: int = 10) -> list[Event]:
        """Describe each elementary event by its share of the population and its most telling items."""
        from kolmogorov.interpret.events import describe

        check_is_fitted(self)
        return describe(self.fitted_, n_items)

    def relations(self) -> Relations:
        """Read the logical relations between items off their supports."""
        from kolmogorov.interpret.relations import Relations

        check_is_fitted(self)
        return Relations(self.fitted_)
