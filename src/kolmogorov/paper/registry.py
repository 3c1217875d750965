"""Which items there are, and in which module."""

from __future__ import annotations

from importlib import import_module

from kolmogorov._support.validation import nearest
from kolmogorov.errors import ParameterError
from kolmogorov.paper.result import Effort, Result

ITEMS = {
    "table1": "time per BQP by gamma, D = 16, D1",
    "table2": "share of iterations in the four phases, D = 8, D1",
    "table3": "seconds per sweep, users and items apart, D = 8, D1 and D2",
    "table4": "seconds per sweep for the BQP, D = 4 to 100, D1, D2, D3",
    "table5": "test error on D2 and D3",
    "table6": "accuracy of logical relations on D2",
    "fig1": "gap of the dual by iteration, gd and enhanced_gd",
    "fig2": "gap of the dual with the initial step, and by EVDs",
    "fig3": "training error by gamma, D = 16, D1",
    "fig4": "training error by sweep, all solvers, D1 and D2",
    "fig5": "training error by sweep, quasi-Newton, D1",
    "fig6": "error of the approximate EVD and its bounds, D = 12",
    "fig7": "training error, exact against approximate EVD, D1, D2, D3",
    "fig8": "influence scores, enhanced_gd and sdr, D2",
}


def run_item(name: str, effort: Effort) -> Result:
    """Compute one item."""
    if name not in ITEMS:
        raise ParameterError(f"The paper has no {name!r}; there are: {', '.join(ITEMS)}.{nearest(name, ITEMS)}")
    result: Result = import_module(
        f"kolmogorov.paper.{'tables' if name.startswith('table') else 'figures'}.{name}"
    ).run(effort)
    return result
