"""What a fitted model says in words: events, contributions, logical relations and how well they hold."""

from kolmogorov.interpret.contributions import Contribution, Explanation, Reason
from kolmogorov.interpret.events import Event
from kolmogorov.interpret.evidence import Evidence
from kolmogorov.interpret.order import Order
from kolmogorov.interpret.relations import Relations

__all__ = ["Contribution", "Event", "Evidence", "Explanation", "Order", "Reason", "Relations"]
