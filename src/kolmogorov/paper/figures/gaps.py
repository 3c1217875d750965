"""Optimality gaps of the dual by iteration, for the figures about convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.bqp import solve
from kolmogorov.problems import BinaryQP

#: What rounding leaves of a gap.
SMALLEST = 1e-12


def optimum_of(problem: BinaryQP, gamma: float) -> float:
    """Return h* by Newton's method."""
    trace = solve(problem, solver="newton", gamma=gamma, trace=True, tol=1e-10).trace
    assert trace is not None
    return float(trace[-1])


def gap_curve(problem: BinaryQP, optimum: float, **options: Any) -> list[float]:
    """Return h(dual) - h* per iteration."""
    trace = solve(problem, trace=True, **options).trace
    assert trace is not None
    return np.maximum(trace - optimum, SMALLEST).tolist()


def stacked(curves: list[list[float]]) -> NDArray[np.float64]:
    """Make curves of one length: a descent that has ended stays where it is."""
    length = max(map(len, curves))
    return np.array([curve + [curve[-1]] * (length - len(curve)) for curve in curves])


def band(curves: list[list[float]]) -> dict[str, list[float]]:
    """Return the geometric mean of the gaps by iteration, and their 10% and 90% quantiles."""
    gaps = stacked(curves)
    low, high = np.quantile(gaps, [0.1, 0.9], axis=0)
    summary = {"mean": np.exp(np.log(gaps).mean(axis=0)), "low": low, "high": high}
    return {name: [float(f"{value:.4g}") for value in curve] for name, curve in summary.items()}
