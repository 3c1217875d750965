"""`KolmogorovImputer`: tables of numbers with gaps, completed; columns are on scales of their own."""

from kolmogorov.model.imputation.estimator import KolmogorovImputer

__all__ = ["KolmogorovImputer"]
