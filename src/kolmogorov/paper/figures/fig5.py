"""Fig. 5: training error by sweep, quasi-Newton against the descents."""

from __future__ import annotations

from kolmogorov.paper.figures.curves import spread_sentence, training_panels
from kolmogorov.paper.result import Effort, Result


def run(effort: Effort) -> Result:
    """Fit D1 at D = 20 with the dual methods."""
    labels = ("quasi_newton", "gd", "enhanced_gd", "newton")
    panels, columns, last = training_panels({"D1": (20, effort.pick(3, 10), labels)}, effort)
    return Result(
        "Fig. 5: training error by sweep, quasi-Newton (D1, D = 20)",
        columns,
        panels,
        [spread_sentence("D1", last["D1"])],
    )
