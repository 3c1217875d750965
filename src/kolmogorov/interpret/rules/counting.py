"""What users say to a model's items, yes or no, ready for counting rules."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import check_parameters
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.errors import DataError
from kolmogorov.execution import Threads
from kolmogorov.fitted.base import Trained
from kolmogorov.kernels.sets.contingency import count_tables, fisher_greater, log_factorials

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
#: The thresholds of rules, by number from 1: of what they begin with, and of what they end with.
Grading = tuple[NDArray[np.int8], NDArray[np.int8]]
# Values come through divisions; a rating at the threshold must not fall below it by rounding.
_ROUNDING = 1e-9
#: A thread looks at about 2 ** 24 answers at a time, some hundredths of a second, so that Ctrl-C is heard soon.
_SHARE_BITS = 7


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


def reaching(values: Any, mark: float) -> Any:
    """Tell which values, on the probability scale, are at least `mark`: those that mean yes, where that is `likes`."""
    return values >= mark - _ROUNDING


@dataclass(frozen=True, eq=False)
class Basis:
    """What rules are counted on: the items and the scale of a model, what means yes, and the data in words.

    Where rules have thresholds of their own, `marks` are what these may be, and nothing else means yes.
    """

    items: Vocabulary
    scale: Scale
    likes: float
    source: str
    marks: Floats | None = None


class Counts(NamedTuple):
    """How rules fare on some answers, one entry per rule; `Rules` says what each is."""

    support: Rows
    held: Rows
    base_rate: Floats
    raters: Rows
    p_value: Floats


class Answers:
    """Yes and no of users to a model's items, or how high they rate them.

    Parameters
    ----------
    observations : Observations
        Their items may be others than the model's, or in another order.
    items : Vocabulary
        The model's.
    scale : Scale
        The model's.
    likes : float
        Values of at least this, on the probability scale, mean yes.
    source : str, optional
        The observations in words.
    marks : float64[T], optional
        Several thresholds in place of `likes`, for rules that name theirs by number, from 1.

    Attributes
    ----------
    raters : int64[n_items]
        How many users were observed with each item of the model.
    rate : float64[n_items]
        Share of yes among them, or of those who reach the first threshold; nan where there are none.
    """

    def __init__(
        self,
        observations: Observations,
        items: Vocabulary,
        scale: Scale,
        likes: float = 0.6,
        source: str | None = None,
        marks: Floats | None = None,
    ) -> None:
        if not isinstance(observations, Observations):
            raise DataError(f"Rules are counted on Observations, got {type(observations).__name__}.")
        if len(observations) == 0:
            raise DataError("There is nothing to count rules on: the observations are empty.")
        check_likes("rules", likes)
        self.basis = Basis(items, scale, likes, source or f"{len(observations):,} observations", marks)
        view = observations.rescaled(scale).columns
        column = items.translate(observations.items)
        self._place = np.full(len(items), -1, dtype=np.int64)
        self._place[column[column >= 0]] = np.flatnonzero(column >= 0)
        self._indptr, self._indices = view.indptr, view.indices
        thresholds = np.array([likes]) if marks is None else marks
        self._grade = np.searchsorted(thresholds - _ROUNDING, view.values, side="right").astype(np.int8)
        self._n_users = observations.n_users
        known = self._place >= 0
        self.raters: Rows = np.where(known, view.counts[self._place], 0)
        self._rates: Floats = np.empty((len(thresholds), len(items)))
        for k in range(len(thresholds)):
            yes = np.append(self._grade > k, False)
            said_yes = np.add.reduceat(yes, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                self._rates[k] = np.where(known, said_yes[self._place], 0) / self.raters
        self._log_factorial = log_factorials(self._n_users + 1)

    @property
    def rate(self) -> Floats:
        """Share of yes to each item."""
        return self._rates[0]

    @classmethod
    def for_model(
        cls, trained: Trained, observations: Observations | None, likes: float = 0.6, marks: Floats | None = None
    ) -> Answers:
        """Return the answers in some observations, or in those that a model was trained on.

        The latter are made once and kept as long as the model is in use.
        """
        if observations is not None:
            return cls(observations, trained.items, trained.scale, likes, marks=marks)
        kept = _TRAINING.get(trained.training)
        if kept is None or kept.basis.likes != likes or not _same(kept.basis.marks, marks):
            table, words = trained.training, "the training data"
            if (table.values == 1.0).all() and table.n_users * table.n_items <= _MOST_CELLS:
                # Where only yes is recorded every rule would hold.
                table, words = table.filled(), "the training data, where a blank is a no"
            kept = cls(table, trained.items, trained.scale, likes, words, marks)
            _TRAINING[trained.training] = kept
        return kept

    def tables(self, left: Rows, right: Rows, at: Grading | None = None) -> NDArray[np.int32]:
        """Count users observed with both items: (no no, no yes, yes no, yes yes) for every pair."""
        out = np.empty((len(left), 4), dtype=np.int32)
        pairs = (left, right, *(self._first(len(left)) if at is None else at))

        def work(first: int, last: int) -> None:
            mark = np.zeros(self._n_users, dtype=np.int8)
            count_tables(*pairs, self._place, self._indptr, self._indices, self._grade, mark, first, last, out)

        self._deal(work, right)
        return out

    def counts(
        self,
        left: Rows,
        right: Rows,
        left_yes: Bits,
        right_yes: Bits,
        tables: NDArray[np.int32] | None = None,
        at: Grading | None = None,
    ) -> Counts:
        """Count the rules "if left is so, right is so", where each is yes or no to an item, or to a threshold of it."""
        raw = self.tables(left, right, at) if tables is None else tables
        # The cells of a table are numbered in binary: "no" instead of "yes" flips a digit.
        flips = 2 * ~left_yes + ~right_yes
        turned = np.take_along_axis(raw, np.arange(4) ^ flips[:, None], axis=1)
        p_value = np.empty(len(left))

        def work(first: int, last: int) -> None:
            fisher_greater(turned[first:last], self._log_factorial, p_value[first:last])

        self._deal(work, right)
        rate = self.rate[right] if at is None else self._rates[at[1].astype(np.int64) - 1, right]
        return Counts(
            support=turned[:, 2].astype(np.int64) + turned[:, 3],
            held=turned[:, 3].astype(np.int64),
            base_rate=np.where(right_yes, rate, 1.0 - rate),
            raters=self.raters[right],
            p_value=p_value,
        )

    def _first(self, n: int) -> Grading:
        ones = np.ones(n, dtype=np.int8)
        return ones, ones

    def _deal(self, work: Any, right: Rows) -> None:
        entries = int(self.raters[right].mean()) if len(right) else 0
        with Threads() as dealer:
            dealer.deal(work, len(right), row_entries=max(1, entries >> _SHARE_BITS))


def _same(a: Floats | None, b: Floats | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


#: Cells of a table that is filled to count in it, at most.
_MOST_CELLS = 20_000_000
#: The answers of training data that is still in use.
_TRAINING: WeakKeyDictionary[Observations, Answers] = WeakKeyDictionary()
