"""MF and SVD++ for Table V: chosen on a tenth of a training part, tested on u1 and on the mean of u1 to u5."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats
from kolmogorov.baselines.factorization import MatrixFactorization
from kolmogorov.baselines.svdpp import SVDpp
from kolmogorov.data import Observations
from kolmogorov.data.entries.view import View
from kolmogorov.errors import FitError
from kolmogorov.execution import Threads
from kolmogorov.fitting.descent.half_step import HalfStep
from kolmogorov.paper.data import split
from kolmogorov.paper.result import Effort, Part
from kolmogorov.solvers import resolve

#: Factors k by the column of the table, as printed or nearest to it; SVD++'s first is MyMediaLite's with k = 4.
_MF_FACTORS = {4: 5, 8: 10, 16: 20, 24: 40}
_SVDPP_FACTORS = {4: 4, 8: 10, 16: 20, 24: 50}
_MF_REGS = (2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
_RATES = (0.002, 0.004, 0.007)
_SVDPP_REGS = (0.02, 0.05, 0.08, 0.12, 0.2)
_THREADS = 4


class Unbiased(MatrixFactorization):
    """The same without biases of users and items: p = mean + f_u . g_i."""

    def _half(self, view: View, partners: Floats, own: Floats, mean: float, side: int, dealer: Threads) -> Floats:
        """Solve one side given the other; the ridge keeps a bias that explains nothing at 0."""
        zero = np.zeros(own.shape[1])
        step = HalfStep(resolve("ridge", self.ridge_solver), float(self.reg), zero, seed=0, sweep=0, side=side)
        left = View(view.indptr, view.indices, view.values - mean, view.weights)
        return step.run(left, partners, own, dealer)[0]


def rival_parts(name: str, effort: Effort) -> dict[str, Part]:
    """Return the parts of the models on a dataset, by model."""
    sizes = effort.pick((8,), tuple(_MF_FACTORS))
    listed = "-".join(map(str, sizes))
    cost = {"D2": 30.0, "D3": 250.0}[name] / effort.pick(8, 1)
    kinds: dict[str, Any] = {
        "MF": partial(_factorization, MatrixFactorization, name, sizes),
        "MF, unbiased": partial(_factorization, Unbiased, name, sizes),
        "SVD++": partial(_svdpp, name, sizes, effort.quick),
    }
    return {
        label: Part(f"table5-{name}-{label.replace(', ', '_').replace('+', 'p')}-{listed}", part, cost=cost, slots=4)
        for label, part in kinds.items()
    }


def _splits(name: str) -> list[tuple[Observations, Any]]:
    return [split(name, fold) for fold in range(5 if name == "D2" else 1)]


def _factorization(kind: type[MatrixFactorization], name: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    pairs = _splits(name)
    inner, held = pairs[0][0].split(test_size=0.1, random_state=1)
    rows = []
    for size in sizes:
        k = _MF_FACTORS[size]

        def error(train: Observations, test: Observations, reg: float, k: int = k) -> float:
            model = kind(k, reg=reg, max_iter=20, random_state=0, n_jobs=_THREADS)
            return model.fit(train).evaluate(test)["rmse"]

        scores = {reg: error(inner, held, reg) for reg in _MF_REGS}
        reg = min(scores, key=scores.__getitem__)
        rows.append({"D": size, "test": [error(*pair, reg) for pair in pairs], "note": f"k = {k}, reg {reg:g}"})
    return rows


def _svdpp(name: str, sizes: tuple[int, ...], quick: bool) -> list[dict[str, Any]]:
    """Choose rate and regularisation with ten factors and take them for every number of factors."""
    pairs = _splits(name)
    inner, held = pairs[0][0].split(test_size=0.1, random_state=1)
    grid = [(rate, reg) for rate in _RATES for reg in _SVDPP_REGS][:: 5 if quick else 1]
    scores = {(rate, reg): _svdpp_error(inner, held, 10, rate, reg) for rate, reg in grid}
    rate, reg = min(scores, key=lambda pair: scores[pair])
    edge = " (edge of the grid)" if reg in (_SVDPP_REGS[0], _SVDPP_REGS[-1]) else ""
    rows = []
    for size in sizes:
        k = _SVDPP_FACTORS[size]
        errors = [_svdpp_error(*pair, k, rate, reg) for pair in pairs]
        rows.append({"D": size, "test": errors, "note": f"k = {k}, rate {rate:g}, reg {reg:g}{edge}"})
    return rows


def _svdpp_error(train: Observations, test: Observations, k: int, rate: float, reg: float) -> float:
    """Return the error of a fit; infinity where steps were too long for it to end."""
    try:
        return SVDpp(k, n_epochs=40, rate=rate, reg=reg, random_state=0).fit(train).evaluate(test)["rmse"]
    except FitError:
        return math.inf
