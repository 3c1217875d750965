"""Fig. 8: influence scores by item, enhanced_gd and sdr, u1.base, D = 8."""

from itertools import combinations
from typing import Any

import numpy as np

from reproduce.common import Panel, Tables, available, fitted, split


def influence(psi: Any) -> Any:
    """Return each item's share of items whose support lies in its own."""
    outside = psi.astype(float) @ (1.0 - psi.astype(float)).T
    return (outside == 0).mean(axis=0)


def run(quick: bool = False) -> Tables:
    """Fit by both from the same starts; two starts of one solver are what their likeness is measured by."""
    train, _ = split("D2")
    sweeps, starts = (1, 2) if quick else (5, 10)
    scores = {
        label: [influence(psi) for psi in fitted("D2", 8, label, sweeps, starts).psi]
        for label in available(("enhanced_gd", "sdr"))
    }
    items = train.items.ids[train.columns.counts > 0]
    means = {label: np.mean(kept, axis=0) for label, kept in scores.items()}
    rows = [
        {"item": int(item), **{label: float(mean[k]) for label, mean in means.items()}} for k, item in enumerate(items)
    ]
    own = [np.corrcoef(a, b)[0, 1] for a, b in combinations(scores["enhanced_gd"], 2)]
    table = [{"what": "correlation of two starts of enhanced_gd", "mean": float(np.mean(own))}]
    if "sdr" in scores:
        across = [np.corrcoef(a, b)[0, 1] for a, b in zip(*scores.values(), strict=True)]
        table.append({"what": "correlation of enhanced_gd and sdr from the same start", "mean": float(np.mean(across))})
    for label, kept in scores.items():
        ones = [int((score == 1.0).sum()) for score in kept]
        table.append({"what": f"items of influence 1, {label}", "mean": float(np.mean(ones))})
    return {"figure_8": rows, "figure_8_likeness": table}


def panels(tables: Tables) -> list[Panel]:
    """Draw the scores by rank."""
    rows = sorted(tables["figure_8"], key=lambda row: -row["enhanced_gd"])
    labels = [name for name in rows[0] if name != "item"]
    lines = {label: (list(range(len(rows))), [row[label] for row in rows]) for label in reversed(labels)}
    return [Panel("Influence, mean over starts", "item, by its score with enhanced_gd", "score", lines)]
