"""Table III: seconds per sweep, the users' and the items' step apart."""

from __future__ import annotations

import numpy as np

from kolmogorov.paper.data import training_curve
from kolmogorov.paper.printed import TABLE_3
from kolmogorov.paper.result import Effort, Panel, Result

_LABELS = ("sdr", "dmo", "gd", "enhanced_gd", "auto")


def run(effort: Effort) -> Result:
    """Fit D1 and D2 at D = 8 on one thread with Frank-Wolfe for the users and each solver for the items."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("data", "solver", "LCQP s", "paper LCQP s", "BQP s", "paper BQP s", "paper / ours")
    }
    times: dict[str, dict[str, float]] = {"D1": {}, "D2": {}}
    for name, measured in times.items():
        for label in _LABELS:
            effort.say(f"{name}, {label}")
            sweeps = effort.pick(2, 5) if name == "D1" or label != "sdr" else effort.pick(1, 2)
            history = training_curve(name, 8, label, sweeps, n_jobs=1).history_
            users = float(np.median([s.user_seconds for s in history]))
            items = measured[label] = float(np.median([s.item_seconds for s in history]))
            paper = TABLE_3[name].get(label)
            ratio = None if paper is None else paper[1] / items
            row = (name, label, users, paper and paper[0], items, paper and paper[1], ratio)
            for column, cell in zip(columns.values(), row, strict=True):
                column.append(cell)
    order = {name: sorted(TABLE_3[name], key=measured.__getitem__) for name, measured in times.items()}
    lines = {name: (list(m), [1e3 * t for t in m.values()]) for name, m in times.items()}
    return Result(
        title="Table III: seconds per sweep, D = 8",
        columns=columns,
        panels=[Panel("Item step of a sweep", "solver", "milliseconds", lines, log_y=True, bars=True)],
        sentences=[
            f"From fastest to slowest: {', '.join(order['D1'])} on D1 and {', '.join(order['D2'])} on D2; in the paper "
            "enhanced_gd, gd, dmo, sdr on both. Our dmo is compiled and D = 8 is small, which puts it first.",
            f"auto takes {1e3 * times['D2']['auto']:.1f} ms for the item step on D2, "
            f"{times['D2']['enhanced_gd'] / times['D2']['auto']:.0f} times less than enhanced_gd.",
        ],
    )
