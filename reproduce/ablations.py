"""What the paper leaves open, one thing at a time; and what was tried where a number was not found."""

from functools import partial
from typing import Any

import numpy as np

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, datasets, solvers
from kolmogorov.solvers import bqp
from reproduce.common import (
    NEAREST,
    RidgeToMean,
    Row,
    Tables,
    fitted,
    lanczos,
    mean,
    solver,
    split,
    timed,
    toy_problems,
    trained_problems,
)
from reproduce.printed import TABLE_4, TABLE_5
from reproduce.table_2 import FIRST

DRAWS = (1, 3, 10, 30, 50, 100, 300, 1000)


def start(quick: bool = False) -> Tables:
    """u_0: EVDs of gd, of enhanced_gd and of its initial step by u_0, first step, tolerance and D, on D1."""
    methods = {"gd": {}, "enhanced_gd": {}, "initial step": {"initial_step": True}}
    settings = [
        {**NEAREST, "initial_dual": u, "step": step, "tol": tol}
        for u in (1.0, 10.0, 50.0, 100.0, 150.0)
        for step in (0.2, 1.0, 20.0)
        for tol in (1e-2, 1e-4)
    ]
    rows = []
    for size, count in ({4: 5, 8: 5} if quick else {4: 80, 8: 120, 16: 80, 50: 20, 100: 10}).items():
        problems = [toy_problems(size, seed) for seed in range(-(-count // 40))]
        gram, moment = (np.concatenate(arrays)[:count] for arrays in zip(*problems, strict=True))
        for options in (*settings[:: 6 if quick else 1], FIRST):
            row: Row = {"u_0": options["initial_dual"], "step": options["step"], "tol": options["tol"], "D": size}
            for label, more in methods.items():
                name = "gd" if label == "gd" else "enhanced_gd"
                found = bqp.solve_many(gram, moment, solver=name, max_iter=5_000, n_draws=1, **options, **more)
                row[label] = mean(found, "n_evd")
            rows.append(row | {"ratio": row["gd"] / row["enhanced_gd"]})
    return {"start": rows}


def quasi_newton(quick: bool = False) -> Tables:
    """Table IV's quasi-Newton and gd on D1, from the same start with a first step of 0.2, to the same gradient norm."""
    rows = []
    for size in (20,) if quick else (20, 50, 100):
        gram, moment = (array[: 4 if quick else 40] for array in trained_problems("D1", size))
        for tol in (1e-2, 1e-3, 1e-4):
            plain, seconds = timed(solver("gd", max_iter=5_000, tol=tol), gram, moment)
            norm = float(np.median([solution.gradient_norm for solution in plain]))
            quasi, longer = timed(solvers.resolve("binary", "quasi_newton", tol=norm), gram, moment)
            evds = [mean(found, "n_evd") or 0.0 for found in (plain, quasi)]
            printed = TABLE_4["D1"]["quasi_newton"][size] / TABLE_4["D1"]["gd"][size]
            row = {"D": size, "tol of gd": tol, "gradient norm": norm, "gd s": seconds, "quasi_newton s": longer}
            row |= {"ratio": longer / seconds, "paper ratio": printed, "gd EVDs": evds[0], "quasi_newton EVDs": evds[1]}
            rows.append(row | {"ratio of EVDs": evds[1] / evds[0]})
    return {"quasi_newton": rows}


def roundings(quick: bool = False) -> Tables:
    """I_rand: values of the same relaxations rounded ever more often, and fits with ever more roundings."""
    rows = []
    for data in ("D1",) if quick else ("D1", "D2"):
        for size in (8,) if quick else (8, 20, 50, 100):
            gram, moment = trained_problems(data, size)
            chosen = np.sort(np.random.default_rng(0).permutation(len(moment))[: 8 if quick else 40])

            def value(method: Any, gram: Any = gram[chosen], moment: Any = moment[chosen]) -> float:
                problems = enumerate(zip(gram, moment, strict=True))
                return mean([bqp.solve(*one, solver=method, random_state=k) for k, one in problems], "value") or 0.0

            values = {n: value(solver("enhanced_gd", screened=True, n_draws=n)) for n in DRAWS}
            best = min(*values.values(), value("auto"))
            for n, found in values.items():
                row = {"what": f"% above the best value, {data}, D = {size}", "I_rand": n}
                rows.append(row | {"found": 100 * (found - best) / abs(best)})
    for data, *how in (("D1", 8, 2, 1),) if quick else (("D1", 16, 12, 5), ("D2", 8, 10, 2)):
        for guarded, words in ((True, "with"), (False, "without")):
            for n in DRAWS:
                size, sweeps, starts = how
                fit = fitted(data, size, "enhanced_gd", sweeps, starts, guarded=guarded, n_draws=n)
                rows.append(
                    {"what": f"training RMSE, {data}, {words} safeguards", "I_rand": n, "found": fit.last.mean()}
                )
    return {"roundings": rows}


def safeguards(quick: bool = False) -> Tables:
    """Algorithms 4 and 5 as printed, and with our safeguards: errors at the end, and how often a sweep rises."""
    line = (3.0,) if quick else (1.0, 3.0, 10.0, 30.0)
    labels = ["enhanced_gd", *map(lanczos, line)]
    kinds = [(label, guarded) for label in labels for guarded in (True, False)]
    kinds += [(f"{lanczos(a)}, printed recurrence", False) for a in line]
    rows = []
    for data, sweeps, starts in (("D1", 6, 1),) if quick else (("D1", 20, 5), ("D2", 20, 2)):
        for label, guarded in kinds:
            fit = fitted(data, 8, label, sweeps, starts, guarded=guarded)
            errors = fit.train.mean(axis=0)
            row: Row = {"data": data, "solver": f"{label}, {'safeguards' if guarded else 'as printed'}"}
            row |= {"training": errors[-1], "best sweep": errors.min()}
            row["sweeps that rise %"] = 100 * float(np.mean(np.diff(fit.train, axis=1) > 0))
            row["swing of the last 5 %"] = 100 * float(np.ptp(errors[-5:]) / errors.min())
            rows.append(row | {"test": None if data == "D1" else fit.test.mean()})
    return {"safeguards": rows}


def library(quick: bool = False) -> Tables:
    """What the library's own models reach on u1 and on D3, with nothing set."""
    kinds: dict[str, Any] = {
        "KolmogorovModel()": KolmogorovModel,
        "KolmogorovModel(24)": partial(KolmogorovModel, 24),
        "KolmogorovModel(24, psi='soft')": partial(KolmogorovModel, 24, psi="soft"),
        "BayesianKolmogorovModel()": BayesianKolmogorovModel,
    }
    rows = []
    for data in ("D2",) if quick else ("D2", "D3"):
        train, test = split(data)
        for label, kind in list(kinds.items())[: 1 if quick or data == "D3" else None]:
            models = [kind(random_state=seed).fit(train) for seed in range(1 if quick else 3)]
            error = float(np.mean([model.evaluate(test)["rmse"] for model in models]))
            row = {"data": data, "model": label, "D": models[0].fitted_.n_events, "NRMSE": error}
            rows.append(row | {"stars": 5 * error, "starts": len(models)})
    return {"library": rows}


def tried(quick: bool = False) -> Tables:
    """Everything that was tried to meet the printed 0.1629 on D3 at D = 24; the last is chosen on the test part."""
    train, test = split("D2" if quick else "D3")
    _, user_reg, item_reg = TABLE_5["D3"]["KM enhanced_gd"][24]
    usual: dict[str, Any] = {"user_reg": user_reg, "item_reg": item_reg, "random_state": 0, "item_solver": "auto"}
    usual |= {"user_solver": "active_set", "max_iter": 2 if quick else 20}

    def error(table: Any = train, held: Any = test, kind: Any = KolmogorovModel, **changes: Any) -> float:
        return float(kind.as_in_paper(24, **usual | changes).fit(table).evaluate(held)["rmse"])

    own, there = error(held=train), error()
    larger = datasets.load("ml-100k" if quick else "ml-1m").split(test_size=0.1, random_state=0)
    grid = [(u, i) for u in (10.0, 20.0, 30.0, 60.0) for i in (0.0, 0.3, 2.0)][: 1 if quick else None]
    found = {
        "as printed": there,
        "training error instead of test error": own,
        "error over all ratings, training ones included": float(np.sqrt(0.8 * own**2 + 0.2 * there**2)),
        "mu_i to the mean": error(kind=RidgeToMean),
        "theta shrunk to the mean": error(prior="mean"),
        "100 sweeps": error(max_iter=2 if quick else 100),
        "best of three starts": error(n_init=1 if quick else 3),
        "90/10 split": error(*larger),
        "lambda_u, mu_i and prior chosen on the test part": min(
            error(user_reg=u, item_reg=i, prior="mean") for u, i in grid
        ),
    }
    return {"tried": [{"what": what, "NRMSE": value} for what, value in found.items()]}
