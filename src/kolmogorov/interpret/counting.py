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
from kolmogorov.data.observations import reaching
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError
from kolmogorov.interpret.judging import MOST_ANTECEDENTS, Conjunctions, Judged
from kolmogorov.interpret.readiness import Bits, Compared, Readiness

#: The kinds of relations between two supports.
KINDS = ("implication", "equivalence", "exclusion", "coverage")
#: What each kind says of its two items: (yes to the first, yes to the second).
SAYS = {
    "implication": (True, True),
    "equivalence": (True, True),
    "exclusion": (True, False),
    "coverage": (False, True),
    "contrapositive": (False, False),
}
NAMES, FLAGS = np.array(list(SAYS), dtype=object), np.array(list(SAYS.values()))
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
    """What rules are counted on: the model's items and scale, and from which value on, on the probability scale, a yes.

    Where there is more than yes and no, rules say (`said`) from which rating on. `source` is the data in words.
    `only_yes` is the training data, where only yes is recorded in them: in whatever rules are counted on a blank is
    then a no, unless the training data have a yes there.
    """

    items: Vocabulary
    scale: Scale
    likes: float
    said: bool = False
    source: str = ""
    only_yes: Observations | None = None

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

    def statements(self, rows: Rows, yes: Any) -> list[str]:
        """Say that items are liked, or not: "milk", "not milk"; of ratings "Alien >= 4", "Alien < 4"."""
        names, so = map(self.items.name, rows.tolist()), np.broadcast_to(yes, len(rows)).tolist()
        rating = f"{self.scale.rating(self.likes):.6g}"
        if self.said:
            return [f"{name} {'>=' if positive else '<'} {rating}" for name, positive in zip(names, so, strict=True)]
        return [name if positive else f"not {name}" for name, positive in zip(names, so, strict=True)]


class Counting:
    """Counts the users who like items of a model.

    The items of the observations may be others than the model's, or in another order. `item_of` are the model's items
    of theirs, -1 where there is none; `raters`, int64[n_items], says how many users were observed with each item of the
    model, and `rates`, float64[n_items], the shares of them who like it, nan where there are none.
    """

    def __init__(self, observations: Observations, terms: Terms) -> None:
        self.terms = terms
        rescaled = observations.rescaled(terms.scale)
        self._rows, view = rescaled.rows, rescaled.columns
        self._columns = view
        self.item_of = terms.items.translate(observations.items)
        self._place = np.full(len(terms.items), -1, dtype=np.int64)
        self._place[self.item_of[self.item_of >= 0]] = np.flatnonzero(self.item_of >= 0)
        self._judged: Judged | None = None
        known = self._place >= 0
        self.raters: Rows = np.where(known, view.counts[self._place], 0)
        yes = np.append(reaching(view.values, terms.likes), False)
        said_yes = np.add.reduceat(yes, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.rates: Floats = np.where(known, said_yes[self._place], 0) / self.raters

    @classmethod
    def for_model(cls, trained: Trained, observations: Observations | None, likes: float) -> Counting:
        """Count in some observations, or in those that a model was trained on: prepared once and kept with it."""
        training = trained.training
        only_yes = training if bool((training.values == 1.0).all()) else None
        terms = Terms(trained.items, trained.scale, likes, not training.is_binary, only_yes=only_yes)
        if observations is not None:
            return terms.counting(observations)
        every: dict[float, Counting] = trained.kept.setdefault(_KEPT, {})
        if likes not in every:
            for oldest in list(every)[: max(0, len(every) + 1 - _MOST_KEPT)]:
                del every[oldest]
            every[likes] = terms.counting(training, "the training data")
        return every[likes]

    @cached_property
    def readiness(self) -> Readiness:
        """How readily each user says yes, and each item is said yes to; made at first use."""
        rows, columns = self._rows, self._columns
        return Readiness(rows, columns, *(reaching(view.values, self.terms.likes) for view in (rows, columns)))

    def judged(self, considered: Bits) -> Judged:
        """Look at all pairs of some items; the last are kept."""
        if self._judged is None or not np.array_equal(self._judged.considered, considered):
            self._judged = Judged(self.readiness, self.item_of, considered)
        return self._judged

    def compared(self, left: Rows, right: Rows) -> Compared:
        """Count users observed with both items, and sum what their readiness to say yes would make of each pair."""
        return self.readiness.compared(np.ascontiguousarray(left), np.ascontiguousarray(right), self._place)

    def counts(self, left: Rows, right: Rows, code: NDArray[np.int8], compared: Compared) -> dict[str, NDArray[Any]]:
        """Count the rules "if left is so, right is so", of kinds by number, on pairs compared: columns of `Rules`."""
        left_yes, right_yes = FLAGS[code].T
        # The cells of a table are numbered in binary: "no" instead of "yes" flips a digit.
        flips = 2 * ~left_yes + ~right_yes
        cells = np.take_along_axis(compared.tables, np.arange(4) ^ flips[:, None], axis=1)
        support = cells[:, 2].astype(np.int64) + cells[:, 3]
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.where(left_yes, compared.sums[:, 4], compared.sums[:, 3]) / support
        rate = self.rates[right]
        return {
            "support": support,
            "held": cells[:, 3].astype(np.int64),
            "base_rate": np.where(right_yes, rate, 1.0 - rate),
            "expected": np.where(right_yes, expected, 1.0 - expected),
            "p_value": compared.departures.p_values(left_yes == right_yes),
        }

    @cached_property
    def conjunctions(self) -> Conjunctions:
        """Rules with several antecedents, in columns of the observations."""
        return Conjunctions(self.readiness)

    def columns_of(self, items: Rows) -> Rows:
        """Return the observations' columns of some items of the model; -1 where there is none."""
        return np.where(items >= 0, self._place[items], -1)

    def conjoin(self, counts: dict[str, NDArray[Any]], sides: Rows, ends: Rows) -> None:
        """Write what is counted of those rules that have several antecedents: int64[n, 3], -1 where there are fewer."""
        number, sides, ends = (sides >= 0).sum(axis=1), self.columns_of(sides), self.columns_of(ends)
        for m in range(2, MOST_ANTECEDENTS + 1):
            mine = np.flatnonzero(number == m)
            counts["support"][mine], counts["held"][mine] = 0, 0
            counts["expected"][mine], counts["p_value"][mine] = np.nan, 1.0
            mine = mine[(sides[mine, :m] >= 0).all(axis=1) & (ends[mine] >= 0)]
            found = self.conjunctions.counted(np.sort(sides[mine, :m], axis=1), ends[mine])
            for name in ("support", "held", "expected", "p_value"):
                counts[name][mine] = getattr(found, name)


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
    return observations.filled().subset(kept.ravel())
