"""Fig. 5: training error by sweep, quasi-Newton beside the gradient methods, D1, D = 20."""

from reproduce.common import Panel, Tables, curves, fitted, lines_of


def run(quick: bool = False) -> Tables:
    """Fit D1 with the dual methods."""
    sweeps, starts = (2, 1) if quick else (10, 10)
    labels = ("quasi_newton", "gd", "enhanced_gd", "newton")
    return {"figure_5": curves("D1", {label: fitted("D1", 20, label, sweeps, starts) for label in labels})}


def panels(tables: Tables) -> list[Panel]:
    """Draw the means."""
    return [
        Panel("D1, D = 20", "sweep", "training RMSE", lines_of(tables["figure_5"], "solver", "sweep", "training RMSE"))
    ]
