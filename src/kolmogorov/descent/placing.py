"""Rows of one model placed by their observations: new ones, and those whose observations have changed.

A row that is new solves one half-step of its own, with a pull to what rows usually are. A row x that was there
minimises x^T A x - 2 x^T m. What is known of how it was learned is where it ended: near x' its problem was
(x - x')^T A' (x - x'), with the Gram matrix A' of its entries then and the pull. Entries that are new, and those that
are gone, add to it and take from it; so A = A' + sum new f f^T - sum gone f f^T, and m = A' x' + sum new r f - sum gone
r f, which is recursive least squares. For a row that is new A' is the pull, and x' its centre: it is placed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.changes import Change
from kolmogorov.data.view import Entries, View, duplicate
from kolmogorov.descent.attributes import over, placed_rows
from kolmogorov.descent.engine import solved_rows
from kolmogorov.descent.fitted import Fitted, Pull
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Partners, Problem
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.solvers import RowSolver

Side = Literal["auto", "users", "items"]


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


#: How often items are moved and then users, after users were moved first: new ones may know each other. By judgement.
_ROUNDS = 2


@dataclass(frozen=True, eq=False)
class MovedRows:
    """Rows of one side whose entries have changed: the entries now and before, and where the rows were."""

    rows: Rows
    now: View
    before: View
    #: float64[n, D]; of a row that is new, the centre of its pull, or where attributes place it.
    anchor: Floats
    known: NDArray[np.bool_]
    pull: Pull
    solver: RowSolver
    side: int

    def solved(self, factors: Floats, unobserved: float, n_jobs: int | None) -> Floats:
        """Return where the rows are now, given the factors of the other side."""
        partners = Partners.of(factors, self.now, unobserved)
        nothing, strength = np.zeros(factors.shape[1]), self.pull.strength
        start = np.where(self.known[:, None], self.anchor, self.solver.nearest(self.pull.centre))
        seeds = row_seeds(0, 0, self.side, np.zeros(len(self.rows), dtype=np.int64))

        def equations(first: int, last: int) -> tuple[Floats, Floats]:
            anchor, known = self.anchor[first:last], self.known[first:last, None]
            gram, moment = partners.equations(self.before, first, last, 0.0, nothing)
            settled = known * (np.einsum("nde,ne->nd", gram, anchor) - moment)
            gram, moment = partners.equations(self.now, first, last, 0.0, nothing)
            return gram + strength, moment + settled + anchor @ strength

        with one_blas_thread(), Threads(n_jobs) as dealer:
            return solved_rows(self.solver, equations, start, seeds, dealer, self.now.indptr)[0]


def moved(fitted: Fitted, change: Change, problem: Problem, unobserved: float, n_jobs: int | None) -> Fitted:
    """Return the model after a change of its table: touched users and items are moved, new ones placed."""
    found = over(fitted, change.after, change.users, change.items)
    theta, psi = found.theta, found.psi.astype(np.float64)
    psi[change.items < 0] = problem.item_solver.nearest(fitted.item_pull.centre)
    placed = [
        placed_rows(None if side is None else side.moved(before, np.zeros(before.size, dtype=bool)), before.size)
        for side, before in ((fitted.user_attributes, change.users), (fitted.item_attributes, change.items))
    ]
    users = _rows(change, "users", theta, placed[0], fitted.user_pull, problem.user_solver)
    items = _rows(change, "items", psi, placed[1], fitted.item_pull, problem.item_solver)
    theta[users.rows] = users.solved(psi, unobserved, n_jobs)
    for _ in range(_ROUNDS):
        psi[items.rows] = items.solved(theta, unobserved, n_jobs)
        theta[users.rows] = users.solved(psi, unobserved, n_jobs)
    psi = psi.astype(fitted.psi.dtype)
    return replace(found, theta=theta, psi=psi, n_changed=fitted.n_changed + change.n_entries).checked()


def _rows(
    change: Change, side: Any, factors: Floats, placed: NDArray[np.bool_], pull: Pull, solver: RowSolver
) -> MovedRows:
    """Gather the rows of a side that are touched; those that attributes `placed` are drawn to where these say."""
    after = change.after
    if side == "users":
        rows, view, n_partners = change.touched_users, after.rows, after.n_items
    else:
        rows, view, n_partners = change.touched_items, after.columns, after.n_users
    before = _view(change.entries_before(side, rows), len(rows), n_partners)
    known = (before.counts > 0) | placed[rows]
    anchor = np.where(known[:, None], factors[rows], pull.centre)
    number = USER_SIDE if side == "users" else ITEM_SIDE
    return MovedRows(rows, view.picked(rows), before, anchor, known, pull, solver, number)


def _view(entries: tuple[Rows, Rows, Floats, Floats], n_rows: int, n_partners: int) -> View:
    own, partner, values, weights = entries
    given = Entries(own.astype(np.int32), partner.astype(np.int32), values, weights)
    ordered = given.sorted(n_rows, n_partners, "error", lambda a, b: duplicate("?", "?", str(a), str(b)))
    return ordered.view(n_rows)
