"""The explorer: one HTML file that shows what a model has learned, to be opened from disk."""

from kolmogorov.report.content import Options, gather
from kolmogorov.report.lists import SCRIPTS as LIST_SCRIPTS
from kolmogorov.report.lists import gather_lists
from kolmogorov.report.page import Page, render
from kolmogorov.report.table import data_name

__all__ = ["LIST_SCRIPTS", "Options", "Page", "data_name", "gather", "gather_lists", "render"]
