"""How new rows are placed in a model that was learned from a completed table.

Nobody tells such a model how strongly a new user is to be drawn to the population. The users that it knows do: placed
again from their own ratings, as if they were new, they should come out where they are. The pull is the one under
which they do so best; likewise for items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.entries.view import View
from kolmogorov.fitted.point import Pull
from kolmogorov.fitting.fold_in import placed
from kolmogorov.solvers import RowSolver

# Numbers by judgement; `benchmarks/one_model.py placed` shows what comes of them.
#: Rows that are placed again.
_ROWS = 400
#: Strengths that are tried: equal in all directions, in ratings; and the more where rows differ less, as shares of the
#: inverse of their covariance.
_EVEN = np.geomspace(0.03, 100.0, 8)
_SHAPED = np.geomspace(0.001, 1.0, 13)
#: The least variance of rows in any direction, as a share of the usual one.
_LEAST = 1e-2
#: Rows that differ by less are the same but for rounding, and their spread says nothing.
_NO_SPREAD = 1e-12


class LearnedRows(NamedTuple):
    """Rows of one side as they were learned, their observations, and the partners that they were learned with.

    Differences of predictions count by the partners' weights; `number` is `USER_SIDE` or `ITEM_SIDE`.
    """

    rows: Floats
    view: View
    factors: Floats
    weights: Floats
    solver: RowSolver
    number: int


def best_pull(side: LearnedRows, unobserved: float, n_jobs: int | None, most_rows: int = _ROWS) -> Pull:
    """Return the pull under which some rows, placed again from their observations, predict most as they did."""
    seen = np.flatnonzero(side.view.counts > 0)
    centre = side.rows[seen].mean(axis=0)
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, min(seen.size, most_rows)).round().astype(np.int64)])
    view, rows = _part(side.view, chosen), side.rows[chosen]
    gram = (side.factors * side.weights[:, None]).T @ side.factors

    def distance(pull: Pull) -> float:
        away = placed(view, side.factors, pull, side.solver, side.number, unobserved, n_jobs) - rows
        return float(((away @ gram) * away).sum())

    return min(_pulls(centre, side.rows[seen]), key=distance)


def _pulls(centre: Floats, rows: Floats) -> Iterator[Pull]:
    """Yield those that are tried."""
    covariance = np.cov(rows.T, bias=True).reshape(centre.size, centre.size)
    usual = float(np.trace(covariance)) / centre.size
    for ridge in _EVEN:
        yield Pull.even(centre, ridge)
    if usual > _NO_SPREAD:
        inverse = np.linalg.inv(covariance + _LEAST * usual * np.eye(centre.size))
        for share in _SHAPED:
            yield Pull(centre, share * (inverse + inverse.T) / 2.0)


def _part(view: View, rows: Rows) -> View:
    """Return some rows of a view, as a view of their own."""
    mask = np.zeros(view.counts.size, dtype=bool)
    mask[rows] = True
    kept = view.chosen(np.repeat(mask, view.counts))
    indptr = np.concatenate(([0], np.cumsum(view.counts[rows]))).astype(np.int64)
    return View(indptr, kept.indices, kept.values, kept.weights)
