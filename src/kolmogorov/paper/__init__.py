"""The paper's tables and figures, computed again and set beside the printed numbers.

One module per item, with `parts(effort)`, which are computed and stored, and `present(found, effort)`, which makes
tables, plots, claims and sentences of what is stored. `runner` computes, `document` writes, `printed` holds what the
paper prints.
"""

from kolmogorov.paper.registry import ITEMS, item
from kolmogorov.paper.result import Effort, Result

__all__ = ["ITEMS", "Effort", "Result", "item"]
