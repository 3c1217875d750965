"""How rules are printed: as a table, in a line, and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kolmogorov._support.markup import card, table
from kolmogorov._support.wording import shortened, shown
from kolmogorov.interpret.rules.rule import Rule

#: Rules that are shown when many are printed, and in a summary. By judgement.
_PRINTED, _SUMMARY = 20, 3
#: Letters of a cell that is printed. By judgement.
_LONGEST = 48


class PrintedRules(Sequence[Rule]):
    """What `Rules` prints of itself."""

    terms: Any
    n_judged: int
    supported: bool
    n_found: int
    n_longer: int
    further: Any
    support: Any
    held: Any
    base_rate: Any
    expected: Any
    lift: Any
    p_adjusted: Any
    probability: Any
    names: Any
    strongest: Any

    def readable(self) -> dict[str, list[str]]:
        """Return few columns in words, so that the rules fit on a screen."""
        left, right = self.names()
        chance = {} if self.probability is None else {"probability": [f"{p:.2f}" for p in self.probability]}
        return chance | {
            "if": left,
            "then": right,
            "held": [f"{held:,} of {seen:,}" for held, seen in zip(self.held, self.support, strict=True)],
            "base rate": [f"{rate:.0%}" if rate == rate else "–" for rate in self.base_rate],
            "expected": [f"{max(rate, 0.0):.0%}" if rate == rate else "–" for rate in self.expected],
            "lift": [f"{lift:.2f}" if lift == lift else "–" for lift in self.lift],
            "p adjusted": [f"{p:.2g}" for p in self.p_adjusted],
        }

    def __str__(self) -> str:
        if not len(self):
            return self.none
        columns: Any = self._first().readable()
        cells = ([shortened(shown(cell), _LONGEST) for cell in row] for row in zip(*columns.values(), strict=True))
        rows = [list(columns), *cells]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines + _rest(len(self) - _PRINTED))

    def _first(self) -> Any:
        return self[:_PRINTED]

    @property
    def looked_at(self) -> str:
        """What was looked at to find supported rules, in words."""
        longer = f" and {self.n_longer:,} longer rules" if self.n_longer else ""
        return f"{self.n_judged:,} pair{'' if self.n_judged == 1 else 's'} of items{longer}"

    @property
    def none(self) -> str:
        """What to say where there are no rules."""
        if self.n_found == 0 and self.supported:
            return f"No rule is supported by these data. {self.looked_at} {_were(self.n_judged)} looked at."
        if self.n_found == 0:
            return "The model says no rule."
        supported = f"{self.n_found:,} {'is' if self.n_found == 1 else 'are'} supported"
        return f"No rule meets these limits ({supported if self.supported else f'the model says {self.n_found:,}'})."

    def __repr__(self) -> str:
        if not len(self):
            return f"<{self.none}>"
        lines = [f"  {rule}" for rule in self.strongest(_SUMMARY)]
        return "\n".join([f"<{self._title}>", *lines, *_rest(len(self) - len(lines), "  ")])

    @property
    def _title(self) -> str:
        return f"{len(self):,} rule{'' if len(self) == 1 else 's'}, counted on {self.terms.source}"

    def _repr_html_(self) -> str:
        return card(self._title, table(self._first().readable(), more=len(self) - _PRINTED))


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _rest(number: int, indent: str = "") -> list[str]:
    return [f"{indent}and {number:,} more"] if number > 0 else []
