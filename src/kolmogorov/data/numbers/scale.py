"""The map between rating units and probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import named
from kolmogorov.errors import DataError, ParameterError

#: The ends of a scale are not further from 0 than this, and not closer to each other than the other: between them
#: ratings, probabilities and their squares stay far from where floating-point numbers overflow or vanish. By judgement.
FURTHEST_END, SHORTEST_SPAN = 1e100, 1e-100


@dataclass(frozen=True)
class Scale:
    """p = (rating - minimum) / (maximum - minimum). The paper's p = r / r_max has minimum 0.

    Both ends lie between -1e100 and 1e100, and the maximum is at least 1e-100 above the minimum.

    Examples
    --------
    >>> Scale(0.0, 5.0).probability(4.0)
    0.8
    """

    minimum: float
    maximum: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.minimum) and np.isfinite(self.maximum) and self.maximum > self.minimum):
            raise ParameterError(
                named("maximum") + " must be a finite number above " + named("minimum") + ", got minimum "
                f"{self.minimum:g} and maximum {self.maximum:g}."
            )
        if fault := size_fault(self.minimum, self.maximum):
            ends = named("minimum") + f" {self.minimum:g} and " + named("maximum") + f" {self.maximum:g} "
            raise ParameterError(ends + fault)

    @property
    def span(self) -> float:
        """Rating units per unit of probability."""
        return self.maximum - self.minimum

    def probability(self, rating: Any) -> Any:
        """Map rating units to [0, 1]."""
        return (rating - self.minimum) / self.span

    def rating(self, probability: Any) -> Any:
        """Map [0, 1] back to rating units."""
        return self.minimum + probability * self.span

    def converted(self, values: Floats, other: Scale) -> Floats:
        """Return probabilities of this scale as those of another, into which the ratings must fit."""
        ratings = self.rating(values)
        moved: Floats = other.probability(ratings)
        outside = (moved < -1e-9) | (moved > 1 + 1e-9)
        if outside.any():
            raise DataError(
                f"The rating {ratings[outside][0]:g} does not fit into the scale {other.minimum:g} to "
                f"{other.maximum:g} that the model was learned on."
            )
        return np.clip(moved, 0.0, 1.0)

    def __str__(self) -> str:
        return self.signature.replace("- -", "+ ")

    @property
    def signature(self) -> str:
        """The formula as it enters the fingerprints of tables, which files hold."""
        if self.minimum == 0.0:
            return "p = r" if self.maximum == 1.0 else f"p = r / {self.maximum:g}"
        return f"p = (r - {self.minimum:g}) / {self.span:g}"


def size_fault(low: float, high: float) -> str:
    """Say what is wrong with a scale that is in order but for its size; nothing if nothing is."""
    if max(abs(low), abs(high)) > FURTHEST_END:
        return f"do not make a scale: its ends must lie between -{FURTHEST_END:g} and {FURTHEST_END:g}."
    if 0.0 < high - low < SHORTEST_SPAN:
        return f"do not make a scale: its ends must be at least {SHORTEST_SPAN:g} apart."
    return ""
