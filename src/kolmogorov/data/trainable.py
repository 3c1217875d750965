"""Whether there is something to learn from observations: the check that every `fit` begins with."""

from __future__ import annotations

from typing import Protocol

from kolmogorov.data.scale import Scale
from kolmogorov.data.view import nothing_there
from kolmogorov.errors import DataError


class Measured(Protocol):
    """Observations, here or in a cluster."""

    @property
    def scale(self) -> Scale:
        """Map between probabilities and rating units."""

    def extent(self) -> tuple[float, float] | None:
        """Return the smallest and the largest value, or None where there are none."""


def check_trainable(table: Measured, *, only_yes: bool = False) -> None:
    """Refuse a table without entries, and one whose entries are all at the same end of the scale.

    Every model fits "always yes" to such a table without an error, and its scores on it are perfect. With `only_yes`
    what was not observed counts as a no, and so there is something to learn.

    Examples
    --------
    >>> from kolmogorov.data import Observations
    >>> visits = Observations.from_arrays(["ann", "bob"], ["rome", "oslo"], [1, 1])
    >>> check_trainable(visits)
    Traceback (most recent call last):
    kolmogorov.errors.DataError: Only yes is recorded: every observation has the value 1, the maximum of its scale, and
    so a model would predict yes for everything. Fill in zeros for what is known not to have happened. With
    unobserved='auto' everything else counts as a no of small weight. If the scale goes further, give its end with
    maximum=.
    """
    extent = table.extent()
    if extent is None:
        raise nothing_there("to learn from")
    low, high = extent
    if low == high == 1.0 and not only_yes:
        raise DataError(
            f"Only yes is recorded: every observation has the value {table.scale.maximum:g}, the maximum of its scale, "
            "and so a model would predict yes for everything. Fill in zeros for what is known not to have happened."
            " With unobserved='auto' everything else counts as a no of small weight. If the scale goes further, give "
            "its end with maximum=."
        )
    if low == high == 0.0:
        raise DataError(
            f"Only no is recorded: every observation has the value {table.scale.minimum:g}, the minimum of its scale, "
            "and so a model would predict no for everything. Add observations of what did happen."
            " If the scale goes further, give its end with minimum= and scaling='minmax'."
        )


def check_any(table: Measured, purpose: str) -> None:
    """Refuse a table without entries; `purpose` says what they are needed for, as "to evaluate on"."""
    if table.extent() is None:
        raise nothing_there(purpose)
