"""What the paper leaves open, one thing at a time, and sweeps of sizes beyond its own."""

from typing import Any

import numpy as np

from kolmogorov import KolmogorovModel, solvers
from kolmogorov.solvers import bqp
from reproduce.common import (
    NEAREST,
    RIDGES,
    Row,
    Tables,
    available,
    fitted,
    lanczos,
    mean,
    solver,
    split,
    timed,
    toy_problems,
    trained_problems,
)
from reproduce.printed import TABLE_4

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
        grown = {**NEAREST, "initial_dual": 1.0 if size <= 8 else 2.0 * size}
        for options in (*settings[:: 6 if quick else 1], grown):
            row: Row = {
                "u_0": "grows" if options is grown else options["initial_dual"],
                "step": options["step"],
                "tol": options["tol"],
                "D": size,
            }
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
            rows.append({**row, "ratio of EVDs": evds[1] / evds[0]})
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
        for ending, words in (("", "with"), (", as printed", "without")):
            for n in DRAWS:
                size, sweeps, starts = how
                fit = fitted(data, size, f"enhanced_gd{ending}", sweeps, starts, n_draws=n)
                rows.append(
                    {"what": f"training RMSE, {data}, {words} safeguards", "I_rand": n, "found": fit.last.mean()}
                )
    return {"roundings": rows}


def safeguards(quick: bool = False) -> Tables:
    """Algorithms 4 and 5 as printed, and with our safeguards: errors at the end, and how often a sweep rises."""
    line = (3.0,) if quick else (1.0, 3.0, 10.0, 30.0)
    labels = [
        f"{label}, {how}" for label in ("enhanced_gd", *map(lanczos, line)) for how in ("safeguards", "as printed")
    ]
    labels += [f"{lanczos(a)}, printed recurrence, as printed" for a in line]
    labels += [f"{label}, as printed" for label in available(("sdr", "dmo"))]
    rows = []
    for data, sweeps, starts in (("D1", 6, 1),) if quick else (("D1", 20, 5), ("D2", 20, 2)):
        for label in labels:
            fit = fitted(data, 8, label, sweeps, starts)
            errors = fit.train.mean(axis=0)
            row: Row = {"data": data, "solver": label, "training": errors[-1], "best sweep": errors.min()}
            row["sweeps that rise %"] = 100 * float(np.mean(np.diff(fit.train, axis=1) > 0))
            row["swing of the last 5 %"] = 100 * float(np.ptp(errors[-5:]) / errors.min())
            rows.append(row | {"test": None if data == "D1" else fit.test.mean()})
    return {"safeguards": rows}


def swept(data: str, size: int, which: int, label: str, n_sweeps: int) -> Row:
    """Fit without our safeguards on one thread: seconds of the items' step after the first sweep, errors at the end."""
    train, test = split(data, which)
    ridges = dict(zip(("user_reg", "item_reg"), RIDGES[data], strict=True))
    how: dict[str, Any] = {"item_solver": solver(label), "keep_better": False, "random_state": 0, "n_jobs": 1}
    model = KolmogorovModel.as_in_paper(size, max_iter=n_sweeps, **how, **ridges).fit(train)
    row: Row = {"data": data, "D": size, "split": which, "solver": label}
    row["seconds"] = float(np.median([sweep.item_seconds for sweep in model.history_[1:]]))
    return row | {"training": model.history_[-1].rmse, "test": model.evaluate(test)["rmse"]}


def sweeps(quick: bool = False) -> Tables:
    """Whole sweeps of sizes beyond the paper's, every one from u_0 as it is printed or from the last sweep's duals."""
    labels = ["enhanced_gd", lanczos(10.0), "enhanced_gd, warm", "newton, rough", "newton, warm, rough", "auto"]
    cases = [("D2", size, 0) for size in (50, 100)] + [("D3", size, 5 + k) for size in (8, 16, 24) for k in range(3)]
    if quick:
        return {"sweeps": [swept(*cases[0], label, 2) for label in labels[-2:]]}
    return {"sweeps": [swept(*case, label, 4) for case in cases for label in labels]}


def frank_wolfe(quick: bool = False) -> Tables:
    """LCQPs over whole rows of random supports: how far Frank-Wolfe is from the optimum after its 1,000 steps."""
    rows: list[Row] = []
    for size in (8, 20):
        rng = np.random.default_rng(0)
        psi, p = rng.integers(0, 2, (200, 40, size)).astype(float), rng.random((200, 40))
        gram, moment = np.einsum("nid,nie->nde", psi, psi), np.einsum("nid,ni->nd", psi, p)
        start, steps = np.full(moment.shape, 1.0 / size), {}
        for name in ("frank_wolfe", "active_set"):
            x = solvers.resolve("simplex", name).solve(gram, moment, start)
            slope = np.einsum("nde,ne->nd", gram, x) - moment
            steps[name] = (x * (slope - moment)).sum(axis=1), (slope * x).sum(axis=1) - slope.min(axis=1)
        excess, gap = steps["frank_wolfe"][0] - steps["active_set"][0], steps["frank_wolfe"][1]
        stopped = int((gap > 1e-6 * np.diagonal(gram, axis1=1, axis2=2).max(axis=1)).sum())
        ends = {"median excess": float(np.median(excess)), "largest excess": float(excess.max())}
        rows.append({"D": size, "problems": len(gram), "stopped by 1,000 steps": stopped, **ends})
    return {"frank_wolfe": rows}
