"""What a fitted model says in words: events, contributions, logical relations, and rules counted on data."""

from kolmogorov.interpret.contributions import Contribution, Explanation
from kolmogorov.interpret.events import Event
from kolmogorov.interpret.graded_posterior import GradedPosteriorRelations
from kolmogorov.interpret.graded_relations import GradedRelations
from kolmogorov.interpret.order import Order
from kolmogorov.interpret.reasons import Reason
from kolmogorov.interpret.relations import Relations
from kolmogorov.interpret.rule import Rule
from kolmogorov.interpret.rules import Rules

__all__ = [
    "Contribution",
    "Event",
    "Explanation",
    "GradedPosteriorRelations",
    "GradedRelations",
    "Order",
    "Reason",
    "Relations",
    "Rule",
    "Rules",
]
