"""Fig. 7: training error with the exact and the approximate EVD, by Algorithm 4 as printed."""

from reproduce.common import AS, Panel, Row, Tables, curves, fitted, lanczos, lines_of

#: Sizes at which the paper's Table IV uses the approximate EVD, the starts of each, and the line of a.
FULL: dict[str, dict[int, tuple[int, tuple[float, ...]]]] = {
    "D1": {20: (10, AS), 50: (5, AS), 100: (3, AS)},
    "D2": {20: (1, AS)},
    "D3": {8: (1, AS), 12: (1, (1.0, 10.0, 30.0))},
}
QUICK: dict[str, dict[int, tuple[int, tuple[float, ...]]]] = {"D1": {20: (1, (1.0, 10.0))}}


def run(quick: bool = False) -> Tables:
    """Fit all three datasets with both variants of the enhanced descent, and compare where they end."""
    rows: list[Row] = []
    ends: list[Row] = []
    for data, sizes in (QUICK if quick else FULL).items():
        sweeps = 2 if quick else 10 if data == "D1" else 5
        for size, (starts, line) in sizes.items():
            labels = ("enhanced_gd", *map(lanczos, line))
            fits = {label: fitted(data, size, f"{label}, as printed", sweeps, starts) for label in labels}
            rows += curves(data, fits, D=size)
            exact = fits["enhanced_gd"].last.mean()
            for a in line:
                more = 100 * (fits[lanczos(a)].last.mean() / exact - 1)
                ends.append({"data": data, "D": size, "a": a, "% above the exact EVD": more})
    return {"figure_7": rows, "figure_7_ends": ends}


def panels(tables: Tables) -> list[Panel]:
    """Draw the smallest D of each dataset."""
    found = []
    for data in dict.fromkeys(row["data"] for row in tables["figure_7"]):
        size = min(row["D"] for row in tables["figure_7"] if row["data"] == data)
        rows = [row for row in tables["figure_7"] if (row["data"], row["D"]) == (data, size)]
        lines = lines_of(rows, "solver", "sweep", "training RMSE")
        found.append(Panel(f"{data}, D = {size}", "sweep", "training RMSE", lines))
    return found
