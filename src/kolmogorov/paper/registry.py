"""Which items there are, and in which module."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

from kolmogorov._support.validation import suggestion
from kolmogorov.errors import ParameterError
from kolmogorov.paper.result import Effort, Part, Result

_ROOMS = {
    "tables": {
        "table1": "seconds per sweep for the BQP by gamma, D = 16, D1",
        "table2": "share of iterations in the four phases, D = 8, D1",
        "table3": "seconds per sweep, users and items apart, D = 8, D1 and D2",
        "table4": "seconds per sweep for the BQP, D = 4 to 100, D1, D2, D3",
        "table5": "test error on D2 and D3",
        "table6": "accuracy of logical relations on D2",
    },
    "figures": {
        "fig1": "gap of the dual by iteration, gd and enhanced_gd",
        "fig2": "gap of the dual with the initial step, and EVDs",
        "fig3": "training error by gamma, D = 16, D1",
        "fig4": "training error by sweep, all solvers, D1 and D2",
        "fig5": "training error by sweep, quasi-Newton, D1",
        "fig6": "error of the approximate EVD and its bounds, D = 12",
        "fig7": "training error, exact against approximate EVD, D1, D2, D3",
        "fig8": "influence scores, enhanced_gd and sdr, D2",
    },
    "ablations": {
        "start": "u_0: EVDs of gd, enhanced_gd and the initial step by u_0, first step, tolerance and D",
        "threshold": "a: where Lanczos stops, and what it costs and gains",
        "roundings": "I_rand: values and errors by the number of roundings",
        "safeguards": "Algorithms 4 and 5 as printed, and with our safeguards",
        "splits": "the split: u1 to u5, and random ones",
        "ridge": "mu_i: a ridge to 0, to the mean, and none",
    },
    "theory": {
        "lemmas": "Lemmas 1, 2 and 3, computed",
        "errata": "errors found in the paper, with their smallest examples",
    },
}
#: Items and what each of them is.
ITEMS = {name: what for room in _ROOMS.values() for name, what in room.items()}


class Item(Protocol):
    """A module that computes and says one table or figure."""

    def parts(self, effort: Effort) -> list[Part]:
        """Return what has to be computed."""

    def present(self, found: dict[str, Any], effort: Effort) -> Result:
        """Say what was found; parts that were left out are absent."""


def item(name: str) -> Item:
    """Return the module of an item."""
    for room, items in _ROOMS.items():
        if name in items:
            return cast(Item, import_module(f"kolmogorov.paper.{room}.{name}"))
    raise ParameterError(f"The paper has no {name!r}; there are: {', '.join(ITEMS)}.{suggestion(name, ITEMS)}")
