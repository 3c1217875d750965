"""How often rules are met in data, and how often they hold there."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import check_parameters
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.errors import DataError
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import Trained
from kolmogorov.interpret.rules.pairs import Pairs, sides_of
from kolmogorov.kernels.sets.contingency import count_tables, fisher_greater, log_factorials

Bits = NDArray[np.bool_]
#: What means yes where nothing else is said, on the probability scale: 3 of 5 stars. By judgement.
LIKES = 0.6
# Values come through divisions; a rating at the threshold must not fall below it by rounding.
_ROUNDING = 1e-9
#: A thread looks at about 2 ** 24 ratings at a time, some hundredths of a second, so that Ctrl-C is heard soon.
_SHARE_BITS = 7
#: Cells of a table that is filled to count in it, at most: some hundred megabytes. By judgement.
_MOST_CELLS = 20_000_000
#: Under which name a model keeps the counting of its training data.
_KEPT = "counting"


@dataclass(frozen=True)
class Threshold:
    """The least value that means yes."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0.0 < float(value) <= 1.0

    def __str__(self) -> str:
        return "a threshold such as 0.6 (3 of 5 stars), above 0 and at most 1, on the probability scale"


def check_likes(owner: str, likes: Any) -> None:
    """Raise where `likes` is no threshold on the probability scale."""
    check_parameters(owner, {"likes": likes}, {"likes": Threshold()})


def reaching(values: Any, threshold: float) -> Any:
    """Tell which values, on the probability scale, are at least a threshold."""
    return values >= threshold - _ROUNDING


def thresholds_reached(values: Floats, thresholds: Floats) -> Rows:
    """Return how many of some increasing thresholds each value reaches."""
    return np.searchsorted(thresholds - _ROUNDING, values, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Basis:
    """What rules are counted on.

    Attributes
    ----------
    items, scale
        The model's.
    thresholds : float64[T]
        Ratings of at least these, on the probability scale, mean yes; rules name theirs by number, from 0.
    said : bool
        Whether rules say their thresholds; where there is only yes and no they need not.
    source : str
        The data in words.
    """

    items: Vocabulary
    scale: Scale
    thresholds: Floats
    said: bool
    source: str

    @property
    def ratings(self) -> Floats | None:
        """What rules say of their thresholds: these in rating units, or nothing."""
        return self.scale.rating(self.thresholds) if self.said else None


class Counting:
    """Counts users by which thresholds of a model's items they reach.

    The items of the observations may be others than the model's, or in another order. `Basis` says what the other
    parameters are.

    Attributes
    ----------
    raters : int64[n_items]
        How many users were observed with each item of the model.
    rates : float64[T, n_items]
        The shares of them who reach each threshold; nan where there are none.
    """

    def __init__(
        self,
        observations: Observations,
        items: Vocabulary,
        scale: Scale,
        thresholds: Floats,
        said: bool = False,
        source: str | None = None,
    ) -> None:
        if not isinstance(observations, Observations):
            raise DataError(f"Rules are counted on Observations, got {type(observations).__name__}.")
        if len(observations) == 0:
            raise DataError("There is nothing to count rules on: the observations are empty.")
        self.basis = Basis(items, scale, thresholds, said, source or f"{len(observations):,} observations")
        view = observations.rescaled(scale).columns
        column = items.translate(observations.items)
        self._place = np.full(len(items), -1, dtype=np.int64)
        self._place[column[column >= 0]] = np.flatnonzero(column >= 0)
        self._indptr, self._indices = view.indptr, view.indices
        self._reached = thresholds_reached(view.values, thresholds).astype(np.int8)
        self._n_users = observations.n_users
        known = self._place >= 0
        self.raters: Rows = np.where(known, view.counts[self._place], 0)
        self.rates: Floats = np.empty((len(thresholds), len(items)))
        for k in range(len(thresholds)):
            yes = np.append(self._reached > k, False)
            said_yes = np.add.reduceat(yes, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                self.rates[k] = np.where(known, said_yes[self._place], 0) / self.raters
        self._log_factorial = log_factorials(self._n_users + 1)

    @classmethod
    def for_model(
        cls, trained: Trained, observations: Observations | None, thresholds: Floats, said: bool = False
    ) -> Counting:
        """Count in some observations, or in those that a model was trained on.

        The latter is prepared once and kept with the model.
        """
        if observations is not None:
            return cls(observations, trained.items, trained.scale, thresholds, said)
        kept: Counting | None = trained.kept.get(_KEPT)
        if kept is None or kept.basis.said != said or not np.array_equal(kept.basis.thresholds, thresholds):
            table, words = trained.training, "the training data"
            if (table.values == 1.0).all() and table.n_users * table.n_items <= _MOST_CELLS:
                # Where only yes is recorded every rule would hold.
                table, words = table.filled(), "the training data, where a blank is a no"
            kept = cls(table, trained.items, trained.scale, thresholds, said, words)
            trained.kept[_KEPT] = kept
        return kept

    def tables(self, pairs: Pairs) -> NDArray[np.int32]:
        """Count users observed with both items: (no no, no yes, yes no, yes yes) for every pair."""
        out = np.empty((len(pairs), 4), dtype=np.int32)
        sides = sides_of(pairs)

        def work(first: int, last: int) -> None:
            room = np.zeros(self._n_users, dtype=np.int8)
            count_tables(*sides, self._place, self._indptr, self._indices, self._reached, room, first, last, out)

        self._deal(work, sides[1])
        return out

    def counts(
        self, pairs: Pairs, left_yes: Bits, right_yes: Bits, tables: NDArray[np.int32] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Count the rules "if left is so, right is so", where each is yes or no to a statement: columns of `Rules`."""
        raw = self.tables(pairs) if tables is None else tables
        right, right_at = sides_of(pairs)[1::2]
        # The cells of a table are numbered in binary: "no" instead of "yes" flips a digit.
        flips = 2 * ~left_yes + ~right_yes
        cells = np.take_along_axis(raw, np.arange(4) ^ flips[:, None], axis=1)
        p_value = np.empty(len(pairs))

        def work(first: int, last: int) -> None:
            fisher_greater(cells[first:last], self._log_factorial, p_value[first:last])

        self._deal(work, right)
        rate = self.rates[right_at, right]
        return {
            "support": cells[:, 2].astype(np.int64) + cells[:, 3],
            "held": cells[:, 3].astype(np.int64),
            "base_rate": np.where(right_yes, rate, 1.0 - rate),
            "raters": self.raters[right],
            "p_value": p_value,
        }

    def _deal(self, work: Any, right: Rows) -> None:
        entries = int(self.raters[right].mean()) if len(right) else 0
        with Threads() as dealer:
            dealer.deal(work, len(right), row_entries=max(1, entries >> _SHARE_BITS))
