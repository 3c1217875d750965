"""Logical relations with posterior probabilities: the share of draws in which each holds.

Draws share no events, but the supports of one draw are sets of the same events. Which of the very many pairs to look at
is for the one model that stands for the draws to say: its relations are the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import check_parameters, one_of, real
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import ParameterError
from kolmogorov.interpret.relations.points import Relations
from kolmogorov.interpret.relations.supports import Thresholds, complement, packed, sides_of_kind
from kolmogorov.interpret.rules.counting import KINDS, THRESHOLD, Counting, Pairs, pairs_of, turned, with_probability
from kolmogorov.interpret.rules.selection import Selection, known_row
from kolmogorov.interpret.rules.table import Rules
from kolmogorov.interpret.support_kernels import add_disjoint

#: A pair's weight when pairs are dealt to threads, so that a share has some thousands. By judgement.
_PAIR = 1 << 5


class PosteriorRelations(Relations):
    """Relations of the one model that stands for draws, and the posterior probability of each.

    Parameters
    ----------
    posterior : Posterior
    read : Fitted
        The one model that stands for the draws.
    min_ratings : int
        Leave out items with fewer training observations.
    thresholds : Thresholds, optional
        By default those that tell the ratings of the training data apart.

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

    def __init__(
        self, posterior: Posterior, read: Fitted, *, min_ratings: int = 1, thresholds: Thresholds | None = None
    ) -> None:
        super().__init__(read, min_ratings=min_ratings, thresholds=thresholds)
        self._posterior = posterior

    def stream(self, kind: str = "implication", min_probability: float = 0.5) -> Iterator[Pairs]:
        """Yield the pairs of a kind that are probable enough in blocks, with their probabilities."""
        check_parameters("stream", {"min_probability": min_probability}, {"min_probability": real(0.0, 1.0)})
        for pairs in self._candidates(kind):
            share = self.probabilities(pairs, kind)
            good = share >= min_probability
            yield with_probability(pairs[good], share[good])

    def _candidates(self, kind: str) -> Iterator[Pairs]:
        """Yield the pairs to look at; where supports of one model are equal, draws may imply one way alone."""
        yield from super().stream(kind)
        if kind == "implication" and len(self.thresholds) == 1:
            for pairs in super().stream("equivalence"):
                yield pairs
                yield turned(pairs)

    def pairs(self, kind: str, min_probability: float = 0.5) -> Pairs:
        """Return the pairs of a kind that are probable enough, most probable first; see `Relations.pairs`."""
        found = super().pairs(kind, min_probability)
        sides = ("consequent_at", "consequent", "antecedent_at", "antecedent")
        return found[np.lexsort((*(found[name] for name in sides), -found["probability"]))]

    def probability(
        self, antecedent: Any, consequent: Any, kind: str = "implication", *, at: tuple[float, float] | None = None
    ) -> float:
        """Return the share of draws in which a relation holds between two items (ids).

        Parameters
        ----------
        antecedent, consequent : id
        kind : {"implication", "equivalence", "exclusion", "coverage"}
        at : (float, float), optional
            What the items reach, on the probability scale, as `likes` is elsewhere; 0.8 is 4 of 5 stars. With yes and
            no there is nothing to say.
        """
        check_parameters("probability", {"kind": kind}, {"kind": one_of(KINDS)})
        if at is None and not self.thresholds.said:
            at = (1.0, 1.0)
        if not (isinstance(at, tuple | list) and len(at) == 2 and all(map(THRESHOLD.accepts, at))):
            raise ParameterError(
                f"'at' must be two thresholds on the probability scale, such as (0.8, 0.6); got {at!r}."
            )
        rows = (np.array([known_row(self.items, item)]) for item in (antecedent, consequent))
        return float(self.probabilities(pairs_of(*rows, *map(self._number, at)), kind)[0])

    def probabilities(self, pairs: Pairs, kind: str = "implication") -> Floats:
        """Return the share of draws in which each pair stands in a relation."""
        n, posterior = len(self.thresholds), self._posterior
        rows, place = np.unique(np.stack([pairs["antecedent"], pairs["consequent"]]), return_inverse=True)
        left, right = place.reshape(2, -1) * n + np.stack([pairs["antecedent_at"], pairs["consequent_at"]])
        held = np.zeros(len(pairs), dtype=np.int64)
        with Threads(-1) as dealer:
            for psi in posterior.psi:
                words = packed(self.thresholds.bits(psi[rows]).reshape(-1, psi.shape[1]))
                sides = sides_of_kind(kind, words, complement(words, psi.shape[1]))
                dealer.deal(partial(_add, *sides, left, right, kind == "equivalence", held), len(pairs), _PAIR)
        return held / posterior.n_draws

    def _stated(self, rules: Rules, wanted: Selection, likes: float) -> Rules:
        rules = super()._stated(rules, wanted, likes)
        at = self.thresholds.least(likes)
        share = np.zeros(len(rules))
        if at == len(self.thresholds):
            # No draw says anything of ratings that none of its thresholds reaches.
            return replace(rules, probability=share)
        for kind in np.unique(rules.kind).tolist():
            mine = rules.kind == kind
            sides = rules.antecedent[mine], rules.consequent[mine]
            if kind == "contrapositive":
                sides = sides[::-1]
            name = "implication" if kind == "contrapositive" else kind
            share[mine] = self.probabilities(pairs_of(*sides, at, at), name)
        if rules.further is not None:
            long = rules.further[:, 0] >= 0
            share[long] = self._conjoined(rules[long], at)
        return replace(rules, probability=share)

    def _conjoined(self, rules: Rules, at: int) -> Floats:
        """Return the share of draws in which all antecedents together lie in the consequent."""
        held = np.zeros(len(rules))
        for psi in self._posterior.psi:
            bits = self.thresholds.bits(psi)[:, at]
            left = bits[rules.antecedents] | (rules.antecedents < 0)[:, :, None]
            held += ~(left.all(axis=1) & ~bits[rules.consequent]).any(axis=1)
        return held / self._posterior.n_draws

    def _ranked(self, parts: Iterator[Rules], wanted: Selection, counting: Counting) -> Rules:
        return wanted.most_probable(parts, counting)

    def _number(self, rating: float) -> int:
        """Return the number of the lowest threshold whose rating is at least this."""
        ratings = self.thresholds.ratings
        number = int(np.searchsorted(ratings, rating - 1e-9))
        if number == len(ratings):
            raise ParameterError(
                f"No threshold of the model is as high as {rating:g} on the probability scale; the highest is "
                f"{ratings[-1] if len(ratings) else 0.0:g}."
            )
        return number


def _add(x: Any, y: Any, left: Any, right: Any, mutual: bool, held: Any, first: int, last: int) -> None:
    add_disjoint(x, y, left[first:last], right[first:last], mutual, held[first:last])
