"""What a fitted model says in words.

`events` names events, `explanation` takes predictions apart, `attributes` says what attributes have to do with both,
`plot` draws. `readiness` tests pairs of items in data, `mining` finds what is confirmed, `rules` counts and says it,
`relations` is what supports state, and which of the rules a model states.
"""

from kolmogorov.interpret.events import Event
from kolmogorov.interpret.explanation import Contribution, Explanation, ItemContribution, Reason
from kolmogorov.interpret.relations import Relations
from kolmogorov.interpret.rules import Rule, Rules

__all__ = [
    "Contribution",
    "Event",
    "Explanation",
    "ItemContribution",
    "Reason",
    "Relations",
    "Rule",
    "Rules",
]
