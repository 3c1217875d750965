"""Fig. 4: training error by sweep, all solvers, D = 8."""

from reproduce.common import Panel, Tables, available, curves, fitted, lines_of

LABELS = ("sdr", "dmo", "gd", "enhanced_gd", "newton", "auto")
#: Sweeps on D2 of what takes long.
SHORT = {"sdr": 5, "dmo": 8, "gd": 8, "newton": 8}


def run(quick: bool = False) -> Tables:
    """Fit D1 and u1.base with every solver of the paper, and ours."""
    starts = 1 if quick else 10
    rows = curves("D1", {label: fitted("D1", 8, label, 2 if quick else 12, starts) for label in available(LABELS)})
    if not quick:
        rows += curves(
            "D2", {label: fitted("D2", 8, label, SHORT.get(label, 20), starts) for label in available(LABELS)}
        )
    return {"figure_4": rows}


def panels(tables: Tables) -> list[Panel]:
    """Draw the means."""
    by_data = {data: [row for row in tables["figure_4"] if row["data"] == data] for data in ("D1", "D2")}
    return [
        Panel(data, "sweep", "training RMSE", lines_of(rows, "solver", "sweep", "training RMSE"))
        for data, rows in by_data.items()
        if rows
    ]
