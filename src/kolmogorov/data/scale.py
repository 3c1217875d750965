"""The map between rating units and probabilities, and which ratings and weights are accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import NONE, check_parameters, one_of, real
from kolmogorov.errors import DataError, ParameterError

#: Words where an entry is to be found, in error messages: "ratings.csv, line 12".
Place = Callable[[int], str]
#: Weights outside are refused. Sums of squares of larger ones overflow, and draws that count trials never end; smaller
#: ones vanish beside the others. By judgement.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9
#: The same in words, for error messages.
ACCEPTED_WEIGHTS = f"weights from {LEAST_WEIGHT:g} to {LARGEST_WEIGHT:g} are accepted"
#: The ends of a scale are not further from 0 than this, and not closer to each other than the other: between them
#: ratings, probabilities and their squares stay far from where floating-point numbers overflow or vanish. By judgement.
FURTHEST_END, SHORTEST_SPAN = 1e100, 1e-100
_RULES = {"minimum": real(-np.inf) | NONE, "maximum": real(-np.inf) | NONE}
_RULES |= {"scaling": one_of(("auto", "max", "minmax")), "duplicates": one_of(("error", "mean", "last"))}


def outside_weight_bounds(weights: Floats) -> NDArray[np.bool_]:
    """Tell which weights are smaller or larger than is accepted."""
    return ~((weights >= LEAST_WEIGHT) & (weights <= LARGEST_WEIGHT))


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
        if not (max(abs(self.minimum), abs(self.maximum)) <= FURTHEST_END and self.span >= SHORTEST_SPAN):
            raise ParameterError(
                f"maximum must lie above minimum, by {SHORTEST_SPAN:g} at least, and both between -{FURTHEST_END:g} "
                f"and {FURTHEST_END:g}: minimum {self.minimum:g} and maximum {self.maximum:g} do not make a scale."
            )

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
        return f"p = (r - {self.minimum:g}) / {self.span:g}".replace("- -", "+ ")


@dataclass(frozen=True)
class Terms:
    """What is said of ratings before any is seen: the ends of their scale as far as they are given, and of repeats."""

    minimum: float | None = None
    maximum: float | None = None
    scaling: str = "auto"
    duplicates: str = "error"

    def __post_init__(self) -> None:
        check_parameters("Ratings", vars(self), _RULES)
        if self.scaling == "max" and self.minimum not in (None, 0):
            raise ParameterError("minimum goes with scaling='minmax'; with scaling='max' it is 0.")
        if self._low is not None and self.maximum is not None:
            Scale(self._low, float(self.maximum))

    @property
    def _low(self) -> float | None:
        """The lower end where it is known before any rating."""
        if self.minimum is not None:
            return float(self.minimum)
        # Who gives the upper end alone means p = r / maximum.
        return 0.0 if self.scaling == "max" or (self.scaling == "auto" and self.maximum is not None) else None

    @property
    def is_open(self) -> bool:
        """Whether the ratings decide where the scale begins."""
        return self.scaling == "auto" and self.minimum is None and self.maximum is None

    def scale_of(self, ratings: Floats, weights: Floats | None, place: Place) -> Scale:
        """Return the scale of ratings, one or more; numbers that cannot be ratings or weights are refused.

        What was left open is filled in. `maximum` becomes the largest rating, or 1 where none exceeds 1, since such
        values already are probabilities. `minimum` is 0 for stars, which are whole or half numbers, and the smallest
        rating where some are negative, where some lie between, or where it is asked for.
        """
        bottom, top = self._low, self.maximum
        least, most = -np.inf if bottom is None else bottom, np.inf if top is None else top
        said = f"be at least the minimum {least:g}, got {{:g}}." if bottom else "not be negative, got {:g}."
        mass = np.ones(1) if weights is None else weights
        for wrong, found, complaint in (
            (~np.isfinite(ratings), ratings, "value must be finite, got {:g}."),
            (ratings < least, ratings, f"value must {said}{'' if bottom else ' For those give minimum=.'}"),
            (
                ratings > most,
                ratings,
                f"value must be at most the maximum {most:g}, got {{:g}}. Give the right maximum= or drop the entry.",
            ),
            (outside_weight_bounds(mass), mass, f"weight must be positive, got {{:g}}; {ACCEPTED_WEIGHTS}."),
        ):
            if wrong.any():
                raise DataError(f"{place(position := int(np.argmax(wrong)))}: {complaint.format(found[position])}")
        low, high = float(ratings.min()), float(ratings.max())
        if bottom is None:
            # Halving and doubling are exact, so that this tells half stars from all else; none overflows to a number.
            with np.errstate(over="ignore", invalid="ignore"):
                stars = low >= 0.0 and (high <= 1.0 or bool((np.rint(2.0 * ratings) == 2.0 * ratings).all()))
            bottom = 0.0 if self.is_open and stars else low
        if top is None:
            top = max(high, 1.0) if bottom == 0.0 and self.scaling != "minmax" else high
            # Far from 0 one more is no more.
            top = top if top > bottom else bottom + max(1.0, float(np.spacing(abs(bottom))))
        try:
            return Scale(bottom, float(top))
        except ParameterError as error:
            raise DataError(f"The ratings reach from {low:g} to {high:g}: {error}") from None
