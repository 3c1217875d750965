"""What is measured on: the paper's three datasets and the small problems that arise from them."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np

from kolmogorov._support.threads import one_blas_thread
from kolmogorov.data import Observations, datasets
from kolmogorov.kernels.rows.gram import normal_equations
from kolmogorov.model.kolmogorov import KolmogorovModel
from kolmogorov.problems import BinaryQP
from kolmogorov.solvers import BinarySolver, resolve

#: The paper's ridge on theta by dataset, where an item does not say otherwise.
USER_REG = {"D1": 0.0, "D2": 30.0, "D3": 10.0}
#: Solvers by the label under which the items show them.
SOLVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sdr": ("sdr", {}),
    "dmo": ("dmo", {"max_nodes": 3_000_000}),
    "quasi_newton": ("quasi_newton", {}),
    "gd": ("gd", {}),
    "enhanced_gd": ("enhanced_gd", {}),
    "enhanced_gd lanczos": ("enhanced_gd", {"evd": "lanczos"}),
    "newton": ("newton", {}),
    "auto": ("auto", {}),
}


@cache
def dataset(name: str, seed: int = 0) -> Observations:
    """Return D1 (toy), D2 (MovieLens 100K) or D3 (MovieLens 1M)."""
    if name == "D1":
        return datasets.load("toy", random_state=seed)
    return datasets.load({"D2": "ml-100k", "D3": "ml-1m"}[name])


def solver(label: str) -> BinarySolver:
    """Make the solver behind a label."""
    name, options = SOLVERS[label]
    found = resolve("binary", name, **options)
    assert isinstance(found, BinarySolver)
    return found


@cache
def item_equations(name: str, n_events: int, seed: int = 0) -> tuple[Any, Any]:
    """Return the normal equations (gram, moment) of the observed items after a few sweeps of training."""
    observations = dataset(name, seed)
    descents = resolve("binary", "local_search", tabu_moves=0)
    model = KolmogorovModel(
        n_events, user_reg=USER_REG[name], max_iter=3, random_state=seed, binary_solver=descents, tol=0.0
    ).fit(observations)
    view, n = observations.columns, observations.n_items
    gram, moment = np.empty((n, n_events, n_events)), np.empty((n, n_events))
    zero = np.zeros(n_events)
    normal_equations(view.indptr, view.indices, view.values, view.weights, model.theta_, 0, n, 0.0, zero, gram, moment)
    seen = view.counts > 0
    return gram[seen], moment[seen]


def toy_problems(n_events: int, count: int, seed: int = 0) -> list[BinaryQP]:
    """Return item problems of D1 for thetas drawn at random, as at the start of a fit."""
    toy = dataset("D1", seed)
    theta = np.random.default_rng(seed).dirichlet(np.ones(n_events), toy.n_users)
    view, n = toy.columns, toy.n_items
    gram, moment = np.empty((n, n_events, n_events)), np.empty((n, n_events))
    zero = np.zeros(n_events)
    normal_equations(view.indptr, view.indices, view.values, view.weights, theta, 0, n, 0.0, zero, gram, moment)
    return [BinaryQP(gram[k], moment[k]) for k in range(min(count, n))]


def item_seconds(name: str, n_events: int, label: str, limit: float) -> tuple[float, bool]:
    """Return the seconds that a sweep's item step takes on one thread, and whether it was extrapolated.

    Items are taken in random order until all are done or `limit` seconds are over.
    """
    gram, moment = item_equations(name, n_events)
    order = np.random.default_rng(0).permutation(len(moment))
    method = solver(label)
    start, seeds = np.zeros((1, n_events)), np.zeros(1, dtype=np.uint64)
    batch = 1 if label in ("sdr", "dmo", "quasi_newton") or n_events >= 50 else 16
    with one_blas_thread():
        method.solve_batch(gram[:1], moment[:1], start, seeds)
        spent, done = 0.0, 0
        while done < len(order) and spent < limit:
            rows = order[done : done + batch]
            small, right = np.ascontiguousarray(gram[rows]), np.ascontiguousarray(moment[rows])
            began = time.perf_counter()
            method.solve_batch(small, right, np.zeros_like(right), rows.astype(np.uint64))
            spent += time.perf_counter() - began
            done += len(rows)
    return spent * len(order) / done, done < len(order)


def training_curve(name: str, n_events: int, label: str, sweeps: int, **options: Any) -> Any:
    """Fit with the paper's user step and the given item solver; return the model."""
    settings = {"user_reg": USER_REG[name], "random_state": 0, "tol": 0.0, **options}
    return KolmogorovModel(
        n_events, binary_solver=solver(label), simplex_solver="frank_wolfe", max_iter=sweeps, **settings
    ).fit(dataset(name))
