"""Graded implications with posterior probabilities: the share of draws of a many-valued model in which each holds.

Draws share no events, but the supports {x_j >= a} and {x_i >= b} of one draw are sets of the same events. Which of the
very many pairs of them to look at is for the consensus of the draws to say: its rules are the candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.nearest import nearest
from kolmogorov._support.optional import to_frame
from kolmogorov._support.validation import Optional, Real, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Threads
from kolmogorov.fitted.point import Fitted
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.interpret.relations.graded import GradedRelations
from kolmogorov.interpret.relations.thresholds import GradedSupports
from kolmogorov.interpret.rules.counting import Answers, Threshold, reaching
from kolmogorov.interpret.rules.selection import Selection, known_row
from kolmogorov.interpret.rules.table import Rules
from kolmogorov.kernels.draws.averages import count_inside

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
#: A rule's weight when rules are dealt to threads, so that a share has some thousands.
_RULE = 1 << 5


class GradedPosteriorRelations:
    """Implications "at least a of item j ⇒ at least b of item i", and the posterior probability of each.

    Parameters
    ----------
    posterior : Posterior
        With levels.
    read : Fitted
        The one model that stands for the draws.
    min_ratings : int
        Leave out items with fewer training observations.

    Attributes
    ----------
    consensus : GradedRelations
        Of the consensus of the draws: the candidates.
    grades : Grades
        The thresholds.
    rows : int64[n]
        The items looked at.

    Examples
    --------
    >>> import kolmogorov as km
    >>> ratings = [[1, 1, 2], [2, 3, 5], [4, 5, 5], [5, 5, 5], [1, 2, 2], [3, 4, 5]] * 5
    >>> table = km.Observations.from_dense(ratings, maximum=5)
    >>> model = km.BayesianKolmogorovModel(3, n_chains=2, burn_in=30, n_samples=10, random_state=0).fit(table)
    >>> relations = model.relations()
    >>> relations.probability(0, 2, at=(0.8, 0.6)) > relations.probability(2, 0, at=(0.6, 0.8))
    True
    """

    def __init__(self, posterior: Posterior, read: Fitted, *, min_ratings: int = 1) -> None:
        self._posterior = posterior
        self.consensus = GradedRelations(read, min_ratings=min_ratings)
        self.items = posterior.items
        self.grades = self.consensus.grades
        self.rows = self.consensus.rows

    def probability(self, antecedent: Any, consequent: Any, *, at: tuple[float, float]) -> float:
        """Return the share of draws in which at least at[0] of one item (id) implies at least at[1] of the other.

        Thresholds are on the probability scale, as `likes` is elsewhere; 0.8 is 4 of 5 stars.
        """
        if not (isinstance(at, tuple | list) and len(at) == 2 and all(map(Threshold().accepts, at))):
            raise ParameterError(
                f"'at' must be two thresholds on the probability scale, such as (0.8, 0.6); got {at!r}."
            )
        a, b = (self._grade(float(mark)) for mark in at)
        left, right = (known_row(self.items, item) for item in (antecedent, consequent))
        return float(self.probabilities(np.array([[left, a, right, b]]))[0])

    def probabilities(self, implications: Rows) -> Floats:
        """Return the probabilities of implications: rows of (item, threshold, item, threshold), thresholds from 0."""
        posterior, n_grades = self._posterior, len(self.grades)
        levels = posterior.levels
        rows, place = np.unique(implications[:, [0, 2]], return_inverse=True)
        left, right = np.ascontiguousarray((place.reshape(-1, 2) * n_grades + implications[:, [1, 3]]).T)
        held, found = np.zeros(len(left), dtype=np.int64), np.empty(len(left), dtype=np.int64)
        with Threads(-1) as dealer:
            for psi in posterior.psi:
                supports = GradedSupports(levels[nearest(psi[rows], levels)], self.grades)
                shape = (1, len(rows) * n_grades, supports.words.shape[2])
                words, others = supports.words.reshape(shape), supports.others.reshape(shape)

                def work(first: int, last: int, words: Any = words, others: Any = others) -> None:
                    count_inside(words, others, left[first:last], right[first:last], found[first:last])

                dealer.deal(work, len(left), row_entries=_RULE)
                held += found
        return held / posterior.n_draws

    def implications(self, min_probability: float = 0.5) -> tuple[Rows, Floats]:
        """Return the consensus's implications that are probable enough, and their probabilities, best first.

        Implications are rows of (item, threshold, item, threshold), thresholds from 0.
        """
        check_parameters("implications", {"min_probability": min_probability}, {"min_probability": Real(0.0, 1.0)})
        candidates = self.consensus.implications
        share = self.probabilities(candidates)
        good = share >= min_probability
        found, share = candidates[good], share[good]
        order = np.lexsort((*found.T[::-1], -share))
        return found[order], share[order]

    def named(self, implications: Rows) -> list[tuple[str, str]]:
        """Return implications in words, thresholds in rating units."""
        return self.consensus.named(implications)

    def to_frame(self, min_probability: float = 0.5, backend: str | None = None) -> Any:
        """Return the probable implications as a data frame: both sides, thresholds in rating units, probability."""
        found, share = self.implications(min_probability)
        return to_frame(self.consensus.columns(found) | {"probability": share}, backend)

    def rules(
        self,
        observations: Observations | None = None,
        likes: float | None = None,
        *,
        min_probability: float = 0.5,
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
            Least share of draws in which a rule holds. A rule of a many-valued model has to hold in every event, at its
            very thresholds, so that few are nearly certain.
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
        answers = Answers.for_model(self._posterior, observations, marks=self.grades.marks)
        found, share = self.implications(min_probability)
        good = np.ones(len(found), dtype=bool) if row is None else (found[:, [0, 2]] == row).any(axis=1)
        if likes is not None:
            good &= reaching(self.grades.marks, likes)[found[:, [1, 3]]].all(axis=1)
        left, left_at, right, right_at = np.ascontiguousarray(found[good].T)
        at = ((left_at + 1).astype(np.int8), (right_at + 1).astype(np.int8))
        rules = Rules.counted(answers, "implication", left, right, at=at, probability=share[good])
        return rules[wanted.good(rules, len(rules))][:max_rules]

    def _grade(self, mark: float) -> int:
        """Return the number of the lowest threshold at or above a mark."""
        reached = np.flatnonzero(reaching(self.grades.marks, mark))
        if not reached.size:
            raise ParameterError(
                f"No threshold of the model is as high as {mark:g} on the probability scale; the highest is "
                f"{self.grades.marks[-1] if len(self.grades) else 0.0:g}."
            )
        return int(reached[0])
