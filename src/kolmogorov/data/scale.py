"""The map between rating units and probabilities."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov._support.wording import named, option
from kolmogorov.errors import DataError, ParameterError

SCALINGS = ("max", "minmax")
#: The ends of a scale are not further from 0 than this, and not closer to each other than the other: between them
#: ratings, probabilities and their squares stay far from where floating-point numbers overflow or vanish.
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
                f"{named('maximum')} must be a finite number above {named('minimum')}, got minimum {self.minimum:g} "
                f"and maximum {self.maximum:g}."
            )
        if fault := _fault(self.minimum, self.maximum):
            raise ParameterError(f"{named('minimum')} {self.minimum:g} and {named('maximum')} {self.maximum:g} {fault}")

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
        if self.minimum == 0.0:
            return "p = r" if self.maximum == 1.0 else f"p = r / {self.maximum:g}"
        return f"p = (r - {self.minimum:g}) / {self.span:g}"


def fitting_scale(low: float, high: float, minimum: float | None, maximum: float | None, scaling: str) -> Scale:
    """Fill in what the caller left open, for ratings that reach from `low` to `high`.

    `maximum` becomes the largest rating, or 1 where none exceeds 1, since such values already are
    probabilities. `minimum` is 0 with scaling "max" and the smallest rating with "minmax".

    Examples
    --------
    >>> fitting_scale(1.0, 4.0, None, None, "minmax")
    Scale(minimum=1.0, maximum=4.0)
    """
    top = high if maximum is None else float(maximum)
    if scaling == "max":
        bottom = 0.0
        top = max(top, 1.0) if maximum is None else top
    else:
        bottom = low if minimum is None else float(minimum)
        if maximum is None and top == bottom:
            # Far from 0 one more is no more.
            top = bottom + max(1.0, float(np.spacing(abs(bottom))))
    if fault := _fault(bottom, top) if maximum is None or (minimum is None and scaling == "minmax") else "":
        raise DataError(f"The ratings, which reach from {low:g} to {high:g}, {fault}")
    return Scale(bottom, top)


def _fault(low: float, high: float) -> str:
    """Say what is wrong with a scale that is in order but for its size; nothing if nothing is."""
    if max(abs(low), abs(high)) > FURTHEST_END:
        return f"do not make a scale: its ends must lie between -{FURTHEST_END:g} and {FURTHEST_END:g}."
    if 0.0 < high - low < SHORTEST_SPAN:
        return f"do not make a scale: its ends must be at least {SHORTEST_SPAN:g} apart."
    return ""


def check_scaling(minimum: Any, maximum: Any, scaling: Any) -> None:
    """Refuse options that are wrong whatever the ratings are."""
    for name, value in (("minimum", minimum), ("maximum", maximum)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
            raise ParameterError(f"{named(name)} must be a number or None, got {value!r}.")
    if scaling not in SCALINGS:
        raise ParameterError(f"{named('scaling')} must be one of {', '.join(map(repr, SCALINGS))}, got {scaling!r}.")
    if scaling == "max" and minimum not in (None, 0, 0.0):
        minmax, plain = option("scaling", "minmax"), option("scaling", "max")
        raise ParameterError(f"{named('minimum')} goes with {minmax}; with {plain} it is 0.")
