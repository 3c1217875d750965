"""One HTML file that shows what a model has learned, to be opened from disk.

`content` and `lists` collect what a page says, of `table`, `events` and `quality`; `page` puts it into the template.
"""

from kolmogorov.report.content import Options, gather
from kolmogorov.report.lists import gather_lists
from kolmogorov.report.page import Page, render
from kolmogorov.report.table import data_name

__all__ = ["Options", "Page", "data_name", "gather", "gather_lists", "render"]
