"""Fig. 6: error of the approximate EVD by m, its bounds of Lemma 2, and where the threshold stops; D1, D = 12."""

from typing import Any

import numpy as np

from kolmogorov.solvers.lanczos import threshold
from reproduce.common import AS, Panel, Tables
from reproduce.lemmas import COLUMNS, final_matrix, lanczos_run, ritz_errors

SIZE = 12


def run(quick: bool = False) -> Tables:
    """Run Lanczos with m = 1, 2, ... on C at the end of descents; geometric means and medians over realisations."""
    errors: list[Any] = []
    deltas, stops = [], []
    for seed in range(3 if quick else 100):
        matrix, start = final_matrix(SIZE, seed)
        true = np.linalg.eigvalsh(matrix)
        diagonal, off = lanczos_run(matrix, start)
        found: list[Any] = [ritz_errors(true, diagonal, off, m) for m in range(1, SIZE + 1)]
        errors.append(np.maximum([*found, np.zeros(len(COLUMNS))], 1e-17))
        deltas.append([threshold(matrix, a) for a in AS])
        stops.append([next((m for m in range(1, SIZE + 1) if off[m] <= delta), SIZE + 1) for delta in deltas[-1]])
    means = np.exp(np.log(errors).mean(axis=0))
    rows = [{"m": m, **dict(zip(COLUMNS, map(float, means[m - 1]), strict=True))} for m in range(1, SIZE + 1)]
    table = []
    for k, a in enumerate(AS):
        ms = [line[k] for line in stops]
        modulus, largest = (np.median([e[m - 1, j] for e, m in zip(errors, ms, strict=True)]) for j in (4, 5))
        row = {"a": a, "m of 13": int(np.median(ms)), "least m": min(ms), "most m": max(ms)}
        row |= {"error, largest modulus": modulus, "error, algebraically largest": largest}
        table.append(row | {"delta": np.exp(np.log([line[k] for line in deltas]).mean())})
    return {"figure_6": rows, "figure_6_stops": table}


def panels(tables: Tables) -> list[Panel]:
    """Draw errors and bounds by m, with three thresholds."""
    rows = tables["figure_6"]
    lines = {name: ([row["m"] for row in rows], [row[name] for row in rows]) for name in COLUMNS}
    levels = {f"delta, a = {row['a']:g}": row["delta"] for row in tables["figure_6_stops"] if row["a"] in (1, 10, 100)}
    return [Panel("Approximate EVD", "m", "error or bound", lines, levels=levels, log=True)]
