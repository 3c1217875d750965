"""Time for a search: when it is over, and fits that end with it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from kolmogorov._support.progress import says_stop
from kolmogorov.model.kolmogorov import KolmogorovModel

#: Share of the time that may be spent before the last fit begins; by judgement.
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
        self._seconds = math.inf if seconds is None else float(seconds)

    def over(self) -> bool:
        """Whether it is time to come to an end, with enough left for a last fit."""
        return self._spent() > _SEARCHING * self._seconds

    def limited(self, model: KolmogorovModel) -> KolmogorovModel:
        """Let the fits of a model end when the search is over; what they have reached stands."""
        return model if self._seconds == math.inf else model.set_params(callback=_until(self.over, model.callback))

    def fitted(self, model: Any, table: Any) -> Any:
        """Fit a model in the time that is left; one that cannot be ended takes the time it takes."""
        if not isinstance(model, KolmogorovModel) or self._seconds == math.inf:
            return model.fit(table)
        told = model.callback
        model.set_params(callback=_until(lambda: self._spent() > self._seconds, told))
        return model.fit(table).set_params(callback=told)

    def _spent(self) -> float:
        return time.monotonic() - self._began


def _until(over: Callable[[], bool], told: Callable[[Any], Any] | None) -> Callable[[Any], bool]:
    """Return a callback that ends a fit when time is over, or when the one it stands before says so."""
    return lambda sweep: says_stop(None if told is None else told(sweep)) or over()
