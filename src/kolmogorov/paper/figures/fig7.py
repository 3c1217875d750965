"""Fig. 7: training error, exact against approximate EVD."""

from __future__ import annotations

from kolmogorov.paper.figures.curves import spread_sentence, training_panels
from kolmogorov.paper.result import Effort, Result


def run(effort: Effort) -> Result:
    """Fit D1, D2 and D3 with both variants of the enhanced descent."""
    labels: tuple[str, ...] = ("enhanced_gd", "enhanced_gd lanczos", "auto")
    wanted: dict[str, tuple[int, int, tuple[str, ...]]] = {
        "D1": (8, effort.pick(3, 12), labels),
        "D2": (8, effort.pick(2, 8), labels),
    }
    wanted["D3"] = (8, effort.pick(1, 5), labels)
    panels, columns, last = training_panels(wanted, effort)
    sentences = [spread_sentence(name, errors) for name, errors in last.items()]
    return Result("Fig. 7: training error, exact against approximate EVD (D = 8)", columns, panels, sentences)
