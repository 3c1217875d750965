"""Fig. 3: training error by gamma, D1, D = 16."""

from reproduce.common import Panel, Tables, curves, fitted, lines_of


def run(quick: bool = False) -> Tables:
    """Fit D1 with both descents for three gammas."""
    sweeps, starts = (2, 1) if quick else (15, 10)
    fits = {
        f"{label}, gamma {gamma}": fitted("D1", 16, label, sweeps, starts, gamma=float(gamma))
        for label in ("gd", "enhanced_gd")
        for gamma in (10, 100, 1000)
    }
    return {"figure_3": curves("D1", fits)}


def panels(tables: Tables) -> list[Panel]:
    """Draw the means; the curves of gd and enhanced_gd are one."""
    return [
        Panel("D1, D = 16", "sweep", "training RMSE", lines_of(tables["figure_3"], "solver", "sweep", "training RMSE"))
    ]
