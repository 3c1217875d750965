"""Fig. 7: training error, exact against approximate EVD."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.claims import Claim, Trial
from kolmogorov.paper.data import AS, lanczos
from kolmogorov.paper.figures.comparison import distances
from kolmogorov.paper.fits import Fit, curve_rows, curves_panel
from kolmogorov.paper.result import Effort, Part, Result, percent

#: Sizes at which the paper's Table IV uses the approximate EVD, the starts of each, and the line of a.
_FULL: dict[Any, dict[int, tuple[int, tuple[float, ...]]]] = {
    "D1": {20: (10, AS), 50: (5, AS), 100: (3, AS)},
    "D2": {20: (3, AS), 50: (1, (1.0, 3.0, 10.0, 30.0)), 100: (1, (1.0, 10.0, 30.0))},
    "D3": {8: (2, AS), 12: (1, (1.0, 10.0, 30.0)), 20: (1, (1.0, 10.0, 30.0))},
}
_QUICK: dict[Any, dict[int, tuple[int, tuple[float, ...]]]] = {"D1": {20: (2, (1.0, 10.0))}}
_EXACT = "enhanced_gd"


def wanted(effort: Effort) -> dict[str, dict[int, dict[str, Part]]]:
    """Return the parts by dataset, size and solver."""
    return {
        name: {
            size: {
                label: Fit(name, size, label, effort.pick(2, 10 if name == "D1" else 5), starts).part
                for label in (_EXACT, *map(lanczos, line))
            }
            for size, (starts, line) in sizes.items()
        }
        for name, sizes in effort.pick(_QUICK, _FULL).items()
    }


def parts(effort: Effort) -> list[Part]:
    """Fit D1, u1.base and D3 with both variants of the enhanced descent."""
    return [part for sizes in wanted(effort).values() for labels in sizes.values() for part in labels.values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare where they end."""
    rows, panels, claims = [], [], []
    for name, sizes in wanted(effort).items():
        trials: list[Trial] = []
        apart: list[float] = []
        for size, labels in sizes.items():
            fits = {label: found[part.key] for label, part in labels.items()}
            rows += [{"D": size, **row} for row in curve_rows(name, fits)]
            found_here = _trials(size, fits)
            trials += [trial for trial, _ in found_here]
            apart += [distance for _, distance in found_here]
            if size == min(sizes):
                panels.append(curves_panel(f"{name}, D = {size}", fits, pale=(_EXACT,)))
        sizes_said = ", ".join(map(str, sizes))
        claims.append(
            Claim(
                "Fig. 7",
                f"{name}: the training performance of the approximate EVD is 'very close' to that of the exact one",
                f"D = {sizes_said}, where Table IV uses the approximate EVD (D of the figure is open), a open; with "
                "our safeguards",
                trials,
                brief=f"from {percent(min(apart))} to {percent(max(apart))}",
            )
        )
    return Result(
        "Fig. 7: training error, exact against approximate EVD",
        rows,
        panels,
        claims,
        [
            "Below 0% the approximate EVD trains better. Without our safeguards, see the item `safeguards`; what "
            "every a gains and loses: the item `threshold`."
        ],
        table=[],
    )


def _trials(size: int, fits: dict[str, Any]) -> list[tuple[Trial, float]]:
    """Return a trial for each a, and its relative distance from the exact EVD."""
    trials = []
    for label, one in fits.items():
        if label != _EXACT:
            _, apart = distances({_EXACT: fits[_EXACT], label: one}, _EXACT)
            distance, same = apart[label]
            reading = f"D = {size}, {label.removeprefix('lanczos, ')}"
            trials.append((Trial(reading, percent(distance), same), distance))
    return trials
