"""What a fitted model says in words: events, contributions, logical relations, and rules counted on data."""

from kolmogorov.interpret.events import Event
from kolmogorov.interpret.explanation import Contribution, Explanation, Reason
from kolmogorov.interpret.lists import ItemContribution, ListExplanation
from kolmogorov.interpret.relations.draws import PosteriorRelations
from kolmogorov.interpret.relations.order import Order
from kolmogorov.interpret.relations.points import Relations
from kolmogorov.interpret.rules.table import Rule, Rules

__all__ = [
    "Contribution",
    "Event",
    "Explanation",
    "ItemContribution",
    "ListExplanation",
    "Order",
    "PosteriorRelations",
    "Reason",
    "Relations",
    "Rule",
    "Rules",
]
