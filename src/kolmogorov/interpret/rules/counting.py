"""How often rules are met in data, and how often they hold there."""

from __future__ import annotations

import numbers
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats, Rows
from kolmogorov._support.validation import Requirement, check_parameters
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import Trained
from kolmogorov.errors import DataError
from kolmogorov.interpret.rules.conjunctions import MOST_ANTECEDENTS, Conjunctions
from kolmogorov.interpret.rules.judging import Compared, Judged, Readiness

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
#: Items by their row numbers, and thresholds by number from 0.
PAIR = np.dtype(
    [("antecedent", np.int64), ("antecedent_at", np.int8), ("consequent", np.int64), ("consequent_at", np.int8)]
)
#: The same, of draws: with the share of them in which the relation holds.
PROBABLE_PAIR = np.dtype([*PAIR.descr, ("probability", np.float64)])
#: Named columns, `PAIR` or `PROBABLE_PAIR`.
Pairs = NDArray[np.void]
Bits = NDArray[np.bool_]
# A normal quantile: one-sided bounds of 95%.
_ONE_SIDED = 1.6448536269514722
# Values come through divisions; a rating at the threshold must not fall below it by rounding.
_ROUNDING = 1e-9
#: Under which name a model keeps the counting of its training data, and for how many lists of thresholds. By judgement.
_KEPT, _MOST_KEPT = "counting", 4


# --- pairs of statements about items, of which relations and rules are made -------------------------------------------
#: Cells of a table that is filled to count in it, at most: some hundred megabytes. By judgement.
_MOST_CELLS = 20_000_000


def pairs_of(antecedent: Rows, consequent: Rows, antecedent_at: Any = 0, consequent_at: Any = 0) -> Pairs:
    """Return pairs of aligned columns."""
    pairs = np.empty(len(antecedent), dtype=PAIR)
    pairs["antecedent"], pairs["consequent"] = antecedent, consequent
    pairs["antecedent_at"], pairs["consequent_at"] = antecedent_at, consequent_at
    return pairs


def with_probability(pairs: Pairs, probability: Floats) -> Pairs:
    """Return the pairs with one more column."""
    found = np.empty(len(pairs), dtype=PROBABLE_PAIR)
    for name in PAIR.names or ():
        found[name] = pairs[name]
    found["probability"] = probability
    return found


def turned(pairs: Pairs) -> Pairs:
    """Return the pairs with their sides exchanged."""
    found = pairs.copy()
    for one, other in (("antecedent", "consequent"), ("antecedent_at", "consequent_at")):
        found[one], found[other] = pairs[other], pairs[one]
    return found


def sides_of(pairs: Pairs) -> tuple[Rows, Rows, NDArray[np.int8], NDArray[np.int8]]:
    """Return the items and the thresholds of both sides as columns of their own, as kernels take them."""
    left, right, left_at, right_at = (
        np.ascontiguousarray(pairs[name]) for name in ("antecedent", "consequent", "antecedent_at", "consequent_at")
    )
    return left, right, left_at, right_at


def statements(items: Vocabulary, ratings: Floats | None, rows: Rows, at: NDArray[np.int8], yes: Any) -> list[str]:
    """Say that items reach thresholds, or not: "Alien >= 4", "Alien < 4".

    Parameters
    ----------
    items : Vocabulary
    ratings : float64[T] or None
        What the thresholds are in rating units. With None it is said that items happen, or not: "milk", "not milk".
    rows : int64[n]
        The items.
    at : int8[n]
        Their thresholds.
    yes : bool[n] or bool
    """
    names, so = [items.name(row) for row in rows.tolist()], np.broadcast_to(yes, len(rows)).tolist()
    if ratings is None:
        return [name if positive else f"not {name}" for name, positive in zip(names, so, strict=True)]
    words = [f"{rating:.6g}" for rating in ratings.tolist()]
    return [
        f"{name} {'>=' if positive else '<'} {words[number]}"
        for name, positive, number in zip(names, so, at.tolist(), strict=True)
    ]


# --- counts -----------------------------------------------------------------------------------------------------------


#: The least value that means yes.
THRESHOLD = Requirement(
    "a threshold such as 0.8 (4 of 5 stars), above 0 and at most 1, on the probability scale",
    lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool) and 0.0 < float(value) <= 1.0,
)


