"""How often rules are met in data, and how often they hold there."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import Requirement, check_parameters
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.observations import least_like, reaching
from kolmogorov.data.view import sorted_view
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError
from kolmogorov.interpret.judging import Conjunctions
from kolmogorov.interpret.readiness import Compared, Readiness

#: What each kind of rule says of its two items: (yes to the first, yes to the second). What data alone say is an
#: association; all others are relations between two supports.
SAYS = {
    "implication": (True, True),
    "equivalence": (True, True),
    "exclusion": (True, False),
    "coverage": (False, True),
    "association": (True, True),
}
NAMES, FLAGS = np.array(list(SAYS), dtype=object), np.array(list(SAYS.values()))
CODES = {name: number for number, name in enumerate(SAYS)}
#: Under which name a model keeps the counting of its training data, and for how many kinds of like. By judgement.
_KEPT, _MOST_KEPT = "counting", 4
#: Cells of a table that is filled to count in it, at most: some hundred megabytes. By judgement.
_MOST_CELLS = 20_000_000
#: The least value that means yes.
THRESHOLD = Requirement(
    "a threshold such as 0.8 (4 of 5 stars), above 0 and at most 1, on the probability scale",
    lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool) and 0.0 < float(value) <= 1.0,
)


def check_likes(owner: str, likes: Any) -> None:
    """Raise where `likes` is no threshold on the probability scale."""
    check_parameters(owner, {"likes": likes}, {"likes": THRESHOLD})


@dataclass(frozen=True, eq=False)
class Terms:
    """What rules are counted on: items and scale, and from which value on, on the probability scale, a yes.

    `rated` is whether there is more than yes and no, and a yes is a like. `source` is the data in words. `only_yes` is
    the training data, where only yes is recorded in them: in whatever rules are counted on a blank is then a no, unless
    the training data have a yes there.
    """

    items: Vocabulary
    scale: Scale
    likes: float
    rated: bool = False
    source: str = ""
    only_yes: Observations | None = None

    @classmethod
    def of(cls, training: Observations, likes: float | None = None, items: Vocabulary | None = None) -> Terms:
        """Return the terms of rules that are learned from some data."""
        only_yes = training if bool((training.values == 1.0).all()) else None
        likes = least_like(training) if likes is None else likes
        return cls(items or training.items, training.scale, likes, not training.is_binary, only_yes=only_yes)

    def counting(self, observations: Observations, source: str = "") -> Counting:
        """Count on some observations; where only yes is recorded, their blanks are noes."""
        if not isinstance(observations, Observations):
            raise DataError(f"Rules are counted on Observations, got {type(observations).__name__}.")
        if len(observations) == 0:
            raise DataError("There is nothing to count rules on: the observations are empty.")
        source = source or f"{len(observations):,} observations"
        if self.only_yes is not None and (filled := with_noes(observations, self.only_yes)) is not None:
            return Counting(filled, replace(self, source=f"{source}, where a blank is a no"))
        return Counting(observations, replace(self, source=source))


class Counting:
    """Counts the users who like items of a model.

    The items of the observations may be others than the model's, or in another order. `item_of` are the model's items
    of theirs, -1 where there is none; `raters`, int64[n_items], says how many users were observed with each item of the
    model, and `rates`, float64[n_items], the shares of them who like it, nan where there are none.
    """

    def __init__(self, observations: Observations, terms: Terms) -> None:
        self.terms, self.n_users = terms, int((observations.rows.counts > 0).sum())
        rescaled = observations.rescaled(terms.scale)
        self._rows, self._columns = rescaled.rows, rescaled.columns
        view = self._columns
        self.item_of = terms.items.translate(observations.items)
        self._place = np.full(len(terms.items), -1, dtype=np.int64)
        self._place[self.item_of[self.item_of >= 0]] = np.flatnonzero(self.item_of >= 0)
        known = self._place >= 0
        yes = np.append(reaching(view.values, terms.likes), False)
        said_yes = np.add.reduceat(yes, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)
        self.raters: Rows = np.where(known, view.counts[self._place], 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.rates: Floats = np.where(known, said_yes[self._place], 0) / self.raters

    @classmethod
    def for_model(cls, trained: Trained, observations: Observations | None, likes: float) -> Counting:
        """Count in some observations, or in those that a model was trained on: prepared once and kept with it."""
        terms = Terms.of(trained.training, likes, trained.items)
        if observations is not None:
            return terms.counting(observations)
        every: dict[float, Counting] = trained.kept.setdefault(_KEPT, {})
        if likes not in every:
            for oldest in list(every)[: max(0, len(every) + 1 - _MOST_KEPT)]:
                del every[oldest]
            every[likes] = terms.counting(trained.training, "the training data")
        return every[likes]

    @cached_property
    def readiness(self) -> Readiness:
        """How readily each user says yes, and each item is said yes to; made at first use."""
        rows, columns = self._rows, self._columns
        return Readiness(rows, columns, *(reaching(view.values, self.terms.likes) for view in (rows, columns)))

    @cached_property
    def conjunctions(self) -> Conjunctions:
        """Rules with several antecedents, in columns of the observations."""
        return Conjunctions(self.readiness)

    def compared(self, left: Rows, right: Rows) -> Compared:
        """Count users observed with both items, and sum what their readiness to say yes would make of each pair."""
        return self.readiness.compared(np.ascontiguousarray(left), np.ascontiguousarray(right), self._place)

    def columns_of(self, items: Rows) -> Rows:
        """Return the observations' columns of some items of the model; -1 where there is none."""
        return np.where(items >= 0, self._place[items], -1)

    def counts(self, code: Rows, sides: Rows, right: Rows, compared: Compared | None = None) -> dict[str, NDArray[Any]]:
        """Count rules of kinds by number: columns of `Rules`.

        `sides` are antecedents, int64[n, m], -1 where there are fewer; `compared` is what `compared` says of the first
        and the consequents, where it is known.
        """
        left_yes, right_yes = FLAGS[code].T
        compared = compared or self.compared(sides[:, 0], right)
        # The cells of a table are numbered in binary: "no" instead of "yes" flips a digit.
        flips = 2 * ~left_yes + ~right_yes
        cells = np.take_along_axis(compared.tables, np.arange(4) ^ flips[:, None], axis=1)
        support, held = cells[:, 2].astype(np.int64) + cells[:, 3], cells[:, 3].astype(np.int64)
        p_value = compared.departures.p_values(left_yes == right_yes)
        number, sides, ends = (sides >= 0).sum(axis=1), self.columns_of(sides), self.columns_of(right)
        for m in range(2, sides.shape[1] + 1):
            mine = np.flatnonzero(number == m)
            support[mine], held[mine], p_value[mine] = 0, 0, 1.0
            mine = mine[(sides[mine, :m] >= 0).all(axis=1) & (ends[mine] >= 0)]
            found = self.conjunctions.counted(np.sort(sides[mine, :m], axis=1), ends[mine])
            support[mine], held[mine], p_value[mine] = found.support, found.held, found.p_value
        rate = self.rates[right]
        base_rate = np.where(right_yes, rate, 1.0 - rate)
        return {"support": support, "held": held, "base_rate": base_rate, "p_value": p_value}


