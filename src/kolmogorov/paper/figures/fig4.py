"""Fig. 4: training error by sweep, all solvers."""

from __future__ import annotations

from kolmogorov.paper.figures.curves import spread_sentence, training_panels
from kolmogorov.paper.result import Effort, Result


def run(effort: Effort) -> Result:
    """Fit D1 and D2 at D = 8 with every solver of the paper, and ours."""
    labels: tuple[str, ...] = ("sdr", "dmo", "gd", "enhanced_gd", "newton", "auto")
    wanted: dict[str, tuple[int, int, tuple[str, ...]]] = {
        "D1": (8, effort.pick(3, 12), labels),
        "D2": (8, effort.pick(2, 8), labels),
    }
    panels, columns, last = training_panels(wanted, effort)
    sentences = [spread_sentence(name, errors) for name, errors in last.items()]
    sentences.append("The paper finds the same training error for all solvers; so do we.")
    if max(max(e.values()) / min(e.values()) for e in last.values()) > 1.02:
        sentences[-1] = "The paper finds the same training error for all solvers; ours differ by more than 2%."
    return Result("Fig. 4: training error by sweep (D = 8)", columns, panels, sentences)
