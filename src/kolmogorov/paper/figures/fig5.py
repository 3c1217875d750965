"""Fig. 5: training error by sweep, quasi-Newton against the descents."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.figures.comparison import compared
from kolmogorov.paper.fits import fit_part
from kolmogorov.paper.result import Effort, Part, Result

_LABELS = ("quasi_newton", "gd", "enhanced_gd", "newton")


def _wanted(effort: Effort) -> dict[str, dict[str, Part]]:
    sweeps, seeds = effort.pick(2, 10), effort.pick(1, 10)
    return {"D1": {label: fit_part("D1", 20, label, sweeps, seeds) for label in _LABELS}}


def parts(effort: Effort) -> list[Part]:
    """Fit D1 at D = 20 with the dual methods."""
    return list(_wanted(effort)["D1"].values())


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare where they end."""
    return compared(
        "Fig. 5",
        "Fig. 5: training error by sweep, quasi-Newton (D1, D = 20)",
        {"D1": "quasi-Newton achieves 'similar training performance' as the gradient methods"},
        _wanted(effort),
        found,
        0.05,
        [f"{effort.pick(1, 10)} realisations with a start of their own. 'Similar' is taken as within 5%."],
    )
