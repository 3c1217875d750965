"""`ListModel`: lists for tables in which only yes is recorded."""

from kolmogorov.model.lists.estimator import ListModel

__all__ = ["ListModel"]
