"""Fig. 3: training error by gamma."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.fits import curve_rows, curves_panel, fit_part, last_errors
from kolmogorov.paper.result import Claim, Effort, Part, Result, verdict

_GAMMAS = (10, 100, 1000)
_LABELS = ("gd", "enhanced_gd")


def _wanted(effort: Effort) -> dict[str, Part]:
    sweeps, seeds = effort.pick(4, 15), effort.pick(1, 10)
    return {
        f"{label}, gamma {gamma}": fit_part("D1", 16, label, sweeps, seeds, gamma=float(gamma))
        for label in _LABELS
        for gamma in _GAMMAS
    }


def parts(effort: Effort) -> list[Part]:
    """Fit D1 at D = 16 with both descents for three gammas."""
    return list(_wanted(effort).values())


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Say what gamma changes, beside what a start changes."""
    fits = {label: found[part.key] for label, part in _wanted(effort).items()}
    ends = {gamma: last_errors(fits[f"enhanced_gd, gamma {gamma}"]) for gamma in _GAMMAS}
    gain, rest = ends[10] - ends[100], ends[100] - ends[1000]
    spread = float(ends[100].std(ddof=min(1, len(ends[100]) - 1)))
    return Result(
        "Fig. 3: training error by gamma (D1, D = 16)",
        curve_rows("D1", fits),
        [curves_panel("Training error", fits)],
        [
            Claim(
                "Fig. 3",
                "a larger gamma trains better: 100 beats 10",
                f"from 10 to 100 the error changes by {-gain.mean():+.4f} on average, in {(gain > 0).sum()} of "
                f"{len(gain)} realisations downwards",
                verdict(gain.mean() > 0 and (gain > 0).mean() > 0.5, gain.mean() < 0),
            ),
            Claim(
                "Fig. 3",
                "100 and 1000 are 'indistinguishable'",
                f"the error changes by {-rest.mean():+.4f} on average; the sd over realisations is {spread:.4f}",
                verdict(abs(float(rest.mean())) <= max(spread, 1e-4)),
            ),
        ],
        [f"{len(gain)} realisations of D1 with a start of their own. gd and enhanced_gd visit the same points."],
        shown=False,
    )
