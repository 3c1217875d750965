"""Table IV: seconds per sweep for the BQP as D grows, with EVDs and iterations beside them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kolmogorov.paper.data import AS, NEEDS, SOLVERS, lanczos, mean_of, solved, solver, trained_equations, values_of
from kolmogorov.paper.printed import TABLE_4
from kolmogorov.paper.result import PAPER, Effort, Lines, Panel, Part, Result, added, plain
from kolmogorov.paper.tables.speed import claims, equal_accuracy

SIZES: dict[str, tuple[int, ...]] = {
    "D1": (4, 8, 12, 16, 20, 50, 100),
    "D2": (4, 8, 12, 16, 20, 50, 100),
    "D3": (8, 12, 20),
}
_QUICK = {"D1": (8, 20), "D2": (8,)}
#: Up to which D a solver is timed, and on how many items where one takes seconds; the paper stops at 12 with both.
_LARGEST = {"sdr": 100, "dmo": 20}
_FEW = {("sdr", 50): 4, ("sdr", 100): 2, ("dmo", 20): 10}
#: Printed under this label; ours is shown beside it for an a from the middle of the line.
_LANCZOS = lanczos(10.0)


def parts(effort: Effort) -> list[Part]:
    """Time every solver on the same items of a dataset and size; sdr is a part of its own."""
    count = effort.pick(8, 40)
    found = []
    for name, sizes in effort.pick(_QUICK, SIZES).items():
        for size in sizes:
            labels = [label for label in _labels(name, size, effort) if label not in NEEDS]
            timed, key = partial(_timed, name, size), f"table4-seconds-{name}-D{size}"
            cost = (2.0 if name == "D1" else 8.0) + 5e-3 * size**2
            found.append(Part(f"{key}-{count}", partial(timed, labels, count), cost=cost, timed=True))
            if size <= (_LARGEST["sdr"] if not effort.quick else 12) and name != "D3":
                part = partial(timed, ["sdr"], count)
                found.append(Part(f"{key}-sdr-{count}", part, NEEDS["sdr"], cost=2.0 + 6e-3 * size**2, timed=True))
    for size in effort.pick((20,), (20, 50, 100)):
        part = partial(equal_accuracy, size, count)
        found.append(Part(f"table4-quasi_newton-D{size}-{count}", part, cost=6e-3 * size**2, timed=True))
    return found


def _labels(name: str, size: int, effort: Effort) -> list[str]:
    if name == "D3":
        return ["enhanced_gd", *map(lanczos, AS), "newton", "auto"]
    line = effort.pick((1.0, 10.0), AS) if size >= 12 else (1.0, 10.0)
    approximate = [lanczos(a, printed=printed) for a in line for printed in (False, True)]
    small = ["dmo"] if size <= _LARGEST["dmo"] else []
    return [*small, "gd", "enhanced_gd", *approximate, "newton", "auto"]


def _timed(name: str, size: int, labels: list[str], count: int) -> list[dict[str, Any]]:
    """Time the solvers on one thread on the same items, drawn once; dmo is told to give up an item after 20 s."""
    gram, moment = trained_equations(name, size)
    order = np.random.default_rng(0).permutation(len(moment))[:count]
    rows = []
    for label in labels:
        chosen = np.sort(order[: _FEW.get((label, size), count)])
        small, right = np.ascontiguousarray(gram[chosen]), np.ascontiguousarray(moment[chosen])
        batch, seconds = solved(solver(label), small, right)
        rows.append(
            {
                "data": name,
                "solver": label,
                "D": size,
                "seconds": seconds * len(moment) / len(chosen),
                "timed": chosen.tolist(),
                "items": len(moment),
                "EVDs": mean_of(batch.n_evd),
                "Lanczos": mean_of(batch.n_lanczos),
                "iterations": mean_of(batch.iterations),
                "gradient": None if batch.gradient_norm is None else float(np.median(batch.gradient_norm)),
                "values": [round(float(v), 9) for v in values_of(batch, small, right)],
            }
        )
    return rows


def present(found: dict[str, Any], effort: Effort) -> Result:
    """Set seconds beside the printed ones, with two kinds of cost and what came out."""
    at, equal = measured(found)
    rows = []
    for (name, label, size), row in sorted(at.items(), key=lambda pair: (pair[0][0], pair[0][2])):
        paper = printed(name, label, size)
        rows.append(
            {
                "data": name,
                "D": size,
                "solver": label,
                "s per sweep": row["seconds"],
                "paper s": paper,
                "paper / ours": paper and paper / row["seconds"],
                "items timed": f"{len(row['timed'])} of {row['items']}",
                "EVDs": row["EVDs"],
                "Lanczos runs": row["Lanczos"] or None,
                "iterations": row["iterations"],
                "gradient norm": row["gradient"],
                "value above best": row["above"],
            }
        )
    return Result(
        "Table IV: seconds per sweep for the BQP (D2 is u1.base, D3 a random 80%)",
        rows,
        [_panel(name, at) for name in dict.fromkeys(name for name, _, _ in at)],
        claims(at, equal),
        [
            "Cells are seconds, ours / printed; Lanczos has a = 10 (the item `threshold` has the line of a). One "
            "thread; every solver on the same items, drawn once; seconds are those of the items timed, times their "
            "number in a sweep. Bounds and norms of gradients are computed outside of the clock. All columns, EVDs and "
            "values too, are in `table4.csv`."
        ],
        table=_as_printed(at),
    )


def measured(found: dict[str, Any]) -> tuple[dict[tuple[str, str, int], dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows by data, solver and D, with their mean value above the best found; and quasi-Newton's."""
    timed = [row for key, rows in found.items() if key.startswith("table4-seconds") for row in rows]
    best: dict[tuple[str, int, int], float] = {}
    for row in timed:
        for item, value in zip(row["timed"], row["values"], strict=True):
            place = row["data"], row["D"], item
            best[place] = min(best.get(place, np.inf), value)
    at = {}
    for row in timed:
        above = [v - best[row["data"], row["D"], k] for k, v in zip(row["timed"], row["values"], strict=True)]
        at[row["data"], row["solver"], row["D"]] = {**row, "above": float(np.mean(above))}
    return at, [row for key, rows in found.items() if key.startswith("table4-quasi") for row in rows]


