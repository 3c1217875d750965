"""How far predictions are from what was observed."""

from kolmogorov.metrics.evaluation import evaluate

__all__ = ["evaluate"]
