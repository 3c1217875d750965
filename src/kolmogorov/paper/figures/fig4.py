"""Fig. 4: training error by sweep, all solvers."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.claims import Claim
from kolmogorov.paper.figures.comparison import beside
from kolmogorov.paper.fits import Fit, curve_rows, curves_panel
from kolmogorov.paper.result import Effort, Part, Result

_LABELS = ("sdr", "dmo", "gd", "enhanced_gd", "newton", "auto")
_SHORT = {"sdr": 5, "dmo": 8, "gd": 8, "newton": 8}


def _wanted(effort: Effort) -> dict[str, dict[str, Part]]:
    sweeps, seeds = effort.pick(2, 12), effort.pick(1, 10)
    d2 = {label: Fit("D2", 8, label, effort.pick(1, _SHORT.get(label, 20)), seeds) for label in _LABELS}
    return {
        "D1": {label: Fit("D1", 8, label, sweeps, seeds).part for label in _LABELS},
        "D2": {label: fit.part for label, fit in d2.items()},
    }


def parts(effort: Effort) -> list[Part]:
    """Fit D1 and u1.base at D = 8 with every solver of the paper, and ours."""
    return [part for by_label in _wanted(effort).values() for part in by_label.values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare where they end."""
    fits = {
        name: {label: found[part.key] for label, part in by_label.items() if part.key in found}
        for name, by_label in _wanted(effort).items()
    }
    return Result(
        "Fig. 4: training error by sweep (D = 8; D2 is u1.base)",
        [row for name, one in fits.items() for row in curve_rows(name, one)],
        [curves_panel(name, one, pale=("gd",)) for name, one in fits.items()],
        [
            Claim(
                "Fig. 4",
                "enhanced_gd achieves 'similar, good training performance' to the other approaches",
                f"D = 8 is open; {effort.pick(1, 10)} starts each, on D1 with a realisation of their own; lambda_u = "
                "30 on D2; with our safeguards",
                [beside(name, one, "enhanced_gd") for name, one in fits.items()],
            )
        ],
        table=[],
    )
