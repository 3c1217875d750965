"""Graded implications with posterior probabilities: the share of draws in which one statement implies another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, Optional, Real, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Threads
from kolmogorov.interpret.answers import Answers, Floats, Rows, Threshold, reaching
from kolmogorov.interpret.grades import GradedSupports, Grades
from kolmogorov.interpret.rules import Rules
from kolmogorov.interpret.selection import Selection
from kolmogorov.kernels.sets.graded import list_probable
from kolmogorov.sampling.posterior import Posterior

_MOST_ITEMS = 20_000
#: Places for rules that are held at once: 64 MiB.
_ROOM = 1 << 21


class GradedPosteriorRelations:
    """Implications "at least a of item j ⇒ at least b of item i" and the posterior probability of each.

    The probability is the share of draws in which the rule holds without being trivial: what it begins with is so in
    some events and not in all, and what it ends with not in all.

    Parameters
    ----------
    posterior : Posterior
        Of a many-valued model.
    min_ratings : int
        Leave out items with fewer training observations.

    Attributes
    ----------
    grades : Grades
        The thresholds.
    rows : int64[n]
        The items looked at.
    """

    def __init__(self, posterior: Posterior, *, min_ratings: int = 1) -> None:
        check_parameters("relations", {"min_ratings": min_ratings}, {"min_ratings": Integer(0)})
        self._posterior = posterior
        self.items = posterior.items
        self.grades = Grades.of(posterior)
        self.rows = np.flatnonzero(posterior.item_seen & (posterior.item_counts >= min_ratings))
        if len(self.rows) > _MOST_ITEMS:
            raise ParameterError(
                f"{len(self.rows):,} items make {len(self.rows) ** 2:,} pairs, more than can be gone through for every "
                "draw. Raise min_ratings."
            )
        parts = [GradedSupports(_values(posterior, k)[self.rows], self.grades) for k in range(posterior.n_draws)]
        self._sides = tuple(
            np.array([getattr(part, name) for part in parts]) for name in ("words", "others", "full", "empty")
        )

    def implications(self, min_probability: float = 0.9) -> tuple[Rows, Floats]:
        """Return (item, threshold, item, threshold) of all implications probable enough, and how probable, best first.

        Thresholds are numbered from 0. For each of the first item the highest of the second is taken, and of those that
        lead to the same the lowest.
        """
        requirements = {"min_probability": Real(0.0, 1.0)}
        check_parameters("implications", {"min_probability": min_probability}, requirements)
        n, draws = len(self.rows), self._posterior.n_draws
        least = max(1, math.ceil(min_probability * draws - 1e-9))
        found, chances = [np.empty((0, 4), dtype=np.int64)], [np.empty(0)]
        width = max(n * len(self.grades), 1)
        step = max(1, _ROOM // width)
        for first in range(0, n, step):
            last = min(first + step, n)
            rules, counts = np.empty((step * width, 4), dtype=np.int64), np.empty(step * width, dtype=np.int64)
            number = np.zeros(step, dtype=np.int64)
            self._list(least, first, last, rules, counts, number)
            kept = np.arange(step * width) % width < np.repeat(number, width)
            found.append(self._named_rows(rules[kept]))
            chances.append(counts[kept] / draws)
        implications, chance = np.concatenate(found), np.concatenate(chances)
        order = np.lexsort((*implications.T[::-1], -chance))
        return implications[order], chance[order]

    def rules(
        self,
        observations: Observations | None = None,
        likes: float | None = None,
        *,
        min_probability: float = 0.9,
        item: Any = None,
        min_support: int = 1,
        min_confidence: float = 0.0,
        min_lift: float = 0.0,
        max_p: float = 1.0,
        max_rules: int | None = 1000,
    ) -> Rules:
        """Count the probable implications on data; return the most probable of them.

        Parameters
        ----------
        observations : Observations, optional
            Best held-out ones; by default the data that the model was trained on.
        likes : float, optional
            Only rules both of whose thresholds are at least this, on the probability scale.
        min_probability : float
            Least share of draws in which a rule holds.
        item, min_support, min_confidence, min_lift, max_p, max_rules
            As of `Relations.rules`.

        Returns
        -------
        Rules
            With their `probability`, most probable first.
        """
        check_parameters("rules", {"likes": likes}, {"likes": Optional(Threshold())})
        wanted = Selection(
            item=item,
            min_support=min_support,
            min_confidence=min_confidence,
            min_lift=min_lift,
            max_p=max_p,
            max_rules=max_rules,
        )
        row = wanted.row_in(self.items)
        found, chance = self.implications(min_probability)
        least = 0 if likes is None else int((~reaching(self.grades.marks, likes)).sum())
        good = (found[:, [1, 3]] >= least).all(axis=1)
        if row is not None:
            good &= (found[:, [0, 2]] == row).any(axis=1)
        left, left_at, right, right_at = np.ascontiguousarray(found[good].T)
        answers = Answers.for_model(self._posterior, observations, marks=self.grades.marks)
        at = ((left_at + 1).astype(np.int8), (right_at + 1).astype(np.int8))
        rules = Rules.counted(answers, "implication", left, right, at=at, probability=chance[good])
        return rules[wanted.good(rules, len(rules))][:max_rules]

    def _list(self, least: int, first: int, last: int, rules: Rows, counts: Rows, number: Rows) -> None:
        def work(begin: int, end: int) -> None:
            list_probable(*self._sides, least, first + begin, first + end, first, rules, counts, number)

        with Threads() as dealer:
            dealer.deal(work, last - first, row_entries=max(1, self._sides[0][:, 0].size >> 3))

    def _named_rows(self, rules: Rows) -> Rows:
        rules[:, 0], rules[:, 2] = self.rows[rules[:, 0]], self.rows[rules[:, 2]]
        return rules


def _values(posterior: Posterior, draw: int) -> NDArray[Any]:
    """Return the values of all items in a draw, which may be kept as numbers of levels."""
    psi: NDArray[Any] = posterior.psi[draw]
    return posterior.levels[psi] if posterior.levels is not None and psi.dtype == np.uint8 else psi
