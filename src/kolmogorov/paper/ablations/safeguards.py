"""Algorithms 4 and 5 as printed, and with our safeguards: errors by sweep and at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.paper.claims import SAME, Claim, Trial
from kolmogorov.paper.data import lanczos
from kolmogorov.paper.fits import Fit, curve_rows, curves_panel, mean_curve
from kolmogorov.paper.result import Effort, Part, Result

_LINE = (1.0, 3.0, 10.0, 30.0)
#: Over so many sweeps at the end a training error has settled.
_LAST = 5


def _wanted(effort: Effort) -> dict[str, dict[str, Part]]:
    """Return the parts by dataset and label."""
    line = effort.pick((3.0,), _LINE)
    labels = ["enhanced_gd", *map(lanczos, line), *(lanczos(a, printed=True) for a in line)]
    data: Any = effort.pick({"D1": (8, 6, 1)}, {"D1": (8, 20, 5), "D2": (8, 20, 2)})
    return {
        name: {
            f"{label}, {'safeguards' if guarded else 'as printed'}": Fit(
                name, size, label, sweeps, seeds, guarded=guarded
            ).part
            for label in labels
            for guarded in (True, False)
            # With the printed recurrence only the algorithm as printed is of interest.
            if not (guarded and "recurrence" in label)
        }
        for name, (size, sweeps, seeds) in data.items()
    }


def parts(effort: Effort) -> list[Part]:
    """Fit D1 and u1.base at D = 8 with and without safeguards."""
    return [part for by_label in _wanted(effort).values() for part in by_label.values()]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Show the errors by sweep, and whether they settle."""
    rows, table, panels, trials, rising = [], [], [], [], []
    for name, by_label in _wanted(effort).items():
        fits = {label: found[part.key] for label, part in by_label.items()}
        rows += curve_rows(name, fits)
        shown = {label: one for label, one in fits.items() if "recurrence" not in label}
        pale = tuple(label for label in shown if label.endswith("safeguards"))
        kin = {label: label.replace("safeguards", "as printed") for label in pale}
        panels.append(curves_panel(f"{name}, D = 8: with safeguards (wide), as printed (thin)", shown, pale, kin))
        for label, one in fits.items():
            mean, _, _ = mean_curve(one)
            rises = float(np.mean(np.diff(np.array(one["train"]), axis=1) > 0))
            last = mean[-_LAST:]
            swing = (max(last) - min(last)) / min(mean)
            table.append(
                {
                    "data": name,
                    "solver": label,
                    "training": mean[-1],
                    "best sweep": min(mean),
                    "sweeps that rise %": 100 * rises,
                    "swing of the last sweeps %": 100 * swing,
                    "test": float(np.mean(one["test"])) if one["test"] else None,
                }
            )
            if label.endswith("as printed"):
                settled = swing <= SAME and mean[-1] <= (1 + SAME) * min(mean)
                told = f"{mean[-1]:.4f}, best sweep {min(mean):.4f}, {100 * rises:.0f}% of sweeps rise"
                trials.append(Trial(_reading(name, label), told, settled, mean[-1] > mean[0]))
                rising.append(100 * rises)
    return Result(
        "The safeguards: Algorithms 4 and 5 as printed, and with ours",
        rows,
        panels,
        [
            Claim(
                "Section III-D",
                "Algorithm 4 'converges to a stationary point'",
                "as printed (`keep_better=False`), D = 8: the mean training error moves by no more than 2% over the "
                f"last {_LAST} sweeps, and ends no more than 2% above its best; a is open",
                trials,
                brief=f"{min(rising):.0f} to {max(rising):.0f}% of the sweeps rise",
                listed=False,
            )
        ],
        [
            "Our safeguards: an item keeps its support where rounding found a worse one, and a sweep that raises the "
            "objective is undone. 'Printed recurrence' is Algorithm 5 with its three terms; ours orthogonalises every "
            "vector against all earlier ones."
        ],
        table=table,
    )


def _reading(name: str, label: str) -> str:
    """Return a label as a reading: its a comes last."""
    solver, *rest = label.removesuffix(", as printed").split(", ")
    a, recurrence = (rest[0], rest[1:]) if rest else ("", [])
    return ", ".join([name, *(recurrence or [solver]), *([a] if a else [])])
