"""Which rules are wanted, and the strongest of them kept while all stream by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kolmogorov._support.validation import Boolean, Integer, Optional, Real, Requirement, check_parameters
from kolmogorov.data import Vocabulary
from kolmogorov.errors import UnknownIdError
from kolmogorov.interpret.rules.counting import Answers, Bits, Threshold
from kolmogorov.interpret.rules.table import Rules, joined

KINDS = ("implication", "equivalence", "exclusion", "coverage")
#: Rules that may wait before the weakest are dropped.
_WAITING = 1 << 18


def known_row(items: Vocabulary, item: Any) -> int:
    """Return the row number of an item (id)."""
    row = int(items.encode([item], "item")[0])
    if row < 0:
        raise UnknownIdError(f"The model has no item {item!r}.{items.suggestion(item)}")
    return row


@dataclass(frozen=True)
class Kinds:
    """Names of kinds of relations."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is allowed."""
        return isinstance(value, Collection) and not isinstance(value, str) and all(kind in KINDS for kind in value)

    def __str__(self) -> str:
        return f"a sequence of names, each one of {', '.join(map(repr, KINDS))}"


_REQUIREMENTS: dict[str, Requirement] = {
    "likes": Threshold(),
    "kinds": Kinds(),
    "contrapositives": Boolean(),
    "min_support": Integer(0),
    "min_confidence": Real(0.0),
    "min_lift": Real(0.0),
    "max_p": Real(0.0),
    "max_rules": Optional(Integer(1)),
}


@dataclass(frozen=True)
class Selection:
    """The options of `Relations.rules`, which says what they mean."""

    likes: float = 0.6
    kinds: Sequence[str] = ("implication",)
    contrapositives: bool = False
    item: Any = None
    min_support: int = 1
    min_confidence: float = 0.0
    min_lift: float = 0.0
    max_p: float = 1.0
    max_rules: int | None = 1000

    def __post_init__(self) -> None:
        check_parameters("rules", vars(self), _REQUIREMENTS)
        object.__setattr__(self, "kinds", tuple(dict.fromkeys(self.kinds)))

    def row_in(self, items: Vocabulary) -> int | None:
        """Return the row number of the item that rules are wanted about, if they are about one."""
        return None if self.item is None else known_row(items, self.item)

    def good(self, rules: Rules, n_judged: int) -> Bits:
        """Tell which rules meet the limits, where so many have been judged."""
        with np.errstate(invalid="ignore"):
            good = rules.support >= self.min_support
            good &= ~(rules.confidence < self.min_confidence) & ~(rules.lift < self.min_lift)
            return good & ((rules.p_value * n_judged <= self.max_p) | (self.max_p >= 1.0))

    def strongest(self, parts: Iterable[Rules], answers: Answers) -> Rules:
        """Return the strongest of the rules that meet the limits; the others are dropped as they come."""
        nothing = np.empty(0, dtype=np.int64)
        kept = [Rules.counted(answers, "implication", nothing, nothing)]
        waiting = judged = 0
        for part in parts:
            judged += len(part)
            # The correction of p-values can only grow as more rules are judged.
            kept.append(part[self.good(part, judged)])
            waiting += len(kept[-1])
            if self.max_rules is not None and waiting > max(4 * self.max_rules, _WAITING):
                kept = [joined(kept).strongest(self.max_rules)]
                waiting = len(kept[0])
        whole = replace(joined(kept).strongest(self.max_rules), n_judged=judged)
        return whole[self.good(whole, judged)]
