"""The explorer: one HTML file that shows what a model has learned, to be opened from disk."""

from kolmogorov.report.content import Options, gather
from kolmogorov.report.page import Page, render

__all__ = ["Options", "Page", "gather", "render"]