def printed(name: str, label: str, size: int) -> float | None:
    """Return what the paper prints, where it does; one row of it is for Lanczos, whose a it does not tell."""
    known = "lanczos" if label == _LANCZOS else label
    return TABLE_4[name].get(known, {}).get(size)


def _panel(name: str, at: dict[tuple[str, str, int], dict[str, Any]]) -> Panel:
    """Draw what the paper prints, and newton and auto; other a are in the item `threshold`."""
    lines: Lines = {}
    for label in ("sdr", "dmo", "gd", "enhanced_gd", _LANCZOS, "newton", "auto"):
        for size in SIZES[name]:
            row = at.get((name, label, size))
            added(lines, label, size, row["seconds"] if row else None)
            added(lines, PAPER + label.partition(",")[0], size, printed(name, label, size))
    kin = {f"{PAPER}lanczos": _LANCZOS}
    return Panel(name, "D", "seconds per sweep", lines, log_y=True, log_x=True, kin=kin)


def _as_printed(at: dict[tuple[str, str, int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the table in the paper's form: a row for each solver, a column for each D."""
    sizes = sorted({size for _, _, size in at})
    table = []
    for name, label in dict.fromkeys((name, label) for name, label, _ in at):
        if label == _LANCZOS or not label.startswith("lanczos"):
            cells = {"data": name, "solver": label}
            for size in sizes:
                row, paper = at.get((name, label, size)), printed(name, label, size)
                cells[f"D = {size}"] = "" if row is None else plain(row["seconds"]) + (f" / {paper:g}" if paper else "")
            table.append(cells)
    order = list(SOLVERS)
    return sorted(table, key=lambda cells: (cells["data"], order.index(cells["solver"])))
