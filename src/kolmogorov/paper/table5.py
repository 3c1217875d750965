"""Table V: test error on MovieLens, the regularisation chosen inside the training part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kolmogorov.data import Observations
from kolmogorov.model.estimator import KolmogorovModel
from kolmogorov.model.factorization import MatrixFactorization
from kolmogorov.model.nonnegative import NonnegativeModel
from kolmogorov.model.svdpp import SVDpp
from kolmogorov.paper.numbers import TABLE_5
from kolmogorov.paper.result import Effort, Panel, Result
from kolmogorov.paper.subjects import dataset, solver

_SIZES = (4, 8, 16, 24)
# The grids contain the paper's own values.
_USER_REGS = {"D2": (10, 20, 30, 40, 50, 60, 80, 120), "D3": (0, 10, 20, 30, 60)}
_ITEM_REGS = {"D2": (0, 0.1, 0.3, 10), "D3": (0, 0.1, 0.3, 0.5, 1.5, 2, 2.5, 3, 4)}
_STARS = 5.0
# The paper prints MF on D3 for ten factors only.
_D3_FACTORS = 8
# Tables with more entries are validated on one fold.
_LARGE = 500_000
_PAPERS_SOLVERS = ("KM enhanced_gd", "KM enhanced_gd lanczos")
# What else could lie behind the paper's D3 column.
_VARIANTS: dict[str, dict[str, Any]] = {
    "KM exact, three starts": {"n_init": 3},
    "KM exact, 300 sweeps": {"max_iter": 300, "tol": 1e-7},
    "KM exact, uniform prior": {"prior": "uniform"},
}


def run(effort: Effort) -> Result:
    """Choose, refit and test every model on random 80/20 splits."""
    columns: dict[str, list[Any]] = {
        name: []
        for name in ("data", "model", "D", "NRMSE, paper's scale", "sd", "stars", "paper", "paper in stars", "chosen")
    }
    stars: dict[str, dict[str, dict[int, float]]] = {}
    for name in ("D2", "D3"):
        sizes = effort.pick((4, 8), _SIZES) if name == "D2" else effort.pick((4,), _SIZES)
        seeds = range(effort.pick(1, 2) if name == "D2" else 1)
        for size in sizes:
            for label, errors, chosen in _rows(name, size, seeds, effort):
                # MF and SVD++ are divided by r_max - r_min = 4 in the paper, KM and NNM by 5.
                divisor = 4.0 if label in ("MF", "SVD++") else _STARS
                mean, spread = float(np.mean(errors)), float(np.std(errors, ddof=1)) if len(errors) > 1 else None
                table: Any = TABLE_5[name]
                printed = table.get("KM enhanced_gd" if label.startswith("KM exact") else label, {}).get(size)
                paper = None if printed is None else printed[0]
                stars.setdefault(name, {}).setdefault(label, {})[size] = mean
                row = (
                    name,
                    label,
                    size,
                    mean / divisor,
                    None if spread is None else spread / divisor,
                    mean,
                    paper,
                    None if paper is None else paper * divisor,
                    chosen,
                )
                for column, cell in zip(columns.values(), row, strict=True):
                    column.append(cell)
    panels = [
        Panel(name, "D", "test RMSE in stars", {label: (list(by), list(by.values())) for label, by in rows.items()})
        for name, rows in stars.items()
    ]
    return Result("Table V: test error on D2 and D3", columns, panels, _sentences(columns, stars))


def _rows(name: str, size: int, seeds: range, effort: Effort) -> Iterator[tuple[str, list[float], str]]:
    """Yield (label, test errors in stars by seed, chosen parameters) of every model."""
    found: dict[str, list[float]] = {}
    factors = {4: 5, 8: 10, 16: 20, 24: 40}[size]
    notes: dict[str, list[str]] = {}

    def add(label: str, model: Any, train: Observations, test: Observations, note: str) -> None:
        found.setdefault(label, []).append(model.fit(train).evaluate(test)["rmse_rating"])
        notes.setdefault(label, []).append(note)

    for seed in seeds:
        train, test = dataset(name).split(test_size=0.2, random_state=seed)
        effort.say(f"{name}, D = {size}, seed {seed}: KM")
        regs = _chosen(name, train, seed, effort, lambda **r: KolmogorovModel(size, max_iter=20, random_state=0, **r))
        note = f"({regs['user_reg']:g}, {regs['item_reg']:g})"
        add("KM exact (ours)", KolmogorovModel(size, random_state=seed, **regs), train, test, note)
        if name == "D3" and size == max(_SIZES):
            effort.say(f"{name}, D = {size}: what else the paper may have done")
            for label, options in _VARIANTS.items():
                add(label, KolmogorovModel(size, random_state=seed, **{**regs, **options}), train, test, note)
            oracle = min(
                KolmogorovModel(size, max_iter=20, random_state=seed, **{**regs, "item_reg": mu})
                .fit(train)
                .evaluate(test)["rmse_rating"]
                for mu in _ITEM_REGS[name]
            )
            found["KM exact, 20 sweeps, mu chosen on the test part"] = [oracle]
            notes["KM exact, 20 sweeps, mu chosen on the test part"] = ["not an honest protocol"]
        # On D3 a sweep of these solvers takes minutes above D = 8 (Table IV).
        if seed == 0 and (name == "D2" or size <= 8):
            sweeps = effort.pick(2, 3 if name == "D3" else 4)
            for label in _PAPERS_SOLVERS:
                effort.say(f"{name}, D = {size}: {label}")
                method = solver(label.removeprefix("KM "))
                model = KolmogorovModel(size, binary_solver=method, max_iter=sweeps, random_state=seed, **regs)
                add(label, model, train, test, f"{note}, {sweeps} sweeps")
        effort.say(f"{name}, D = {size}, seed {seed}: NNM")
        regs = _chosen(name, train, seed, effort, lambda **r: NonnegativeModel(size, max_iter=10, random_state=0, **r))
        note = f"({regs['user_reg']:g}, {regs['item_reg']:g})"
        add("NNM", NonnegativeModel(size, max_iter=50, random_state=seed, **regs), train, test, note)
        if name == "D3" and size != _D3_FACTORS:
            continue
        effort.say(f"{name}, D = {size}, seed {seed}: MF, SVD++")
        reg = _best(
            (2.0, 2.5, 3.0, 4.0, 6.0), train, seed, lambda r: MatrixFactorization(factors, reg=r, random_state=0)
        )
        add("MF", MatrixFactorization(factors, reg=reg, random_state=seed), train, test, f"k = {factors}, reg {reg:g}")
        reg = _best((0.02, 0.05, 0.08), train, seed, lambda r: SVDpp(factors, reg=r, random_state=0))
        add("SVD++", SVDpp(factors, reg=reg, random_state=seed), train, test, f"k = {factors}, reg {reg:g}")
    for label, errors in found.items():
        yield label, errors, "; ".join(notes[label])


def _chosen(name: str, train: Observations, seed: int, effort: Effort, make: Callable[..., Any]) -> dict[str, Any]:
    """Choose user_reg with item_reg = 0 and then item_reg, by cross-validation inside the training part."""
    users, items = _USER_REGS[name], _ITEM_REGS[name]
    users, items = effort.pick(users[::2], users), effort.pick(items[:2], items)
    user_reg = _best(users, train, seed, lambda r: make(user_reg=float(r), item_reg=0.0))
    item_reg = _best(items, train, seed, lambda r: make(user_reg=float(user_reg), item_reg=float(r)))
    return {"user_reg": float(user_reg), "item_reg": float(item_reg)}


def _best(values: tuple[float, ...], train: Observations, seed: int, make: Callable[[float], Any]) -> float:
    """Return the value with the smallest mean error over the folds."""
    parts = list(train.folds(2 if len(train) <= _LARGE else 3, random_state=seed))
    parts = parts[:1] if len(train) > _LARGE else parts
    scores = {
        value: float(np.mean([make(value).fit(part).evaluate(held)["rmse"] for part, held in parts]))
        for value in values
    }
    return min(scores, key=lambda value: scores[value])


def _sentences(columns: dict[str, list[Any]], stars: dict[str, dict[str, dict[int, float]]]) -> list[str]:
    sentences = []
    for name, rows in stars.items():
        ours = rows["KM exact (ours)"]
        largest = max(ours)
        printed: Any = TABLE_5[name]["KM enhanced_gd"]
        better = [size for size in ours if ours[size] / _STARS <= printed[size][0]]
        worse = [size for size in ours if size not in better]
        text = f"{name}: our KM reaches the paper's error or less at D = {', '.join(map(str, better)) or 'none'}"
        sentences.append(text + (f" and not at D = {', '.join(map(str, worse))}." if worse else "."))
        size = largest if name == "D2" else _D3_FACTORS
        known = {label: errors[size] for label, errors in rows.items() if size in errors}
        order = sorted(known, key=known.__getitem__)
        sentences.append(
            f"{name}, D = {size}, in stars, best first: {', '.join(f'{label} {known[label]:.3f}' for label in order)}. "
            "The paper puts KM ahead of MF and SVD++ because it divides their errors by 4 and KM's by 5."
        )
    variants = [label for label in stars.get("D3", {}) if label.startswith("KM exact,")]
    if variants:
        size = max(_SIZES)
        listed = ", ".join(
            f"{label.removeprefix('KM exact, ')} {stars['D3'][label][size] / _STARS:.4f}" for label in variants
        )
        sentences.append(
            f"The paper's D3 column is not reproduced: at D = {size} it prints 0.1629 (0.8145 stars); our protocol "
            "gives "
            f"{stars['D3']['KM exact (ours)'][size] / _STARS:.4f}, and the variations tried give {listed}."
        )
    return sentences
