"""How far predictions are from what was observed."""

from kolmogorov.metrics.baselines import simple_guesses
from kolmogorov.metrics.evaluation import evaluate

__all__ = ["evaluate", "simple_guesses"]
