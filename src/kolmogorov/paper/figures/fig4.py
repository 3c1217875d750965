"""Fig. 4: training error by sweep, all solvers."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.figures.comparison import compared
from kolmogorov.paper.fits import fit_part
from kolmogorov.paper.result import Effort, Part, Result
from kolmogorov.paper.tables.table5 import km_part

_SAYS = "enhanced_gd achieves 'similar, good training performance' to sdr and dmo"
#: Above this relative distance two training errors are not called similar.
_SIMILAR = 0.02


def _wanted(effort: Effort) -> dict[str, dict[str, Part]]:
    sweeps, seeds = effort.pick(2, 12), effort.pick(1, 10)
    labels = ("sdr", "dmo", "gd", "enhanced_gd", "newton", "auto")
    long = {"enhanced_gd": "KM enhanced_gd", "auto": "KM exact"}
    short = {"sdr": 5}
    return {
        "D1": {label: fit_part("D1", 8, label, sweeps, seeds) for label in labels},
        "D2": {
            label: km_part("D2", long[label], 8, effort)
            if label in long
            else fit_part("D2", 8, label, effort.pick(1, short.get(label, 8)), seeds)
            for label in labels
        },
    }


def parts(effort: Effort) -> list[Part]:
    """Fit D1 and u1.base at D = 8 with every solver of the paper, and ours."""
    return [part for by_label in _wanted(effort).values() for part in by_label.values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare where they end."""
    return compared(
        "Fig. 4",
        "Fig. 4: training error by sweep (D = 8; D2 is u1.base)",
        {"D1": _SAYS, "D2": _SAYS},
        _wanted(effort),
        found,
        _SIMILAR,
        [f"{effort.pick(1, 10)} starts each, on D1 with a realisation of their own. 'Similar' is taken as within 2%."],
    )
