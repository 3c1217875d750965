"""What a fitted model says in words: events, contributions, logical relations."""

from kolmogorov.interpret.contributions import Contribution, Explanation
from kolmogorov.interpret.events import Event
from kolmogorov.interpret.relations import Relations

__all__ = ["Contribution", "Event", "Explanation", "Relations"]
