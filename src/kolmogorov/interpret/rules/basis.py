"""A short list of rules from which the others follow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kolmogorov._support.typing import Floats, Rows


def basis_of(antecedents: Sequence[Sequence[int]], consequents: Sequence[int], confidence: Floats) -> Rows:
    """Return the places of rules, in their order, from which the others follow by rules that hold as often.

    Parameters
    ----------
    antecedents : n lists of statements, by number
    consequents : n statements
    confidence : float64[n]
        Rules follow only from such as have at least theirs.

    Examples
    --------
    >>> basis_of([[0], [1], [0], [0, 3]], [1, 2, 2, 2], np.array([0.9, 0.9, 0.8, 0.95])).tolist()
    [0, 1, 3]
    """
    chain = _Chain(antecedents, consequents)
    # The surest first, and of equally sure ones those that ask for less.
    order = sorted(range(len(consequents)), key=lambda r: (-confidence[r], len(antecedents[r]), r))
    for rule in order:
        if not chain.leads(rule, 0.0, confidence):
            chain.keep(rule)
    # Of equally sure rules one may follow from others that came later.
    for rule in reversed(order):
        if chain.kept[rule] and chain.leads(rule, float(confidence[rule]), confidence):
            chain.kept[rule] = False
    return np.flatnonzero(chain.kept)


class _Chain:
    """Rules that were kept, and what they lead to."""

    def __init__(self, antecedents: Sequence[Sequence[int]], consequents: Sequence[int]) -> None:
        self._antecedents, self._consequents = antecedents, consequents
        self._from: dict[int, list[int]] = {}
        self.kept = np.zeros(len(consequents), dtype=bool)

    def keep(self, rule: int) -> None:
        """Let a rule lead on."""
        self.kept[rule] = True
        for statement in self._antecedents[rule]:
            self._from.setdefault(statement, []).append(rule)

    def leads(self, rule: int, least: float, confidence: Floats) -> bool:
        """Tell whether other rules that were kept, and are sure enough, lead where a rule does."""
        goal, known = self._consequents[rule], set(self._antecedents[rule])
        waiting, missing = list(known), dict[int, int]()
        while waiting:
            for other in self._from.get(waiting.pop(), ()):
                if other == rule or not self.kept[other] or confidence[other] < least:
                    continue
                missing[other] = missing.get(other, len(self._antecedents[other])) - 1
                end = self._consequents[other]
                if missing[other] == 0 and end not in known:
                    if end == goal:
                        return True
                    known.add(end)
                    waiting.append(end)
        return False
