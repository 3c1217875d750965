"""Table III: seconds per sweep at D = 8, the users' and the items' step apart."""

import numpy as np

from kolmogorov import KolmogorovModel
from reproduce.common import RIDGES, Row, Tables, available, solver, split
from reproduce.printed import TABLE_3

LABELS = ("sdr", "dmo", "gd", "enhanced_gd", "newton", "auto")


def run(quick: bool = False) -> Tables:
    """Fit D1 and u1.base on one thread, Frank-Wolfe for the users; medians over sweeps."""
    rows = []
    for data in ("D1",) if quick else ("D1", "D2"):
        for label in available(LABELS):
            sweeps = 2 if quick else 3 if (label, data) == ("sdr", "D2") else 5
            settings = {"user_reg": RIDGES[data][0], "item_solver": solver(label), "n_jobs": 1}
            # What is compiled the first time is no part of the method.
            KolmogorovModel.as_in_paper(8, max_iter=1, **settings).fit(split("D1")[0])
            history = []
            for seed in range(10 if data == "D1" and not quick else 1):
                model = KolmogorovModel.as_in_paper(8, max_iter=sweeps, random_state=seed, **settings)
                history += model.fit(split(data, seed)[0]).history_
            items = float(np.median([sweep.item_seconds for sweep in history]))
            users_paper, items_paper = TABLE_3[data].get(label, (None, None))
            users = float(np.median([sweep.user_seconds for sweep in history]))
            row: Row = {"data": data, "solver": label, "LCQP s": users, "paper LCQP s": users_paper}
            row |= {"BQP s": items, "paper BQP s": items_paper, "paper / ours": items_paper and items_paper / items}
            rows.append(row)
    return {"table_3": rows}
