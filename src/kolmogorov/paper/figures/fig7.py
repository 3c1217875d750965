"""Fig. 7: training error, exact against approximate EVD."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.figures.comparison import compared
from kolmogorov.paper.fits import fit_part
from kolmogorov.paper.result import Effort, Part, Result
from kolmogorov.paper.tables.table5 import km_part

_LABELS = ("enhanced_gd", "enhanced_gd lanczos")
_SAYS = "the approximate EVD trains 'very close' to the exact one"


def _wanted(effort: Effort) -> dict[str, dict[str, Part]]:
    seeds = effort.pick(1, 10)
    wanted = {
        "D1": {label: fit_part("D1", 8, label, effort.pick(2, 12), seeds) for label in _LABELS},
        "D2": {label: km_part("D2", f"KM {label}", 8, effort) for label in _LABELS},
    }
    if not effort.quick:
        wanted["D3"] = {label: fit_part("D3", 8, label, 6, seeds) for label in _LABELS}
    return wanted


def parts(effort: Effort) -> list[Part]:
    """Fit D1, u1.base and D3 with both variants of the enhanced descent."""
    return [part for by_label in _wanted(effort).values() for part in by_label.values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare where they end."""
    wanted = _wanted(effort)
    return compared(
        "Fig. 7",
        "Fig. 7: training error, exact against approximate EVD (D = 8)",
        dict.fromkeys(wanted, _SAYS),
        wanted,
        found,
        0.01,
        [f"{effort.pick(1, 10)} starts each, a = 1. 'Very close' is taken as within 1%."],
    )
