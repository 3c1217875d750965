"""Training error by sweep, for the figures that compare solvers by it."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.data import training_curve
from kolmogorov.paper.result import Effort, Panel


def training_panels(
    wanted: dict[str, tuple[int, int, tuple[str, ...]]], effort: Effort
) -> tuple[list[Panel], dict[str, list[Any]], dict[str, dict[str, float]]]:
    """Fit every (data: (D, sweeps, labels)); return panels, the long table, and the last errors."""
    columns: dict[str, list[Any]] = {name: [] for name in ("data", "solver", "sweep", "training RMSE")}
    panels, last = [], {}
    for name, (size, sweeps, labels) in wanted.items():
        lines: dict[str, tuple[list[Any], list[float]]] = {}
        for label in labels:
            effort.say(f"{name}, {label}, D = {size}")
            history = training_curve(name, size, label, sweeps).history_
            lines[label] = ([s.sweep for s in history], [s.rmse for s in history])
            for sweep in history:
                for column, cell in zip(columns.values(), (name, label, sweep.sweep, sweep.rmse), strict=True):
                    column.append(cell)
        last[name] = {label: errors[-1] for label, (_, errors) in lines.items()}
        panels.append(Panel(f"{name}, D = {size}", "sweep", "training RMSE", lines))
    return panels, columns, last


def spread_sentence(name: str, errors: dict[str, float]) -> str:
    """Say how far apart the solvers end."""
    low, high = min(errors, key=errors.__getitem__), max(errors, key=errors.__getitem__)
    return (
        f"{name}: the training errors end between {errors[low]:.4f} ({low}) and {errors[high]:.4f} ({high}), "
        f"{100 * (errors[high] / errors[low] - 1):.1f}% apart."
    )
