"""Fig. 5: training error by sweep, quasi-Newton against the descents."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.claims import Claim
from kolmogorov.paper.figures.comparison import beside
from kolmogorov.paper.fits import Fit, curve_rows, curves_panel
from kolmogorov.paper.result import Effort, Part, Result

_LABELS = ("quasi_newton", "gd", "enhanced_gd", "newton")


def _wanted(effort: Effort) -> dict[str, Part]:
    sweeps, seeds = effort.pick(2, 10), effort.pick(1, 10)
    return {label: Fit("D1", 20, label, sweeps, seeds).part for label in _LABELS}


def parts(effort: Effort) -> list[Part]:
    """Fit D1 at D = 20 with the dual methods."""
    return list(_wanted(effort).values())


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare where they end."""
    fits = {label: found[part.key] for label, part in _wanted(effort).items()}
    return Result(
        "Fig. 5: training error by sweep, quasi-Newton (D1, D = 20)",
        curve_rows("D1", fits),
        [curves_panel("D1", fits, pale=("gd",))],
        [
            Claim(
                "Fig. 5",
                "quasi-Newton achieves 'similar training performance' as the gradient methods",
                f"D = 20 is open; BFGS to a gradient norm of 1e-3; {effort.pick(1, 10)} realisations, each with a "
                "start of its own",
                [beside("", fits, "quasi_newton")],
            )
        ],
        table=[],
    )
