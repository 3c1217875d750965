"""What a fitted model says in words.

`events` names events, `explanation` takes predictions apart, `relations` reads `supports`, `rules` is a
table of what `mining` lists by what `counting`, `judging` and `readiness` find in data, `plot` draws all of them.
"""

from kolmogorov.interpret.events import Event
from kolmogorov.interpret.explanation import Contribution, Explanation, ItemContribution, ListExplanation, Reason
from kolmogorov.interpret.relations import Relations
from kolmogorov.interpret.rules import Rule, Rules
from kolmogorov.interpret.supports import Order

__all__ = [
    "Contribution",
    "Event",
    "Explanation",
    "ItemContribution",
    "ListExplanation",
    "Order",
    "Reason",
    "Relations",
    "Rule",
    "Rules",
]
