"""Graded implications between the items of a many-valued model.

On one space of events {x_j >= a} ⊆ {x_i >= b} gives X_j >= a ⇒ X_i >= b, for every user and whatever theta is. Every
threshold makes a binary model, and the supports of an item's thresholds are nested, so that of many rules between two
items few say all: for each a the highest b, and of equal b the lowest a.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import to_frame
from kolmogorov._support.validation import Integer, Optional, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.fitted.point import Fitted
from kolmogorov.interpret.relations.order import Order
from kolmogorov.interpret.relations.supports import Supports
from kolmogorov.interpret.relations.thresholds import GradedSupports, Grades
from kolmogorov.interpret.rules.counting import Answers, Threshold, reaching
from kolmogorov.interpret.rules.selection import Selection
from kolmogorov.interpret.rules.table import Rules

Rows = NDArray[np.int64]
#: Rules that a call may hold at once unless it is told how many to keep.
_LIMIT = 20_000_000
_RULE_BYTES = 82


class GradedRelations:
    """Implications "at least a of item j ⇒ at least b of item i" of a many-valued model.

    Items never observed are left out, and so are statements that hold in every event or in none.

    Parameters
    ----------
    fitted : Fitted
        With levels.
    min_ratings : int
        Leave out items that the model was trained on fewer observations of.

    Attributes
    ----------
    grades : Grades
        The thresholds.
    rows : int64[n]
        The items looked at.

    Examples
    --------
    >>> import kolmogorov as km
    >>> ratings = [[1, 1, 2], [2, 3, 5], [4, 5, 5], [5, 5, 5], [1, 2, 2], [3, 4, 5]]
    >>> table = km.Observations.from_dense(ratings, maximum=5)
    >>> model = km.KolmogorovModel(2, levels="auto", user_reg=0.1, n_init=5, random_state=0).fit(table)
    >>> print(model.relations().rules(max_rules=1)[0])
    0 >= 2 ⇒ 2 >= 5 (held for 4 of 4; of all, 67%)
    """

    def __init__(self, fitted: Fitted, *, min_ratings: int = 1) -> None:
        check_parameters("relations", {"min_ratings": min_ratings}, {"min_ratings": Integer(0)})
        self._fitted = fitted
        self.items = fitted.items
        self.grades = Grades.of(fitted)
        self.rows = np.flatnonzero(fitted.item_seen & (fitted.item_counts >= min_ratings))

    @cached_property
    def supports(self) -> GradedSupports:
        """The supports of every threshold of every item."""
        return GradedSupports(self._fitted.psi[self.rows], self.grades)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Number of implications, counted without listing them."""
        ends = self.supports.ends
        return {"implication": int(ends[-1]) if ends.size else 0}

    def stream(self) -> Iterator[Rows]:
        """Yield implications in blocks of about a million: (item, threshold, item, threshold), thresholds from 0."""
        for found in self.supports.rules():
            found[:, 0] = self.rows[found[:, 0]]
            found[:, 2] = self.rows[found[:, 2]]
            yield found

    @cached_property
    def implications(self) -> Rows:
        """All implications: rows of (item, threshold, item, threshold)."""
        self._check(self.counts["implication"], "implications", "Go through them with stream()")
        return np.concatenate([np.empty((0, 4), dtype=np.int64), *self.stream()])

    def named(self, implications: Rows) -> list[tuple[str, str]]:
        """Return implications in words, thresholds in rating units."""
        return [(self._statement(j, a), self._statement(i, b)) for j, a, i, b in implications.tolist()]

    def columns(self, implications: Rows) -> dict[str, Any]:
        """Return implications as columns: antecedent, antecedent_at, consequent, consequent_at, in rating units."""
        at = self._fitted.scale.rating(self.grades.marks)
        names = [[self.items.name(row) for row in implications[:, side].tolist()] for side in (0, 2)]
        return {
            "antecedent": names[0],
            "antecedent_at": at[implications[:, 1]],
            "consequent": names[1],
            "consequent_at": at[implications[:, 3]],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return all implications as a data frame; see `columns`."""
        return to_frame(self.columns(self.implications), backend)

    def rules(
        self,
        observations: Observations | None = None,
        likes: float | None = None,
        *,
        contrapositives: bool = False,
        item: Any = None,
        min_support: int = 1,
        min_confidence: float = 0.0,
        min_lift: float = 0.0,
        max_p: float = 1.0,
        max_rules: int | None = 1000,
    ) -> Rules:
        """Count on data how often each rule was seen and how often it held; return the strongest.

        Choose rules and judge them on different data: ``relations.rules(train).on(test)``.

        Parameters
        ----------
        observations : Observations, optional
            What to count on, by default the data that the model was trained on, where any rule looks good.
        likes : float, optional
            Only rules both of whose thresholds are at least this, on the probability scale.
        contrapositives : bool
            Count "less than b of i ⇒ less than a of j" beside "at least a of j ⇒ at least b of i".
        item, min_support, min_confidence, min_lift, max_p, max_rules
            As of `Relations.rules`.

        Returns
        -------
        Rules
            Strongest first.
        """
        check_parameters("rules", {"likes": likes}, {"likes": Optional(Threshold())})
        wanted = Selection(
            contrapositives=contrapositives,
            item=item,
            min_support=min_support,
            min_confidence=min_confidence,
            min_lift=min_lift,
            max_p=max_p,
            max_rules=max_rules,
        )
        row = wanted.row_in(self.items)
        if max_rules is None and row is None:
            asked = self.counts["implication"] * (2 if contrapositives else 1)
            self._check(asked, "rules", "Give max_rules, or a larger min_ratings in model.relations()")
        answers = Answers.for_model(self._fitted, observations, marks=self.grades.marks)
        least = 0 if likes is None else int((~reaching(self.grades.marks, likes)).sum())
        return wanted.strongest(self._counted(answers, wanted, row, least), answers)

    @cached_property
    def order(self) -> Order:
        """Statements "item >= threshold" ordered by implication; of an item's equal ones the strongest."""
        bits, (n, n_grades) = self.supports.bits, self.supports.words.shape[:2]
        proper: NDArray[np.bool_] = np.array(bits.any(axis=2) & ~bits.all(axis=2))
        proper[:, :-1] &= (bits[:, :-1] != bits[:, 1:]).any(axis=2)
        flat = bits.reshape(n * n_grades, -1)
        return Order(Supports(flat, np.flatnonzero(proper.ravel())), _Statements(self), flat)

    def statement_name(self, number: int) -> str:
        """Return the words for a statement of the order, numbered item by item."""
        place, grade = divmod(number, len(self.grades))
        return self._statement(int(self.rows[place]), grade)

    def _statement(self, row: int, grade: int) -> str:
        return f"{self.items.name(row)} >= {self._fitted.scale.rating(self.grades.marks[grade]):.6g}"

    def _counted(self, answers: Answers, wanted: Selection, item: int | None, least: int) -> Iterator[Rules]:
        for found in self.stream():
            if item is not None:
                found = found[(found[:, [0, 2]] == item).any(axis=1)]
            found = found[(found[:, [1, 3]] >= least).all(axis=1)]
            left, left_at, right, right_at = np.ascontiguousarray(found.T)
            # Statement 0 is that the first threshold is reached.
            at = ((left_at + 1).astype(np.int8), (right_at + 1).astype(np.int8))
            tables = answers.tables(left, right, at)
            yield Rules.counted(answers, "implication", left, right, at=at, tables=tables)
            if wanted.contrapositives:
                turned = tables[:, [0, 2, 1, 3]]
                yield Rules.counted(answers, "contrapositive", right, left, at=at[::-1], tables=turned)

    def _check(self, asked: int, what: str, remedy: str) -> None:
        if asked > _LIMIT:
            raise ParameterError(f"This asks for {asked:,} {what}, about {asked * _RULE_BYTES / 1e9:.1f} GB. {remedy}.")


class _Statements:
    """What the order takes for a vocabulary: the words of every statement."""

    def __init__(self, relations: GradedRelations) -> None:
        self._relations = relations

    def name(self, row: int) -> str:
        """Return the words of a statement."""
        return self._relations.statement_name(row)
