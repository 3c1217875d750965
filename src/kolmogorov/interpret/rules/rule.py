"""A logical rule between two items, and how it fares on data."""

from __future__ import annotations

from dataclasses import dataclass

from kolmogorov._support.wording import shown


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: if the antecedent is so, the consequent is so.

    Attributes
    ----------
    kind : str
    antecedent, consequent : str
        Names of items; "not" stands before one that is said no to. In rules of a many-valued model a threshold follows,
        ">= 4" or "< 4", in rating units.
    support : int
        Users observed with both items for whom the antecedent was so.
    held : int
        Those among them for whom the consequent was so.
    base_rate : float
        Share for whom the consequent was so among all users observed with its item.
    expected : float
        Share of the cases in which it would hold if users differed only in how readily they say yes.
    p_adjusted : float
        Whether it holds more often than that, corrected for all that was looked at.
    probability : float or None
        Of draws, the share in which the rule holds.

    Examples
    --------
    >>> print(Rule(kind="implication", antecedent="milk", consequent="backbone", support=31, held=31, base_rate=0.83))
    milk ⇒ backbone (held for 31 of 31; of all, 83%)
    """

    kind: str
    antecedent: str
    consequent: str
    support: int
    held: int
    base_rate: float
    expected: float = float("nan")
    p_adjusted: float = 1.0
    probability: float | None = None

    @property
    def confidence(self) -> float:
        """Share of the cases seen in which the rule held; nan where none was seen."""
        return self.held / self.support if self.support else float("nan")

    @property
    def lift(self) -> float:
        """Confidence over base rate."""
        return self.confidence / self.base_rate if self.base_rate else float("nan")

    def __str__(self) -> str:
        facts = [] if self.probability is None else [f"probability {self.probability:.2f}"]
        facts.append(f"held for {self.held:,} of {self.support:,}" if self.support else "not met")
        if self.base_rate == self.base_rate:
            facts.append(f"of all, {self.base_rate:.0%}")
        return f"{shown(self.antecedent)} ⇒ {shown(self.consequent)} ({'; '.join(facts)})"
