"""The number of roundings I_rand: values of BQPs, and errors of fits, with our safeguards and without."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.paper.claims import Claim, Trial, same_error
from kolmogorov.paper.data import solved, solver, trained_equations, values_of
from kolmogorov.paper.fits import Fit, deviation, last_errors
from kolmogorov.paper.result import Effort, Lines, Panel, Part, Result, added

_DRAWS = (1, 3, 10, 30, 50, 100, 300, 1000)
_FULL = {"D1": (8, 20, 50, 100), "D2": (8, 20, 50, 100)}
_QUICK = {"D1": (8, 20)}


def parts(effort: Effort) -> list[Part]:
    """Round the same relaxations ever more often, and fit with ever more roundings."""
    count = effort.pick(8, 40)
    values = [
        Part(f"roundings-{name}-D{size}-{count}", partial(_values, name, size, count), cost=4.0 + 4e-3 * size**2)
        for name, sizes in effort.pick(_QUICK, _FULL).items()
        for size in sizes
    ]
    return values + [fit.part for fit in _fits(effort).values()]


def _values(name: str, size: int, count: int) -> dict[str, Any]:
    """Return the mean value for every number of roundings, and of the best known."""
    gram, moment = trained_equations(name, size)
    chosen = np.sort(np.random.default_rng(0).permutation(len(moment))[:count])
    small, right = np.ascontiguousarray(gram[chosen]), np.ascontiguousarray(moment[chosen])

    def mean(label: str, **changes: Any) -> float:
        batch, _ = solved(solver(label, changes=changes), small, right)
        return float(values_of(batch, small, right).mean())

    found = [mean("enhanced_gd", n_draws=n, screened=True) for n in _DRAWS]
    return {"data": name, "D": size, "values": found, "best": min(*found, mean("auto"))}


def _fits(effort: Effort) -> dict[tuple[str, bool, int], Fit]:
    data: Any = effort.pick({"D1": (8, 2, 1)}, {"D1": (16, 12, 5), "D2": (8, 10, 2)})
    return {
        (name, guarded, n): Fit(name, size, "enhanced_gd", sweeps, seeds, n_draws=n, guarded=guarded)
        for name, (size, sweeps, seeds) in data.items()
        for guarded in (True, False)
        for n in effort.pick((1, 100, 1000), _DRAWS)
    }


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Show values above the best known and errors by the number of roundings."""
    rows, trials, above = [], [], []
    lines: Lines = {}
    curves: Lines = {}
    for one in (data for key, data in found.items() if key.startswith("roundings")):
        name, size, best = one["data"], one["D"], one["best"]
        values = dict(zip(_DRAWS, one["values"], strict=True))
        for n, value in values.items():
            share = 100 * (value - best) / abs(best)
            added(lines, f"{name}, D = {size}", n, max(share, 1e-4))
            rows.append({"what": "value", "data": name, "D": size, "I_rand": n, "mean": value, "% above best": share})
        told = f"{values[50]:.4f}, {values[100]:.4f}, {values[1000]:.4f} (best known {best:.4f})"
        same = same_error(values[50], values[1000]) and same_error(values[100], values[1000])
        trials.append(Trial(f"values, {name}, D = {size}", told, same))
        above.append(100 * (values[100] - values[1000]) / abs(values[1000]))
    ends = {place: last_errors(found[fit.key]) for place, fit in _fits(effort).items()}
    for (name, guarded, n), kept in ends.items():
        label = f"{name}, {'with' if guarded else 'without'} safeguards"
        added(curves, label, n, float(kept.mean()))
        row = {"what": label, "data": name, "D": None, "I_rand": n, "mean": float(kept.mean()), "% above best": None}
        rows.append(row)
        if n == 100:
            most = ends[name, guarded, 1000]
            told = f"{kept.mean():.4f} with 100, {most.mean():.4f} with 1000"
            same = same_error(float(kept.mean()), float(most.mean()), deviation(kept))
            trials.append(Trial(f"training error, {label}", told, same))
    return Result(
        "The roundings: values and training errors by I_rand",
        rows,
        [
            Panel("Values of BQPs", "I_rand", "% above the best known (1e-4: none)", lines, log_x=True, log_y=True),
            Panel("Fits", "I_rand", "training RMSE", curves, log_x=True),
        ],
        [
            Claim(
                "Section III-C",
                "'a sufficient but not excessive I_rand (for instance, 50 <= I_rand <= 100)' is good enough",
                "values with 50, 100 and 1000 roundings, and training errors with 100 and 1000",
                trials,
                brief=f"with 100 roundings values are up to {max(above):.1f}% above those with 1000",
                listed=False,
            )
        ],
        table=_table(rows),
    )


def _table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each problem and fit, a column for each number of roundings."""
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        value = row["what"] == "value"
        label = f"% above the best value, {row['data']}, D = {row['D']}" if value else f"training RMSE, {row['what']}"
        cells = table.setdefault(label, {"what": label})
        cells[f"I_rand = {row['I_rand']}"] = abs(row["% above best"]) if value else row["mean"]
    return list(table.values())
