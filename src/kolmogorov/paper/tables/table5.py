"""Table V: test error on MovieLens, the regularisation chosen inside the training part."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kolmogorov.baselines.factorization import MatrixFactorization
from kolmogorov.baselines.svdpp import SVDpp
from kolmogorov.data import Observations
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.model.nonnegative import NonnegativeModel
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.model.tuning import tune
from kolmogorov.paper.data import dataset, solver
from kolmogorov.paper.printed import TABLE_5
from kolmogorov.paper.result import Effort, Panel, Result

_SIZES = (4, 8, 16, 24)
_FACTORS = {4: 5, 8: 10, 16: 20, 24: 40}
# The grids contain the paper's own values.
_USER_REGS = {"D2": (10, 20, 30, 40, 50, 60, 120), "D3": (0, 10, 20, 30, 60)}
_ITEM_REGS = {"D2": (0, 0.1, 10), "D3": (0, 0.1, 0.3, 0.5, 1.5, 2, 2.5, 3, 4)}
_MF_REGS = (2.0, 2.5, 3.0, 4.0, 6.0)
_SVDPP_REGS = (0.02, 0.05, 0.08)
_FOLDS = {"D2": 3, "D3": 2}
# Sweeps of a fit that only compares settings; those that are tested run until they settle.
_SEARCH_SWEEPS = 10
_STARS = 5.0
_PAPERS_SOLVERS = ("KM enhanced_gd", "KM enhanced_gd lanczos")
_PAPERS_SWEEPS = 3
# The size at which the rivals are ranked, as the paper prints MF on D3 for ten factors only.
_RANKED = {"D2": 24, "D3": 8}
# What else could lie behind the paper's D3 column.
_VARIANTS: dict[str, dict[str, Any]] = {
    "KM exact, three starts": {"n_init": 3},
    "KM exact, 300 sweeps": {"max_iter": 300, "tol": 1e-7},
    "KM exact, uniform prior": {"prior": "uniform"},
}
_ORACLE = "KM exact, 20 sweeps, mu chosen on the test part"


@dataclass
class _Row:
    """One model at one size: test errors in stars by seed, and what was chosen for each."""

    data: str
    label: str
    size: int
    errors: list[float] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)

    @property
    def divisor(self) -> float:
        """MF and SVD++ are divided by r_max - r_min = 4 in the paper, KM and NNM by 5."""
        return 4.0 if self.label in ("MF", "SVD++") else _STARS

    @property
    def stars(self) -> float:
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float | None:
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else None

    @property
    def printed(self) -> float | None:
        table: Any = TABLE_5[self.data]
        found = table.get("KM enhanced_gd" if self.label.startswith("KM exact") else self.label, {}).get(self.size)
        return None if found is None else found[0]


def run(effort: Effort) -> Result:
    """Choose, refit and test every model on random 80/20 splits."""
    rows: list[_Row] = []
    seconds: dict[str, float] = {}
    seeds = {"D2": range(effort.pick(1, 3)), "D3": range(effort.pick(1, 2))}
    for name in ("D2", "D3"):
        began = time.perf_counter()
        for size in effort.pick((4, 8) if name == "D2" else (4,), _SIZES):
            rows += _measured(name, size, seeds[name], effort)
        seconds[name] = time.perf_counter() - began
    columns: dict[str, list[Any]] = {
        "data": [row.data for row in rows],
        "model": [row.label for row in rows],
        "D": [row.size for row in rows],
        "NRMSE, paper's scale": [row.stars / row.divisor for row in rows],
        "sd": [None if row.spread is None else row.spread / row.divisor for row in rows],
        "paper": [row.printed for row in rows],
        "ours - paper": [None if row.printed is None else row.stars / row.divisor - row.printed for row in rows],
        "stars": [row.stars for row in rows],
        "paper in stars": [None if row.printed is None else row.printed * row.divisor for row in rows],
        "seeds": [len(row.errors) for row in rows],
        "chosen": ["; ".join(row.chosen) for row in rows],
    }
    panels = [Panel(name, "D", "test RMSE in stars", _lines(rows, name)) for name in seconds]
    sentences = _sentences(rows)
    search = effort.pick("2-fold cross-validation over half the grid", "3-fold cross-validation over the full grid")
    sentences.append(
        f"Choosing by {search}, fitting and testing took {seconds['D2']:.0f} s on D2 and {seconds['D3']:.0f} s on D3 "
        "(2 folds)."
    )
    return Result(
        "Table V: test error on D2 and D3", columns, panels, sentences, list(range(max(map(len, seeds.values()))))
    )


def _measured(name: str, size: int, seeds: range, effort: Effort) -> list[_Row]:
    """Return the rows of every model at this size."""
    rows: dict[str, _Row] = {}

    def add(label: str, model: Any, train: Observations, test: Observations, note: str) -> None:
        row = rows.setdefault(label, _Row(name, label, size))
        row.errors.append(model.fit(train).evaluate(test)["rmse_rating"])
        row.chosen.append(note)

    factors = _FACTORS[size]
    for seed in seeds:
        train, test = dataset(name).split(test_size=0.2, random_state=seed)
        effort.say(f"{name}, D = {size}, seed {seed}: KM")
        regs, note = _chosen(name, size, train, seed, effort, KolmogorovModel)
        # active_set ends at the optimum that pairwise ends at, in less time.
        settings: dict[str, Any] = {"simplex_solver": "active_set", "random_state": seed, **regs}
        add("KM exact (ours)", KolmogorovModel(size, **settings), train, test, note)
        if name == "D3" and size == max(_SIZES) and seed == 0:
            effort.say(f"{name}, D = {size}: what else the paper may have done")
            for label, options in _VARIANTS.items():
                add(label, KolmogorovModel(size, **{**settings, **options}), train, test, note)
            oracle = [
                KolmogorovModel(size, max_iter=20, **{**settings, "item_reg": mu}).fit(train).evaluate(test)
                for mu in _ITEM_REGS[name]
            ]
            best = min(scores["rmse_rating"] for scores in oracle)
            rows[_ORACLE] = _Row(name, _ORACLE, size, [best], ["not an honest protocol"])
        if seed == 0:
            for label in _PAPERS_SOLVERS:
                effort.say(f"{name}, D = {size}: {label}")
                method = solver(label.removeprefix("KM "))
                model = KolmogorovModel(size, binary_solver=method, max_iter=_PAPERS_SWEEPS, random_state=seed, **regs)
                add(label, model, train, test, f"{note}, {_PAPERS_SWEEPS} sweeps")
        effort.say(f"{name}, D = {size}, seed {seed}: NNM")
        regs, note = _chosen(name, size, train, seed, effort, NonnegativeModel)
        settings = {"simplex_solver": "active_set", "random_state": seed, **regs}
        add("NNM", NonnegativeModel(size, max_iter=50, **settings), train, test, note)
        effort.say(f"{name}, D = {size}, seed {seed}: MF, SVD++")
        reg = _best(
            _MF_REGS,
            _FOLDS[name],
            train,
            seed,
            lambda reg: MatrixFactorization(factors, reg=reg, max_iter=_SEARCH_SWEEPS, random_state=0),
        )
        add("MF", MatrixFactorization(factors, reg=reg, random_state=seed), train, test, f"k = {factors}, reg {reg:g}")
        reg = _best(_SVDPP_REGS, _FOLDS[name], train, seed, lambda reg: SVDpp(factors, reg=reg, random_state=0))
        add("SVD++", SVDpp(factors, reg=reg, random_state=seed), train, test, f"k = {factors}, reg {reg:g}")
    return list(rows.values())


def _chosen(
    name: str, size: int, train: Observations, seed: int, effort: Effort, kind: type[SimplexModel]
) -> tuple[dict[str, Any], str]:
    """Choose (lambda_u, mu_i) by cross-validation inside the training part, over the whole grid."""
    users, items = _USER_REGS[name], _ITEM_REGS[name]
    model = kind(max_iter=_SEARCH_SWEEPS, simplex_solver="active_set")
    found = tune(
        train,
        n_events=size,
        user_reg=effort.pick(users[::2], users),
        item_reg=effort.pick(items[:2], items),
        folds=effort.pick(2, _FOLDS[name]),
        model=model,
        random_state=seed,
        refit=False,
    ).best
    regs = {"user_reg": found.user_reg, "item_reg": found.item_reg}
    return regs, f"({found.user_reg:g}, {found.item_reg:g})"


def _best(values: tuple[float, ...], folds: int, train: Observations, seed: int, make: Callable[[float], Any]) -> float:
    """Return the value with the smallest mean error over the folds."""
    parts = list(train.folds(folds, random_state=seed))
    scores = {
        value: float(np.mean([make(value).fit(part).evaluate(held)["rmse"] for part, held in parts]))
        for value in values
    }
    return min(scores, key=lambda value: scores[value])


def _lines(rows: list[_Row], name: str) -> dict[str, tuple[list[Any], list[float]]]:
    lines: dict[str, tuple[list[Any], list[float]]] = {}
    for row in rows:
        if row.data == name:
            sizes, stars = lines.setdefault(row.label, ([], []))
            sizes.append(row.size)
            stars.append(row.stars)
    return lines


def _sentences(rows: list[_Row]) -> list[str]:
    sentences = []
    for name in ("D2", "D3"):
        ours = {row.size: row for row in rows if row.data == name and row.label == "KM exact (ours)"}
        better = [size for size, row in ours.items() if row.printed is not None and row.stars / _STARS <= row.printed]
        worse = [size for size in ours if size not in better]
        text = f"{name}: our KM reaches the paper's error or less at D = {', '.join(map(str, better)) or 'none'}"
        sentences.append(text + (f" and not at D = {', '.join(map(str, worse))}." if worse else "."))
        size = min(_RANKED[name], max(ours))
        known = sorted(
            (row for row in rows if row.data == name and row.size == size and row.label != _ORACLE),
            key=lambda row: row.stars,
        )
        sentences.append(
            f"{name}, D = {size}, in stars, best first: {', '.join(f'{row.label} {row.stars:.3f}' for row in known)}. "
            "The paper puts KM ahead of MF and SVD++ because it divides their errors by 4 and KM's by 5."
        )
    tried = [row for row in rows if row.label.startswith("KM exact,")]
    if tried:
        size = tried[0].size
        (ours_there,) = (row for row in rows if (row.data, row.label, row.size) == ("D3", "KM exact (ours)", size))
        listed = ", ".join(f"{row.label.removeprefix('KM exact, ')} {row.stars / _STARS:.4f}" for row in tried)
        sentences.append(
            f"The paper's D3 column is not reproduced: at D = {size} it prints {ours_there.printed:g}; our protocol "
            f"gives {ours_there.stars / _STARS:.4f}, and the variations tried give {listed}."
        )
    return sentences
