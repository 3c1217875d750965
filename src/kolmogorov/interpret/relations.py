"""Logical relations between items, read off their supports.

X_j = 1 means that the drawn event lies in supp(psi_j). So supp(psi_j) ⊆ supp(psi_i) gives X_j = 1 ⇒ X_i = 1, for
every user and whatever theta is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.optional import to_frame
from kolmogorov.data import Observations
from kolmogorov.model.parameters import Fitted

Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class Evidence:
    """How a rule "if j then i" fares on yes/no data: `held` of `seen` users with X_j = 1 also had X_i = 1."""

    antecedent: str
    consequent: str
    seen: int
    held: int
    base_rate: float

    @property
    def confidence(self) -> float:
        """Share of cases in which the rule held."""
        return self.held / self.seen if self.seen else float("nan")

    @property
    def lift(self) -> float:
        """Confidence over the base rate of the consequent."""
        return self.confidence / self.base_rate if self.base_rate else float("nan")

    def __str__(self) -> str:
        return f"{self.antecedent} ⇒ {self.consequent}"


class Relations:
    """Implications, equivalences and exclusions among a model's items.

    Items never observed are left out, and so are the trivial supports: an item with every event is implied
    by all others, one with no event implies all others. Pairs are row numbers of `items_`.

    Examples
    --------
    >>> import kolmogorov as km
    >>> model = km.KolmogorovModel(n_events=5, user_reg=0.3, random_state=0).fit(km.datasets.load("zoo"))
    >>> ("feathers", "eggs") in model.relations().named(model.relations().implications)
    True
    """

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted
        size = fitted.psi.sum(axis=1)
        self._rows = np.flatnonzero(fitted.item_seen & (size > 0) & (size < fitted.n_events))
        self._size = size[self._rows]

    @cached_property
    def implications(self) -> Pairs:
        """Pairs (j, i), supp(psi_j) a proper subset of supp(psi_i): X_j = 1 ⇒ X_i = 1, X_i = 0 ⇒ X_j = 0."""
        return self._pairs(lambda common, a, b: (common == a) & (a < b))

    @cached_property
    def equivalences(self) -> Pairs:
        """Pairs (j, i), j < i, with equal supports: X_j = X_i."""
        pairs = self._pairs(lambda common, a, b: (common == a) & (a == b))
        return pairs[pairs[:, 0] < pairs[:, 1]]

    @cached_property
    def exclusions(self) -> Pairs:
        """Pairs (j, i), j < i, with disjoint supports: X_j = 1 ⇒ X_i = 0."""
        pairs = self._pairs(lambda common, a, b: common == 0)
        return pairs[pairs[:, 0] < pairs[:, 1]]

    def named(self, pairs: Pairs) -> list[tuple[str, str]]:
        """Return pairs by the items' names."""
        name = self._fitted.items.name
        return [(name(j), name(i)) for j, i in pairs.tolist()]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return all relations as a data frame: kind, antecedent, consequent."""
        kinds = {
            "implication": self.implications,
            "equivalence": self.equivalences,
            "exclusion": self.exclusions,
        }
        rows = [(kind, *pair) for kind, pairs in kinds.items() for pair in self.named(pairs)]
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        return to_frame(dict(zip(("kind", "antecedent", "consequent"), map(list, columns), strict=True)), backend)

    def evidence(self, pairs: Pairs, observations: Observations, likes: float = 0.5) -> list[Evidence]:
        """Count how often implications hold among users observed with both items.

        Parameters
        ----------
        pairs : array of (antecedent, consequent) rows
        observations : Observations
            Over the model's items; best data that the model was not trained on.
        likes : float
            Values of at least this mean yes.
        """
        from scipy.sparse import csc_array

        view = observations.columns
        shape = (observations.n_users, observations.n_items)
        column = self._fitted.items.encode(observations.items.ids)
        place = np.full(len(self._fitted.items), -1)
        place[column[column >= 0]] = np.flatnonzero(column >= 0)
        yes = (view.values >= likes).astype(np.float64)
        likes_of = csc_array((yes, view.indices, view.indptr), shape=shape)
        observed = csc_array((np.ones(yes.size), view.indices, view.indptr), shape=shape)
        result = []
        for (j, i), (name_j, name_i) in zip(pairs.tolist(), self.named(pairs), strict=True):
            if place[j] < 0 or place[i] < 0:
                result.append(Evidence(name_j, name_i, 0, 0, float("nan")))
                continue
            both = likes_of[:, [place[j]]].multiply(observed[:, [place[i]]])
            held = both.multiply(likes_of[:, [place[i]]]).sum()
            count = observed[:, [place[i]]].sum()
            base = likes_of[:, [place[i]]].sum() / count if count else float("nan")
            result.append(Evidence(name_j, name_i, int(both.sum()), int(held), float(base)))
        return result

    def _pairs(self, test: Any) -> Pairs:
        """Test all ordered pairs of distinct items, a block of rows at a time."""
        psi = self._fitted.psi[self._rows].astype(np.float32)
        block = max(1, (1 << 22) // max(len(psi), 1))
        found = []
        for first in range(0, len(psi), block):
            part = slice(first, first + block)
            common = psi[part] @ psi.T
            hit = test(common, self._size[part, None], self._size[None, :])
            j, i = np.nonzero(hit)
            distinct = j + first != i
            found.append(np.column_stack([self._rows[j[distinct] + first], self._rows[i[distinct]]]))
        return np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)
