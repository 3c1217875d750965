"""Time for a search: when it is over, and fits that end with it."""

from __future__ import annotations

import time
from typing import Any

from kolmogorov.model.simplex_model import SimplexModel

#: Share of the time that may be spent before the last fit begins.
_SEARCHING = 0.75


class Budget:
    """Seconds from now on, or no end of them.

    Examples
    --------
    >>> Budget(None).over(), Budget(1e-9).over()
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self._began = time.monotonic()
        self._seconds = float("inf") if seconds is None else float(seconds)

    def over(self) -> bool:
        """Whether it is time to come to an end, with enough left for a last fit."""
        return self._spent() > _SEARCHING * self._seconds

    def limited(self, model: SimplexModel) -> SimplexModel:
        """Let the fits of a model end when the search is over; what they have reached stands."""
        return model.set_params(callback=lambda sweep: self.over())

    def fitted(self, model: Any, table: Any) -> Any:
        """Fit a model in the time that is left; one that cannot be ended takes the time it takes."""
        if not isinstance(model, SimplexModel) or self._seconds == float("inf"):
            return model.fit(table)
        told = model.callback
        model.set_params(callback=lambda sweep: (told is not None and told(sweep)) or self._spent() > self._seconds)
        return model.fit(table).set_params(callback=told)

    def _spent(self) -> float:
        return time.monotonic() - self._began