def check_likes(owner: str, likes: Any) -> None:
    """Raise where `likes` is no threshold on the probability scale."""
    check_parameters(owner, {"likes": likes}, {"likes": THRESHOLD})


def thresholds_reached(values: Floats, thresholds: Floats) -> Rows:
    """Return how many of some increasing thresholds each value reaches."""
    return np.searchsorted(thresholds - _ROUNDING, values, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Terms:
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
    only_yes : Observations or None
        The training data, where only yes is recorded in them. In whatever rules are counted on a blank is then a no,
        unless the training data have a yes there.
    """

    items: Vocabulary
    scale: Scale
    thresholds: Floats
    said: bool
    source: str
    only_yes: Observations | None = None

    @property
    def ratings(self) -> Floats | None:
        """What rules say of their thresholds: these in rating units, or nothing."""
        return self.scale.rating(self.thresholds) if self.said else None

    def counting(self, observations: Observations) -> Counting:
        """Count on some observations; where only yes is recorded, their blanks are noes."""
        counting = Counting(observations, self.items, self.scale, self.thresholds, self.said)
        if self.only_yes is None or (table := with_noes(observations, self.only_yes)) is None:
            return counting
        words = f"{len(observations):,} observations, where a blank is a no"
        return Counting(table, self.items, self.scale, self.thresholds, self.said, words, self.only_yes)


class Counting:
    """Counts users by which thresholds of a model's items they reach.

    The items of the observations may be others than the model's, or in another order. `Terms` says what the other
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
        only_yes: Observations | None = None,
    ) -> None:
        if not isinstance(observations, Observations):
            raise DataError(f"Rules are counted on Observations, got {type(observations).__name__}.")
        if len(observations) == 0:
            raise DataError("There is nothing to count rules on: the observations are empty.")
        source = source or f"{len(observations):,} observations"
        self.terms = Terms(items, scale, thresholds, said, source, only_yes)
        rescaled = observations.rescaled(scale)
        self._rows, self._columns = rescaled.rows, rescaled.columns
        #: The model's item of every item of the observations, and the other way round; -1 where there is none.
        self.item_of = items.translate(observations.items)
        self._place = np.full(len(items), -1, dtype=np.int64)
        self._place[self.item_of[self.item_of >= 0]] = np.flatnonzero(self.item_of >= 0)
        #: The last that was judged: a list, so that copies share it.
        self._judged: list[Judged] = []
        view = self._columns
        reached = self._reached(view)
        known = self._place >= 0
        self.raters: Rows = np.where(known, view.counts[self._place], 0)
        self.rates: Floats = np.empty((len(thresholds), len(items)))
        for k in range(len(thresholds)):
            yes = np.append(reached > k, False)
            said_yes = np.add.reduceat(yes, view.indptr[:-1], dtype=np.int64) * (view.counts > 0)
            with np.errstate(invalid="ignore", divide="ignore"):
                self.rates[k] = np.where(known, said_yes[self._place], 0) / self.raters

    def _reached(self, view: View) -> NDArray[np.int8]:
        return thresholds_reached(view.values, self.terms.thresholds).astype(np.int8)

    @cached_property
    def readiness(self) -> Readiness:
        """How readily each user says yes, and each item is said yes to; made at first use."""
        rows, columns = self._rows, self._columns
        return Readiness(rows, columns, self._reached(rows), self._reached(columns), len(self.terms.thresholds))

    @classmethod
    def for_model(
        cls, trained: Trained, observations: Observations | None, thresholds: Floats, said: bool = False
    ) -> Counting:
        """Count in some observations, or in those that a model was trained on.

        The latter is prepared once and kept with the model.
        """
        training = trained.training
        if observations is not None:
            only_yes = training if has_only_yes(training) else None
            return Terms(trained.items, trained.scale, thresholds, said, "", only_yes).counting(observations)
        every: dict[bytes, Counting] = trained.kept.setdefault(_KEPT, {})
        key = thresholds.tobytes()
        if key not in every:
            table, words, only_yes = training, "the training data", None
            if has_only_yes(training):
                # Where only yes is recorded every rule would hold.
                table, only_yes = with_noes(training, training) or training, training
                words += ", where a blank is a no" if table is not training else ""
            for oldest in list(every)[: max(0, len(every) + 1 - _MOST_KEPT)]:
                del every[oldest]
            every[key] = cls(table, trained.items, trained.scale, thresholds, said, words, only_yes)
        return every[key].saying(said)

    def saying(self, said: bool) -> Counting:
        """Return the same, whose rules say their thresholds or not; what was made of it is shared."""
        if said == self.terms.said:
            return self
        _ = self.readiness  # made before it is copied, so that it is made once
        other = copy(self)
        other.terms = replace(self.terms, said=said)
        return other

    def judged(self, considered: Bits) -> Judged:
        """Look at all pairs of some items, at the first threshold; the last are kept."""
        if not self._judged or not np.array_equal(self._judged[0].considered, considered):
            self._judged[:] = [Judged(self.readiness, self.item_of, considered)]
        return self._judged[0]

    def compared(self, pairs: Pairs) -> Compared:
        """Count users observed with both items, and sum what their readiness to say yes would make of each pair."""
        return self.readiness.compared(sides_of(pairs), self._place)

    def counts(
        self, pairs: Pairs, left_yes: Bits, right_yes: Bits, compared: Compared | None = None
    ) -> dict[str, NDArray[Any]]:
        """Count the rules "if left is so, right is so", where each is yes or no to a statement: columns of `Rules`."""
        raw = self.compared(pairs) if compared is None else compared
        right, right_at = sides_of(pairs)[1::2]
        # The cells of a table are numbered in binary: "no" instead of "yes" flips a digit.
        flips = 2 * ~left_yes + ~right_yes
        cells = np.take_along_axis(raw.tables, np.arange(4) ^ flips[:, None], axis=1)
        support = cells[:, 2].astype(np.int64) + cells[:, 3]
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.where(left_yes, raw.sums[:, 4], raw.sums[:, 3]) / support
        rate = self.rates[right_at, right]
        return {
            "support": support,
            "held": cells[:, 3].astype(np.int64),
            "base_rate": np.where(right_yes, rate, 1.0 - rate),
            "expected": np.where(right_yes, expected, 1.0 - expected),
            "p_value": raw.departures.p_values(left_yes == right_yes),
        }

    @cached_property
    def conjunctions(self) -> Conjunctions:
        """Rules with several antecedents, in columns of the observations."""
        return Conjunctions(self.readiness)

    def columns_of(self, items: Rows) -> Rows:
        """Return the observations' columns of some items of the model; -1 where there is none."""
        return np.where(items >= 0, self._place[items], -1)

    def conjoined(self, counts: dict[str, NDArray[Any]], pairs: Pairs, further: Rows) -> dict[str, NDArray[Any]]:
        """Return counts of rules, some of which have further antecedents: int64[n, 2], -1 where there is none."""
        sides = self.columns_of(np.column_stack([pairs["antecedent"], further]))
        ends, number = self.columns_of(pairs["consequent"]), 1 + (further >= 0).sum(axis=1)
        for m in range(2, MOST_ANTECEDENTS + 1):
            mine = np.flatnonzero(number == m)
            counts["support"][mine], counts["held"][mine] = 0, 0
            counts["expected"][mine], counts["p_value"][mine] = np.nan, 1.0
            mine = mine[(sides[mine, :m] >= 0).all(axis=1) & (ends[mine] >= 0)]
            found = self.conjunctions.counted(np.sort(sides[mine, :m], axis=1), ends[mine])
            for name in ("support", "held", "expected", "p_value"):
                counts[name][mine] = getattr(found, name)
        return counts


def lower_bound(rate: Floats, count: Rows) -> Floats:
    """Return Wilson's one-sided 95% lower bound of a rate."""
    z = _ONE_SIDED
    spread = z * np.sqrt(rate * (1 - rate) / count + z * z / (4.0 * count * count))
    bound: Floats = (rate + z * z / (2.0 * count) - spread) / (1 + z * z / count)
    return bound


def has_only_yes(table: Observations) -> bool:
    """Tell whether a table records nothing but yes."""
    return bool((table.values == 1.0).all())


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
