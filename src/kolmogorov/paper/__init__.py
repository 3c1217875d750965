"""The paper's tables and figures, computed again and set beside the printed numbers.

One module per item; each has `run(effort) -> Result`. `runner` writes the results, `numbers` holds what the paper
prints.
"""

from kolmogorov.paper.registry import ITEMS, run_item
from kolmogorov.paper.result import Effort, Result

__all__ = ["ITEMS", "Effort", "Result", "run_item"]
