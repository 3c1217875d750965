"""Choosing a model's parameters by cross-validation."""

from kolmogorov.model.tuning.search import tune
from kolmogorov.model.tuning.trials import Trial, Tuning

__all__ = ["Trial", "Tuning", "tune"]
