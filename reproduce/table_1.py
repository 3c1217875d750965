"""Table I: seconds per sweep for the 40 BQPs of D1 by gamma, D = 16."""

import numpy as np

from kolmogorov import solvers
from reproduce.common import NEAREST, Row, Tables, deviation, mean, timed, toy_problems
from reproduce.printed import TABLE_1

COUNTS = {"EVDs": "n_evd", "iterations": "iterations"}


def run(quick: bool = False) -> Tables:
    """Time both descents on realisations of D1; EVDs and iterations are per BQP."""
    rows: list[Row] = []
    for start in (1.0, 50.0):
        for gamma in (10, 100, 1000):
            for name, printed in TABLE_1.items():
                method = solvers.resolve("binary", name, **NEAREST | {"gamma": float(gamma), "initial_dual": start})
                runs = [timed(method, *toy_problems(16, seed)) for seed in range(2 if quick else 10)]
                seconds = [spent for _, spent in runs]
                row: Row = {"u_0": int(start), "gamma": gamma, "solver": name}
                row |= {"seconds": np.mean(seconds), "sd": deviation(seconds)}
                row |= {of: np.mean([mean(found, n) for found, _ in runs]) for of, n in COUNTS.items()}
                rows.append(row | {"paper s": printed[gamma]})
    return {"table_1": rows}
