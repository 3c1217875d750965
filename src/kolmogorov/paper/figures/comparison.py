"""Training error by sweep, for the figures that compare solvers by it."""

from __future__ import annotations

from typing import Any

from kolmogorov.paper.fits import apart, curve_rows, curves_panel
from kolmogorov.paper.result import Claim, Part, Result, verdict


def compared(
    where: str,
    title: str,
    says: dict[str, str],
    wanted: dict[str, dict[str, Part]],
    found: dict[str, Any],
    similar: float,
    sentences: list[str],
) -> Result:
    """Compare the solvers of each dataset; similar are those whose means are no further apart than `similar`."""
    rows, panels, claims = [], [], []
    for name, by_label in wanted.items():
        fits = {label: found[part.key] for label, part in by_label.items() if part.key in found}
        text, distance, _ = apart(fits)
        rows += curve_rows(name, fits)
        panels.append(curves_panel(name, fits))
        claims.append(Claim(where, f"{name}: {says[name]}", text, verdict(distance <= similar)))
    return Result(title, rows, panels, claims, sentences, shown=False)
