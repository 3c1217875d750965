"""Fig. 3: training error by gamma."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.claims import Claim, Trial, same_error
from kolmogorov.paper.fits import Fit, curve_rows, curves_panel, deviation, last_errors
from kolmogorov.paper.result import Effort, Part, Result

_GAMMAS = (10, 100, 1000)
_LABELS = ("gd", "enhanced_gd")


def _wanted(effort: Effort) -> dict[str, Part]:
    sweeps, seeds = effort.pick(4, 15), effort.pick(1, 10)
    return {
        f"{label}, gamma {gamma}": Fit("D1", 16, label, sweeps, seeds, gamma=float(gamma)).part
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
    means = {gamma: float(errors.mean()) for gamma, errors in ends.items()}
    gain, rest = ends[10] - ends[100], ends[100] - ends[1000]
    reading = f"{len(gain)} realisations of D1, each with a start of its own; the last of {effort.pick(4, 15)} sweeps"
    pale = tuple(label for label in fits if label.startswith("gd"))
    return Result(
        "Fig. 3: training error by gamma (D1, D = 16)",
        curve_rows("D1", fits),
        [curves_panel("gd (wide) and enhanced_gd (thin)", fits, pale, {label: f"enhanced_{label}" for label in pale})],
        [
            Claim(
                "Fig. 3",
                "a larger gamma trains better: 100 beats 10",
                reading,
                [
                    Trial(
                        "",
                        f"{means[10]:.4f} and {means[100]:.4f}; {(gain > 0).sum()} of {len(gain)} realisations fall",
                        bool(gain.mean() > 0 and (gain > 0).mean() > 0.5),
                        bool(gain.mean() < 0),
                    )
                ],
            ),
            Claim(
                "Fig. 3",
                "100 and 1000 are 'indistinguishable'",
                reading,
                [
                    Trial(
                        "",
                        f"{means[100]:.4f} and {means[1000]:.4f}, {100 * abs(rest.mean()) / means[100]:.1f}% apart",
                        same_error(means[1000], means[100], deviation(ends[100])),
                    )
                ],
            ),
        ],
        ["gd and enhanced_gd visit the same points, so that their curves are one."],
        table=[],
    )