def with_noes(observations: Observations, training: Observations) -> Observations | None:
    """Return a table with its blanks as noes; None where it has too many cells.

    Users without any yes in the table are left out: nobody knows that they were asked. So are blanks for which the
    training data have a yes.

    Examples
    --------
    >>> yes = Observations.from_arrays(["ann", "ann", "bob"], ["tea", "rum", "rum"], [1, 1, 1])
    >>> with_noes(yes.subset(yes.user_rows() == 1), yes).values.tolist()
    [1.0, 0.0]
    >>> with_noes(yes.subset(np.array([True, False, False])), yes).values.tolist()
    [1.0]
    """
    n_users, n_items = observations.n_users, observations.n_items
    if n_users * n_items > _MOST_CELLS:
        return None
    kept = np.zeros((n_users, n_items), dtype=bool)
    kept[observations.rows.counts > 0] = True
    if training is not observations:
        users, items = (
            np.append(there.translate(here), -1)
            for there, here in ((observations.users, training.users), (observations.items, training.items))
        )
        rows, columns = users[training.user_rows()], items[training.item_rows()]
        both = (rows >= 0) & (columns >= 0)
        kept[rows[both], columns[both]] = False
        kept[observations.user_rows(), observations.item_rows()] = True
    # What was not observed is a no.
    whole = np.zeros(kept.shape)
    whole[observations.user_rows(), observations.item_rows()] = observations.values
    own, partner = np.nonzero(kept)
    rows = sorted_view(kept.shape, own, partner, whole[kept], np.empty(0))
    return Observations(observations.users, observations.items, rows, observations.scale)
