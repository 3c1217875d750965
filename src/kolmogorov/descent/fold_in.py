"""Users and items that were not there when the model was learned: one half-step for them alone."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.view import View
from kolmogorov.descent.half_step import ITEM_SIDE, USER_SIDE, Partners, solved_rows
from kolmogorov.descent.point import Fitted, Pull
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.solvers import RowSolver

Side = Literal["auto", "users", "items"]
Floats = NDArray[np.float64]


def new_users(fitted: Fitted, view: View, solver: RowSolver, unobserved: float, n_jobs: int | None) -> Floats:
    """Return theta for the rows of `view`, whose partners are the model's items.

    A row without entries gets the population's theta.
    """
    psi = fitted.psi.astype(np.float64)
    theta = placed(view, psi, fitted.user_pull, solver, USER_SIDE, unobserved, n_jobs)
    theta[view.counts == 0] = fitted.population
    return theta


def new_items(fitted: Fitted, view: View, solver: RowSolver, unobserved: float, n_jobs: int | None) -> NDArray[Any]:
    """Return psi for the rows of `view`, whose partners are the model's users."""
    psi = placed(view, fitted.theta, fitted.item_pull, solver, ITEM_SIDE, unobserved, n_jobs)
    return psi.astype(bool) if fitted.psi.dtype == bool else psi


def placed(
    view: View, factors: Floats, pull: Pull, solver: RowSolver, side: int, unobserved: float, n_jobs: int | None
) -> Floats:
    """Solve the problem of every row of `view`, whose partners have `factors`, with a pull on all of them."""
    n_rows, size = view.indptr.size - 1, pull.centre.size
    partners = Partners.of(factors, view, unobserved)
    start = np.tile(solver.nearest(pull.centre), (n_rows, 1))
    seeds = row_seeds(0, 0, side, np.zeros(n_rows, dtype=np.int64))
    tilt = pull.strength @ pull.centre

    def equations(first: int, last: int) -> tuple[Floats, Floats]:
        gram, moment = partners.equations(view, first, last, 0.0, np.zeros(size))
        gram += pull.strength
        moment += tilt
        return gram, moment

    with one_blas_thread(), Threads(n_jobs) as dealer:
        return solved_rows(solver, equations, start, seeds, dealer, view.indptr)[0]


def side_of(fitted: Fitted, observations: Observations, side: Side) -> Literal["users", "items"]:
    """Settle which side is new: the one whose partners the model knows without exception."""
    if side in ("users", "items"):
        return side
    if side != "auto":
        raise ParameterError(f"'side' must be 'auto', 'users' or 'items', got {side!r}.")
    items = _strangers(fitted.items, observations.items, observations.columns)
    if not items:
        return "users"
    users = _strangers(fitted.users, observations.users, observations.rows)
    if not users:
        return "items"
    raise DataError(
        "Fold-in needs the other side to be known: for new users every item, for new items every user. Here "
        f"item {items[0]!r} and user {users[0]!r} are unknown to the model."
    )


def view_of(fitted: Fitted, observations: Observations, side: Literal["users", "items"]) -> View:
    """Return the observations by new rows, with partners numbered as the model numbers them."""
    if side == "users":
        known, theirs, view, other = fitted.items, observations.items, observations.rows, observations.columns
    else:
        known, theirs, view, other = fitted.users, observations.users, observations.columns, observations.rows
    if theirs is known:
        return view
    strangers = _strangers(known, theirs, other)
    if strangers:
        partner = "item" if side == "users" else "user"
        raise DataError(
            f"{len(strangers)} {partner}(s) are unknown to the model, the first is {strangers[0]!r}. Fold in new "
            f"{side} only with {partner}s that it knows."
        )
    indices = known.translate(theirs)[view.indices].astype(np.int32)
    return View(view.indptr, indices, view.values, view.weights)


def _strangers(known: Vocabulary, theirs: Vocabulary, by_them: View) -> list[Any]:
    """Return the ids that occur in the observations and that the model does not have."""
    missing: list[Any] = theirs.ids[(known.translate(theirs) < 0) & (by_them.counts > 0)].tolist()
    return missing
