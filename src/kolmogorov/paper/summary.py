"""The first page for a reader of the paper: how it was read, what to use instead, what the solvers cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kolmogorov.paper.data import NEAREST

#: Solvers whose costs are listed, and the columns of Table IV that say them.
_LISTED = ("sdr", "dmo", "quasi_newton", "gd", "enhanced_gd", "enhanced_gd lanczos", "newton", "auto")


def front_page(kinds: Mapping[str, int], environments: list[str], seconds: float, quick: bool) -> list[str]:
    """Return the page's first lines."""
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    constants = ", ".join(f"{name} {value:g}" for name, value in NEAREST.items())
    return [
        "# The paper, reproduced",
        "",
        "After this page you know which findings hold of *Dual Optimization for Kolmogorov Model Learning Using "
        "Enhanced Gradient Descent* (Duan, Ghauch, Kim): every table and figure beside the printed numbers, "
        "computed by `kolmogorov paper all`.",
        "",
        *(["**A quick run**: few sweeps, one start, little data. Its verdicts are provisional.", ""] if quick else []),
        f"Of {sum(kinds.values())} claims: {counted}. *Reproduced*: we find it. *Not reproduced*: we do not find it. "
        "*Contradicted*: we find the opposite. Verdicts and sentences are computed from the numbers.",
        "",
        "- **Data.** D1 is the toy (20 x 40, uniform). D2 is MovieLens 100K split as u1.base / u1.test: all seven rows "
        "of Table VI are those of users in u1.base. D3 is MovieLens 1M, 80% at random (the paper does not say which).",
        "- **Times** are per sweep, the paper's unit ('averaged over BCD iterations'), on one thread; the paper's were "
        "taken with MATLAB on an i7-7700.",
        "- **Left open by the paper**: the first step, the Armijo constants and the tolerance of the descent. Ours "
        f"are those nearest to its Table II: {constants} (`KolmogorovModel.as_in_paper`). Lanczos runs have a = 1, to "
        "which its Fig. 6 belongs.",
        "- **One thing is ours**: an item keeps its support where rounding found a worse one. Fits leave out EVDs of "
        "trial points that are ruled out by a bound (`screened=True`); the points visited are the same. Counts of EVDs "
        "are without it.",
        f"- Computed with {'; '.join(environments)}; all parts together took {seconds / 60:.0f} minutes (those that "
        "two items share counted twice).",
        "",
        "**What we use instead.** For the BQP: `auto` (exhaustive up to 16 events, local search above), which is exact "
        "where the paper's methods round; for the relaxation and its bound: `newton` (the dual is the "
        "nearest-correlation-matrix problem of Qi and Sun, 2006). For prediction: shrinking theta to the mean of all "
        "users instead of to uniform, learning from the table that draws complete (`KolmogorovModel()`), and averaging "
        "draws (`BayesianKolmogorovModel`). For reading: implications in "
        "the direction that holds, each beside its base rate.",
        "",
    ]


def costs(rows: list[dict[str, Any]], markdown: Callable[[list[dict[str, Any]]], list[str]]) -> list[str]:
    """Return EVDs and seconds of every solver on D2's items (quasi-Newton: D1's), by D."""
    sizes = sorted({row["D"] for row in rows if row["data"] == "D2"})
    at = {(row["data"], row["solver"], row["D"]): row for row in rows}
    table = []
    for label in _LISTED:
        cells: dict[str, Any] = {"solver": label}
        name = "D1" if label == "quasi_newton" else "D2"
        for size in sizes:
            row = at.get((name, label, size))
            cells[f"D = {size}"] = "" if row is None else _cost(row)
        table.append(cells if name == "D2" else {**cells, "solver": f"{label} (D1)"})
    return [
        "Milliseconds per BQP on one thread / eigendecompositions per BQP (full + Lanczos) / mean value above the best "
        "found, on items of u1.base:",
        "",
        *markdown(table),
    ]


def _cost(row: dict[str, Any]) -> str:
    items = int(row["items timed"].split(" of ")[1])
    evds = "-" if row["EVDs"] is None else f"{row['EVDs']:.0f}"
    if row["Lanczos runs"]:
        evds += f" + {row['Lanczos runs']:.0f}"
    return f"{1e3 * row['s per sweep'] / items:.3g} / {evds} / {row['value above best']:.2g}"
