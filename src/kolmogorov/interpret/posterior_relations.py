"""Implications with posterior probabilities: the share of draws in which one support lies inside the other.

A draw's events have no names that another draw shares; whether supp(psi_j) ⊆ supp(psi_i) needs none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, Real, check_parameters
from kolmogorov.data import Observations
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Threads
from kolmogorov.interpret.answers import Answers
from kolmogorov.interpret.rules import Rules
from kolmogorov.interpret.selection import Selection, known_row
from kolmogorov.interpret.supports import packed
from kolmogorov.kernels.draws.averages import count_inside
from kolmogorov.sampling.posterior import Posterior

Rows = NDArray[np.int64]
_MOST_ITEMS = 20_000
_MOST_RULES = 20_000_000


class PosteriorRelations:
    """Implications between items and the posterior probability of each.

    Parameters
    ----------
    posterior : Posterior
    min_ratings : int
        Leave out items with fewer training observations.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.BayesianKolmogorovModel(5, levels=2, n_chains=2, burn_in=30, n_samples=10, random_state=0)
    >>> relations = model.fit(km.datasets.load("zoo")).relations()
    >>> bool(relations.probability("milk", "backbone") > relations.probability("backbone", "milk"))
    True
    """

    def __init__(self, posterior: Posterior, *, min_ratings: int = 1) -> None:
        check_parameters("relations", {"min_ratings": min_ratings}, {"min_ratings": Integer(0)})
        self._posterior = posterior
        self.items = posterior.items
        counts = posterior.item_counts
        #: The items looked at.
        self.rows = np.flatnonzero(posterior.item_seen & (counts >= min_ratings))
        self._words = np.array([packed(psi) for psi in posterior.psi])
        self._others = ~self._words & packed(np.ones((1, posterior.psi.shape[2]), dtype=bool))

    def __repr__(self) -> str:
        return f"<posterior relations among {len(self.rows):,} items in {self._posterior.n_draws:,} draws>"

    def probability(self, antecedent: Any, consequent: Any) -> float:
        """Return the share of draws in which yes to one item (id) implies yes to the other."""
        left, right = (np.array([known_row(self.items, item)]) for item in (antecedent, consequent))
        return float(self.probabilities(left, right)[0])

    def probabilities(self, left: Rows, right: Rows) -> NDArray[np.float64]:
        """Return the probabilities for aligned row numbers."""
        out = np.empty(len(left), dtype=np.int64)

        def work(first: int, last: int) -> None:
            count_inside(self._words, self._others, left[first:last], right[first:last], out[first:last])

        with Threads() as dealer:
            dealer.deal(work, len(left), row_entries=max(1, self._words[:, 0].size >> 7))
        return out / self._posterior.n_draws

    def implications(self, min_probability: float = 0.9) -> tuple[Rows, Rows, NDArray[np.float64]]:
        """Return rows j, rows i and probabilities of all implications j ⇒ i that are probable enough, best first."""
        requirements = {"min_probability": Real(0.0, 1.0)}
        check_parameters("implications", {"min_probability": min_probability}, requirements)
        n = len(self.rows)
        if n > _MOST_ITEMS:
            raise ParameterError(
                f"{n:,} items make {n * (n - 1):,} pairs, more than can be gone through for every draw. Raise "
                "min_ratings."
            )
        left, right = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        found, room = [np.empty(0)], _MOST_RULES
        block = max(1, (1 << 20) // max(n, 1))
        for first in range(0, n, block):
            part = self.rows[first : first + block]
            j, i = np.repeat(part, n), np.tile(self.rows, len(part))
            j, i = j[j != i], i[j != i]
            share = self.probabilities(j, i)
            good = share >= min_probability
            left.append(j[good])
            right.append(i[good])
            found.append(share[good])
            room -= len(found[-1])
            if room < 0:
                raise ParameterError(
                    f"More than {_MOST_RULES:,} implications have a probability of {min_probability:g} or more. Raise "
                    "min_probability or min_ratings."
                )
        j, i, share = np.concatenate(left), np.concatenate(right), np.concatenate(found)
        order = np.lexsort((i, j, -share))
        return j[order], i[order], share[order]

    def rules(
        self,
        observations: Observations | None = None,
        likes: float = 0.6,
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
        likes : float
            Values of at least this, on the probability scale, mean yes.
        min_probability : float
            Least share of draws in which a rule holds.
        item, min_support, min_confidence, min_lift, max_p, max_rules
            As of `Relations.rules`.

        Returns
        -------
        Rules
            With their `probability`, most probable first.
        """
        wanted = Selection(
            likes,
            item=item,
            min_support=min_support,
            min_confidence=min_confidence,
            min_lift=min_lift,
            max_p=max_p,
            max_rules=max_rules,
        )
        row = wanted.row_in(self.items)
        answers = Answers.for_model(self._posterior, observations, likes)
        left, right, share = self.implications(min_probability)
        if row is not None:
            about = (left == row) | (right == row)
            left, right, share = left[about], right[about], share[about]
        rules = Rules.counted(answers, "implication", left, right, probability=share)
        return rules[wanted.good(rules, len(rules))][:max_rules]
