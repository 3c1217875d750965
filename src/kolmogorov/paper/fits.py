"""Fits that several items look at: the training error by sweep, the test error, the supports."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.paper.data import ITEM_REG, NEEDS, USER_REG, solver, split
from kolmogorov.paper.result import Panel, Part

#: Sizes and datasets of which the supports are kept.
_KEPT = {("D2", 8)}


def fit_part(
    name: str,
    size: int,
    label: str,
    sweeps: int,
    seeds: int,
    *,
    user_reg: float | None = None,
    item_reg: float | None = None,
    gamma: float = 100.0,
) -> Part:
    """Describe fits from several starts; for D1 every start has its own realisation of the data."""
    users = USER_REG[name] if user_reg is None else user_reg
    items = ITEM_REG[name] if item_reg is None else item_reg
    key = f"fit-{name}-D{size}-{label.replace(' ', '_')}-{users:g}-{items:g}-gamma{gamma:g}-{sweeps}x{seeds}"
    return Part(key, lambda: _fits(name, size, label, sweeps, seeds, users, items, gamma), NEEDS.get(label))


def _fits(
    name: str, size: int, label: str, sweeps: int, seeds: int, user_reg: float, item_reg: float, gamma: float
) -> dict[str, Any]:
    found: dict[str, Any] = {"train": [], "test": [], "supports": []}
    changes = {"gamma": gamma} if gamma != 100.0 else {}
    for seed in range(seeds):
        train, test = split(name, seed if name == "D1" else 0)
        model = KolmogorovModel.as_in_paper(
            size,
            user_reg=user_reg,
            item_reg=item_reg,
            item_solver=solver(label, screened=True, changes=changes),
            max_iter=sweeps,
            random_state=seed,
        ).fit(train)
        found["train"].append([round(sweep.rmse, 7) for sweep in model.history_])
        if test is not None:
            found["test"].append(round(model.evaluate(test)["rmse"], 7))
        if (name, size) in _KEPT:
            seen = train.columns.counts > 0
            found["items"] = train.items.ids[seen].tolist()
            found["supports"].append((model.psi_[seen] @ (1 << np.arange(size))).tolist())
    return found


def mean_curve(found: dict[str, Any]) -> tuple[list[float], list[float], list[float]]:
    """Return the mean training error by sweep, and it less and plus a standard deviation."""
    curves = np.array(found["train"])
    mean, spread = curves.mean(axis=0), curves.std(axis=0, ddof=min(1, len(curves) - 1))
    return mean.tolist(), (mean - spread).tolist(), (mean + spread).tolist()


def curves_panel(title: str, found: dict[str, dict[str, Any]]) -> Panel:
    """Draw training error by sweep for every label."""
    lines: dict[str, tuple[list[Any], list[float]]] = {}
    bands = {}
    for label, fits in found.items():
        mean, low, high = mean_curve(fits)
        lines[label] = (list(range(1, len(mean) + 1)), mean)
        bands[label] = (low, high)
    return Panel(title, "sweep", "training RMSE", lines, bands=bands)


def curve_rows(name: str, found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the table behind `curves_panel`."""
    rows = []
    for label, fits in found.items():
        curves = np.array(fits["train"])
        for k in range(curves.shape[1]):
            column = curves[:, k]
            rows.append(
                {
                    "data": name,
                    "solver": label,
                    "sweep": k + 1,
                    "training RMSE": float(column.mean()),
                    "sd": float(column.std(ddof=min(1, len(column) - 1))),
                    "seeds": len(column),
                }
            )
    return rows


def last_errors(fits: dict[str, Any], sweeps: int | None = None) -> Any:
    """Return the training error after so many sweeps, or the last, for every start."""
    return np.array(fits["train"])[:, (sweeps or 0) - 1]


def apart(found: dict[str, dict[str, Any]]) -> tuple[str, float, float]:
    """Compare where the solvers end after as many sweeps as all have.

    Returns a sentence, the widest relative distance between two means, and the spread over starts relative to the mean.
    """
    sweeps = min(len(fits["train"][0]) for fits in found.values())
    ends = {label: last_errors(fits, sweeps) for label, fits in found.items()}
    means = {label: float(errors.mean()) for label, errors in ends.items()}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    distance = means[high] / means[low] - 1
    spread = max(float(errors.std(ddof=min(1, len(errors) - 1))) / means[low] for errors in ends.values())
    text = (
        f"after {sweeps} sweeps the mean training errors lie between {means[low]:.4f} ({low}) and {means[high]:.4f} "
        f"({high}), {100 * distance:.1f}% apart; a start's standard deviation is up to {100 * spread:.1f}%"
    )
    return text, distance, spread
