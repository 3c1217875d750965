"""Fig. 8: influence scores by item, enhanced_gd and sdr."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.paper.claims import Claim, Trial
from kolmogorov.paper.fits import Fit
from kolmogorov.paper.result import Effort, Panel, Part, Result


def _wanted(effort: Effort) -> dict[str, Part]:
    sweeps, seeds = effort.pick(1, 5), effort.pick(1, 10)
    return {label: Fit("D2", 8, label, sweeps, seeds).part for label in ("enhanced_gd", "sdr")}


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
    order = np.argsort(-means["enhanced_gd"])
    lines = {label: (list(range(len(items))), mean[order].tolist()) for label, mean in means.items()}
    own = [_correlation(a, b) for a, b in combinations(scores["enhanced_gd"], 2)]
    claims = []
    if "sdr" in scores and own:
        across = [_correlation(a, b) for a, b in zip(scores["enhanced_gd"], scores["sdr"], strict=True)]
        claims.append(
            Claim(
                "Fig. 8",
                "the influence scores of enhanced_gd and sdr are 'quite similar'",
                "u1.base, D = 8 as printed; similar are scores that differ no more than two starts of enhanced_gd do",
                [
                    Trial(
                        "",
                        f"they correlate by {np.mean(across):.2f} from the same start; two starts of enhanced_gd by "
                        f"{np.mean(own):.2f}",
                        bool(np.mean(across) >= np.mean(own)),
                    )
                ],
            )
        )
    ones = {label: np.mean([(score == 1.0).sum() for score in kept]) for label, kept in scores.items()}
    return Result(
        "Fig. 8: influence scores by item (u1.base, D = 8)",
        rows,
        [
            Panel(
                "Influence scores, mean over starts",
                "item, by its score with enhanced_gd",
                "score",
                lines,
                points=("sdr",),
            )
        ],
        claims,
        [
            f"{len(scores['enhanced_gd'])} starts; items of influence 1: "
            + ", ".join(f"{count:.1f} ({label})" for label, count in ones.items())
            + "."
        ],
        table=[],
    )


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(np.corrcoef(one, other)[0, 1])
