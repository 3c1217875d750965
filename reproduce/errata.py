"""Errors found in the paper: what is printed, what holds instead, and the smallest example, computed."""

from itertools import pairwise
from typing import Any

import numpy as np

from kolmogorov import KolmogorovModel
from kolmogorov.solvers import bqp
from reproduce.common import Tables, item_problems, lifted, split, toy_problems


def linear_piece() -> bool:
    """At three equidistant dual points far up h is linear, so it has no curvature there."""
    gram, moment = (array[0] for array in toy_problems(4))
    how: dict[str, Any] = {"solver": "enhanced_gd", "max_iter": 1, "trace": True}
    h = [float(bqp.solve(gram, moment, initial_dual=u, **how).trace[0]) for u in (50.0, 60.0, 70.0)]  # type: ignore[index]
    return abs(h[0] - 2 * h[1] + h[2]) <= 1e-9 and abs(h[1] - 60.0 * 5) <= 1e-9


def singular_value() -> bool:
    """For C = -1 1^T of size 5 the largest singular value is 5, its 'upper bound' 3, and the l1 norm 5 as well."""
    c = -np.ones((5, 5))
    mean = np.trace(c) / 5
    upper = mean + 2 * np.sqrt(np.trace(c @ c) / 5 - mean**2)
    return bool(np.linalg.norm(c, 2) > upper + 1 and np.abs(c).sum() / 5 > upper + 1)


def returns() -> bool:
    """Some descent goes from a point that needs an EVD back to one that Weyl's inequality settles: II-B to II-A."""
    grams, moments = toy_problems(4)
    how = {"initial_dual": 10.0, "step": 20.0, "armijo": 0.01, "shrink": 0.9, "tol": 1e-2, "trace": True}
    many = bqp.solve_many(grams, moments, solver="enhanced_gd", **how)
    for gram, moment, found in zip(grams, moments, many, strict=True):
        top = np.linalg.eigvalsh(-lifted(gram, moment))[-1]
        settled = [top <= point.min() for point in found.dual_trace if np.ptp(point) > 0]  # type: ignore[union-attr]
        if any(not a and b for a, b in pairwise(settled)):
            return True
    return False


def worse_support() -> bool:
    """Some item's new support is worse than the one it had, in a sweep of Algorithm 4 as printed."""
    toy, _ = split("D1")
    settings = {"user_reg": 0.0, "keep_better": False, "random_state": 0, "n_jobs": 1}
    before, after = (KolmogorovModel.as_in_paper(20, max_iter=n, **settings).fit(toy) for n in (3, 4))
    gram, moment = item_problems(toy, before.theta_)
    had, got = (
        np.einsum("nd,nde,ne->n", psi, gram, psi) - 2 * (psi * moment).sum(axis=1)
        for psi in (before.psi_.astype(float), after.psi_.astype(float))
    )
    return bool((got > had + 1e-6).any())


ERRATA = (linear_piece, singular_value, returns, worse_support)


def run(quick: bool = False) -> Tables:
    """Run every check."""
    return {"errata": [{"check": check.__name__, "example": check.__doc__, "works": check()} for check in ERRATA]}
