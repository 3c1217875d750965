"""What a page asks of a model. The classes of models know pages, and pages know no classes of models."""

from __future__ import annotations

from typing import Any, Protocol

from kolmogorov.fitted.point import Fitted


class Subject(Protocol):
    """A fitted model of events: one, or draws that are read by one."""

    fitted_: Any
    _is_only_yes: bool
    _has_draws: bool

    @property
    def _one_model(self) -> Fitted:
        """The model that is read."""

    def evaluate(self, observations: Any, *, ranking: bool, k: int, unknown: Any) -> dict[str, float]:
        """Return scores of lists on held-out observations."""
