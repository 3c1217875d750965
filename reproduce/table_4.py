"""Table IV: seconds per sweep for the BQPs as D grows, and what else they cost."""

import numpy as np

from kolmogorov.solvers import bqp
from reproduce.common import (
    AS,
    Panel,
    Row,
    Tables,
    available,
    beside_print,
    lanczos,
    mean,
    solver,
    timed,
    trained_problems,
)
from reproduce.printed import TABLE_4

SIZES = {"D1": (4, 8, 12, 16, 20, 50, 100), "D2": (4, 8, 12, 16, 20, 50, 100), "D3": (8, 12, 20)}
LABELS = ["sdr", "dmo", "gd", "enhanced_gd", *map(lanczos, AS), "enhanced_gd, warm", "newton", "newton, warm", "auto"]
#: Up to which D a solver is timed, and on how many items where one takes seconds.
LARGEST, FEW = {"dmo": 20}, {("sdr", 50): 4, ("sdr", 100): 2, ("dmo", 20): 10}
#: The paper does not tell the a of its row.
SHOWN = lanczos(10.0)


def compared(data: str, size: int, quick: bool) -> list[Row]:
    """Time every solver on the same items, drawn once; seconds are of those items, times their number in a sweep.

    Warm ones start from the dual points of the sweep before.
    """
    (gram, moment), before = trained_problems(data, size), trained_problems(data, size, 2)
    order = np.random.default_rng(0).permutation(len(moment))[: 8 if quick else 40]
    rows, best = [], np.full(len(moment), np.inf)
    for label in available(LABELS[3:] if data == "D3" else LABELS):
        if size <= LARGEST.get(label, 100):
            chosen = np.sort(order[: FEW.get((label, size), len(order))])
            method, start = solver(label), None
            if label.endswith("warm"):
                last = bqp.solve_many(*(array[chosen] for array in before), solver=method)
                start = [solution.dual for solution in last]
            found, seconds = timed(method, gram[chosen], moment[chosen], start)
            values = np.array([solution.value for solution in found])
            best[chosen] = np.minimum(best[chosen], values)
            norms = [solution.gradient_norm for solution in found if solution.gradient_norm is not None]
            seconds *= len(moment) / len(chosen)
            paper = TABLE_4[data].get("lanczos" if label == SHOWN else label, {}).get(size)
            row: Row = {"data": data, "D": size, "solver": label, "seconds": seconds, "paper s": paper}
            row |= {"paper / ours": paper and paper / seconds, "items timed": len(chosen), "items": len(moment)}
            row |= {"ms per BQP": 1e3 * seconds / len(moment), "EVDs": mean(found, "n_evd")}
            row |= {"Lanczos runs": mean(found, "n_lanczos") or None, "iterations": mean(found, "iterations")}
            row |= {"gradient norm": float(np.median(norms)) if norms else None, "value above best": (chosen, values)}
            rows.append(row)
    (usual,) = (row["seconds"] for row in rows if row["solver"] == "enhanced_gd")
    printed = TABLE_4[data]["enhanced_gd"].get(size)
    for row in rows:
        chosen, values = row["value above best"]
        row["value above best"] = float((values - best[chosen]).mean())
        row["over enhanced_gd"] = row["seconds"] / usual
        row["paper over enhanced_gd"] = row["paper s"] and row["paper s"] / printed
    return rows


def run(quick: bool = False) -> Tables:
    """Time all datasets and sizes on one thread."""
    sizes = {"D1": (8,)} if quick else SIZES
    rows = [row for data, line in sizes.items() for size in line for row in compared(data, size, quick)]
    return {"table_4": sorted(rows, key=lambda row: (row["data"], LABELS.index(row["solver"])))}


def panels(tables: Tables) -> list[Panel]:
    """Draw seconds of the paper's solvers, ours and printed."""
    shown = [row for row in tables["table_4"] if row["solver"] in ("sdr", "dmo", "gd", "enhanced_gd", SHOWN)]
    return [beside_print(shown, data, "solver", "seconds", "paper s", log=True) for data in ("D1", "D2")]
