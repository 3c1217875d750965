"""What a fitted model says in words.

`events` names events, `explanation` takes predictions apart, `relations` reads what supports state, `rules` is a list
of what `mining` confirms by what `counting`, `judging` and `readiness` find in data, `plot` draws events and errors.
"""

from kolmogorov.interpret.events import Event
from kolmogorov.interpret.explanation import Contribution, Explanation, ItemContribution, ListExplanation, Reason
from kolmogorov.interpret.relations import Order, Relations
from kolmogorov.interpret.rules import Rule, Rules

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
