"""MF and SVD++ for Table V: chosen on a tenth of the training part, tested on the test part."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from kolmogorov.baselines.factorization import MatrixFactorization
from kolmogorov.baselines.svdpp import SVDpp
from kolmogorov.data import Observations
from kolmogorov.errors import FitError
from kolmogorov.paper.data import split
from kolmogorov.paper.result import Effort, Part

#: Factors k by the column of the table, as printed or nearest to it.
_MF_FACTORS = {4: 5, 8: 10, 16: 20, 24: 40}
_SVDPP_FACTORS = {4: 5, 8: 10, 16: 20, 24: 50}
_MF_REGS = (2.0, 2.5, 3.0, 4.0, 6.0, 10.0)
_RATES = (0.002, 0.004, 0.007)
_SVDPP_REGS = (0.02, 0.05, 0.08, 0.12, 0.2)


def rival_parts(name: str, effort: Effort) -> list[Part]:
    """Return the parts of both models on a dataset."""
    sizes = effort.pick((8,), tuple(_MF_FACTORS))
    listed = "-".join(map(str, sizes))
    return [
        Part(f"table5-{name}-MF-{listed}", partial(_factorization, name, sizes)),
        Part(f"table5-{name}-SVDpp-{listed}", partial(_svdpp, name, sizes, effort.quick)),
    ]


def _factorization(name: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    train, test = split(name)
    inner, held = train.split(test_size=0.1, random_state=1)
    rows = []
    for size in sizes:
        k = _MF_FACTORS[size]
        scores = {
            reg: MatrixFactorization(k, reg=reg, max_iter=20, random_state=0).fit(inner).evaluate(held)["rmse"]
            for reg in _MF_REGS
        }
        reg = min(scores, key=lambda value: scores[value])
        error = MatrixFactorization(k, reg=reg, max_iter=20, random_state=0).fit(train).evaluate(test)["rmse"]
        rows.append({"model": "MF", "D": size, "test": [error], "note": f"k = {k}, reg {reg:g}"})
    return rows


def _svdpp(name: str, sizes: tuple[int, ...], quick: bool) -> list[dict[str, Any]]:
    """Choose rate and regularisation with ten factors and take them for every number of factors."""
    train, test = split(name)
    inner, held = train.split(test_size=0.1, random_state=1)
    grid = [(rate, reg) for rate in _RATES for reg in _SVDPP_REGS][:: 5 if quick else 1]
    scores = {(rate, reg): _svdpp_error(inner, held, 10, rate, reg) for rate, reg in grid}
    rate, reg = min(scores, key=lambda pair: scores[pair])
    edge = " (edge of the grid)" if reg in (_SVDPP_REGS[0], _SVDPP_REGS[-1]) else ""
    rows = []
    for size in sizes:
        k = _SVDPP_FACTORS[size]
        error = _svdpp_error(train, test, k, rate, reg)
        note = f"k = {k}, rate {rate:g}, reg {reg:g}{edge}"
        rows.append({"model": "SVD++", "D": size, "test": [error], "note": note})
    return rows


def _svdpp_error(train: Observations, test: Observations, k: int, rate: float, reg: float) -> float:
    """Return the error of a fit; infinity where steps were too long for it to end."""
    try:
        return SVDpp(k, n_epochs=40, rate=rate, reg=reg, random_state=0).fit(train).evaluate(test)["rmse"]
    except FitError:
        return math.inf
