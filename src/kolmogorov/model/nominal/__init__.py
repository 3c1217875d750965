"""`NominalModel`: tables of answers without order, each item with categories of its own."""

from kolmogorov.model.nominal.estimator import NominalModel

__all__ = ["NominalModel"]
