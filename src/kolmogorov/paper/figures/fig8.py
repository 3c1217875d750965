"""Fig. 8: influence scores by item, enhanced_gd and sdr."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.paper.fits import fit_part
from kolmogorov.paper.result import Claim, Effort, Panel, Part, Result, verdict


def _wanted(effort: Effort) -> dict[str, Part]:
    return {label: fit_part("D2", 8, label, effort.pick(1, 5), effort.pick(1, 10)) for label in ("enhanced_gd", "sdr")}


def parts(effort: Effort) -> list[Part]:
    """Fit u1.base at D = 8 by both, from the same starts."""
    return list(_wanted(effort).values())


def influence(codes: Any) -> NDArray[np.float64]:
    """Return each item's share of items whose support lies in its own, from supports written as numbers."""
    supports = np.asarray(codes)
    kinds, inverse, counts = np.unique(supports, return_inverse=True, return_counts=True)
    inside = (kinds[:, None] & ~kinds[None, :]) == 0
    return np.asarray((counts @ inside) / counts.sum())[inverse]


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Compare scores between solvers, and between starts of one solver."""
    scores = {
        label: [influence(codes) for codes in found[part.key]["supports"]]
        for label, part in _wanted(effort).items()
        if part.key in found
    }
    items = next(iter(found.values()))["items"]
    means = {label: np.mean(kept, axis=0) for label, kept in scores.items()}
    rows = [{"item": item, **{label: float(mean[k]) for label, mean in means.items()}} for k, item in enumerate(items)]
    lines = {label: (items, mean.tolist()) for label, mean in means.items()}
    own = [_correlation(a, b) for a, b in combinations(scores["enhanced_gd"], 2)]
    sentences = [f"{len(kept)} starts of {label}" for label, kept in scores.items()]
    claims = []
    if "sdr" in scores:
        across = [_correlation(a, b) for a, b in zip(scores["enhanced_gd"], scores["sdr"], strict=True)]
        between = f"; between two starts of enhanced_gd {np.mean(own):.2f}" if own else ""
        claims.append(
            Claim(
                "Fig. 8",
                "the influence scores of enhanced_gd and sdr are 'quite similar'",
                f"they correlate by {np.mean(across):.2f} on average from the same start{between}",
                verdict(float(np.mean(across)) > 0.8),
            )
        )
    ones = {label: np.mean([(score == 1.0).sum() for score in kept]) for label, kept in scores.items()}
    return Result(
        "Fig. 8: influence scores by item (u1.base, D = 8)",
        rows,
        [Panel("Influence scores, mean over starts", "item", "score", lines)],
        claims,
        [
            f"{', '.join(sentences)}; items of influence 1: "
            + ", ".join(f"{count:.1f} ({label})" for label, count in ones.items())
            + "."
        ],
        shown=False,
    )


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.corrcoef(one, other)[0, 1])
