"""Rows that are put into one model: new ones, those whose entries have changed, and those that attributes place.

Each solves a problem of its own, of its entries and of a pull to where it is drawn: x^T (A + S) x - 2 x^T (m + S a). A
row that is new is drawn to what rows usually are. A row that was there has solved such a problem before, of which is
known where it ended: near x' it was (x - x')^T A' (x - x'), with the Gram matrix A' of its entries then and the pull.
So it is drawn to x', and A' x' - m', what its entries of then say beyond that, is added, which is recursive least
squares. A row without entries is drawn to where its attributes say that it is, and comes as near as a row can.

Nobody tells such a model how strongly a new user is to be drawn to the population. The users that it knows do: placed
again from their own ratings, as if they were new, they should come out where they are. The pull is the one under
which they do so best; likewise for items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.attributes import Newcomers
from kolmogorov.data.changes import Change, with_ids
from kolmogorov.data.view import View
from kolmogorov.descent.engine import solved_rows
from kolmogorov.descent.fitted import Fitted, Pull
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Partners, Problem
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.solvers import RowSolver

if TYPE_CHECKING:
    from kolmogorov.draws.posterior import Posterior

Side = Literal["auto", "users", "items"]
#: How often items are moved and then users, after users were moved first: new ones may know each other. By judgement.
_ROUNDS = 2


def solved(
    view: View,
    factors: Floats,
    anchor: Floats,
    strength: Floats,
    start: Floats,
    solver: RowSolver,
    side: int,
    unobserved: float,
    n_jobs: int | None,
    before: View | None = None,
) -> Floats:
    """Solve every row of `view`, whose partners have `factors`, with a pull to its anchor; float64[n, D].

    With `before`, anchors of rows that have entries there are where these put them.
    """
    partners, nothing = Partners.of(factors, view, unobserved), np.zeros(anchor.shape[1])
    seeds = row_seeds(0, 0, side, np.zeros(len(anchor), dtype=np.int64))

    def equations(first: int, last: int) -> tuple[Floats, Floats]:
        own = anchor[first:last]
        # Sums of their own: those of BLAS are rounded by how many rows there are.
        pull = (own[:, :, None] * strength).sum(axis=1)
        if before is not None:
            gram, moment = partners.equations(before, first, last, 0.0, nothing)
            pull += (np.einsum("nde,ne->nd", gram, own) - moment) * (before.counts[first:last, None] > 0)
        gram, moment = partners.equations(view, first, last, 0.0, nothing)
        gram += strength
        moment += pull
        return gram, moment

    with one_blas_thread(), Threads(n_jobs) as dealer:
        return solved_rows(solver, equations, start, seeds, dealer, view.indptr)[0]


def placed(
    view: View, factors: Floats, pull: Pull, solver: RowSolver, side: int, unobserved: float, n_jobs: int | None
) -> Floats:
    """Return where the rows of `view` are, new as they are."""
    anchor = np.tile(pull.centre, (view.indptr.size - 1, 1))
    return solved(view, factors, anchor, pull.strength, solver.nearest(anchor), solver, side, unobserved, n_jobs)


# --- new rows by their entries ----------------------------------------------------------------------------------------


def new_users(fitted: Fitted, view: View, solver: RowSolver, unobserved: float, n_jobs: int | None) -> Floats:
    """Return theta for the rows of `view`, whose partners are the model's items; without entries, the population's."""
    theta = placed(view, fitted.psi.astype(np.float64), fitted.user_pull, solver, USER_SIDE, unobserved, n_jobs)
    theta[view.counts == 0] = fitted.population
    return theta


def new_items(fitted: Fitted, view: View, solver: RowSolver, unobserved: float, n_jobs: int | None) -> NDArray[Any]:
    """Return psi for the rows of `view`, whose partners are the model's users."""
    psi = placed(view, fitted.theta, fitted.item_pull, solver, ITEM_SIDE, unobserved, n_jobs)
    return psi.astype(fitted.psi.dtype)


def side_of(fitted: Fitted, observations: Observations, side: Side) -> Literal["users", "items"]:
    """Settle which side is new: the one whose partners the model knows without exception."""
    if side in ("users", "items"):
        return side
    if side != "auto":
        raise ParameterError(f"'side' must be 'auto', 'users' or 'items', got {side!r}.")
    items, users = (_strangers(fitted, observations, new) for new in ("users", "items"))
    if not items:
        return "users"
    if not users:
        return "items"
    raise DataError(
        "Fold-in needs the other side to be known: for new users every item, for new items every user. Here "
        f"item {items[0]!r} and user {users[0]!r} are unknown to the model."
    )


def view_of(fitted: Fitted, observations: Observations, side: Literal["users", "items"]) -> View:
    """Return the observations by new rows, with partners numbered as the model numbers them."""
    if strangers := _strangers(fitted, observations, side):
        partner = "item" if side == "users" else "user"
        raise DataError(
            f"{len(strangers)} {partner}(s) are unknown to the model, the first is {strangers[0]!r}. Fold in new "
            f"{side} only with {partner}s that it knows."
        )
    view = observations.rows if side == "users" else observations.columns
    known, theirs = _partners(fitted, observations, side)
    return View(view.indptr, known.translate(theirs)[view.indices].astype(np.int32), view.values, view.weights)


def _partners(fitted: Fitted, observations: Observations, side: str) -> tuple[Vocabulary, Vocabulary]:
    """Return the partners of a side, as the model and as the observations know them."""
    return (fitted.items, observations.items) if side == "users" else (fitted.users, observations.users)


def _strangers(fitted: Fitted, observations: Observations, side: str) -> list[Any]:
    """Return the partners of a side that occur in the observations and that the model does not have."""
    known, theirs = _partners(fitted, observations, side)
    seen = observations.seen_items if side == "users" else observations.rows.counts > 0
    missing: list[Any] = theirs.ids[(known.translate(theirs) < 0) & seen].tolist()
    return missing


# --- a model over another table ---------------------------------------------------------------------------------------


def over(fitted: Fitted, table: Observations, users: Rows, items: Rows) -> Fitted:
    """Return a model over another table; `users` and `items` are the rows before, -1 for new.

    New users are the population, new items anything. Who or what has observations is no longer placed by attributes.
    """
    theta, noise = fitted.theta[np.maximum(users, 0)], fitted.noise[np.maximum(users, 0)]
    theta[users < 0], noise[users < 0] = fitted.population, fitted.noise[fitted.user_seen].mean()
    of_users, of_items = fitted.user_attributes, fitted.item_attributes
    return replace(
        fitted,
        theta=theta,
        psi=fitted.psi[np.maximum(items, 0)],
        noise=noise,
        training=table.over(),
        user_attributes=None if of_users is None else of_users.moved(users, table.rows.counts > 0),
        item_attributes=None if of_items is None else of_items.moved(items, table.seen_items),
    )


def moved(fitted: Fitted, change: Change, problem: Problem, unobserved: float, n_jobs: int | None) -> Fitted:
    """Return the model after a change of its table: touched users and items are moved, new ones placed."""
    found, after = over(fitted, change.after, change.users, change.items), change.after
    theta, psi = found.theta, found.psi.astype(np.float64)
    psi[change.items < 0] = problem.item_solver.nearest(fitted.item_pull.centre)

    def mover(
        view: View, before: View, were: Floats, known: NDArray[np.bool_], pull: Pull, solver: RowSolver, side: int
    ) -> Callable[[Floats], Floats]:
        """Return a function from the partners of some rows to where these are now."""
        anchor = np.where(known[:, None], were, pull.centre)
        given = (anchor, pull.strength, solver.nearest(anchor), solver, side, unobserved, n_jobs, before)
        return lambda factors: solved(view, factors, *given)

    users, items = change.touched_users, change.touched_items
    before = change.entries_before("users", users)
    known = np.append(fitted.user_known, False)[change.users[users]]
    given = theta[users], known, fitted.user_pull, problem.user_solver, USER_SIDE
    moved_users = mover(after.rows.picked(users), before, *given)
    before = change.entries_before("items", items)
    known = np.append(fitted.item_known, False)[change.items[items]]
    given = psi[items], known, fitted.item_pull, problem.item_solver, ITEM_SIDE
    moved_items = mover(after.columns.picked(items), before, *given)
    theta[users] = moved_users(psi)
    for _ in range(_ROUNDS):
        psi[items] = moved_items(theta)
        theta[users] = moved_users(psi)
    psi = psi.astype(fitted.psi.dtype)
    return replace(found, theta=theta, psi=psi, n_changed=fitted.n_changed + change.n_entries).checked()


# --- rows that attributes place ---------------------------------------------------------------------------------------


def with_placed(fitted: Fitted, drawn: Posterior, problem: Problem) -> Fitted:
    """Return one model that also has the users and items that attributes place in the draws it was learned from."""
    sides = {USER_SIDE: drawn.user_attributes, ITEM_SIDE: drawn.item_attributes}
    if not any(side is not None and side.rows.size for side in sides.values()):
        return fitted
    found = over(fitted, drawn.training, fitted.users.translate(drawn.users), fitted.items.translate(drawn.items))
    for number, side in sides.items():
        if side is not None:
            found = _with_rows(found, number, side.rows, side.values[side.rows], problem)
    return found.checked()


def introduced(fitted: Fitted, users: Newcomers | None, items: Newcomers | None, problem: Problem) -> Fitted:
    """Return a model that also knows users and items of whom or which there are only attributes.

    Ids that were observed stay where they are.
    """
    nobody = Vocabulary(fitted.users.ids[:0])
    found = over(fitted, *with_ids(fitted.training, *(nobody if new is None else new.ids for new in (users, items))))
    if users is not None:
        rows = found.users.translate(users.ids)
        fresh = ~found.user_seen[rows]
        found = _with_rows(found, USER_SIDE, rows[fresh], users.values[fresh], problem)
    if items is not None:
        rows = found.items.translate(items.ids)
        fresh = ~found.item_seen[rows]
        found = _with_rows(found, ITEM_SIDE, rows[fresh], items.values[fresh], problem)
    return found.checked()


def _with_rows(fitted: Fitted, side: int, rows: Rows, values: NDArray[Any], problem: Problem) -> Fitted:
    """Return a model in which rows of a side are as near as they can be to where their attributes say."""
    attributes = fitted.user_attributes if side == USER_SIDE else fitted.item_attributes
    if attributes is None:
        return fitted
    # Rounded as draws hold them, so that whoever is placed by either is placed by the same numbers.
    values = values.astype(np.float32).astype(np.float64)
    said = attributes.said(values)
    solver = problem.user_solver if side == USER_SIDE else problem.item_solver
    start = np.full_like(said, 1.0 / fitted.n_events) if side == USER_SIDE else solver.nearest(np.clip(said, 0.0, 1.0))
    nothing = View(np.zeros(rows.size + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
    found = solved(nothing, said[:0], said, attributes.gram, start, solver, side, 0.0, None)
    attributes = attributes.with_rows(rows, values)
    if side == ITEM_SIDE:
        psi = fitted.psi.copy()
        psi[rows] = found
        return replace(fitted, psi=psi, item_attributes=attributes)
    theta, noise = fitted.theta.copy(), fitted.noise.copy()
    theta[rows], noise[rows] = found, fitted.noise[fitted.user_seen].mean()
    return replace(fitted, theta=theta, noise=noise, user_attributes=attributes)


# --- what new rows are drawn to ---------------------------------------------------------------------------------------

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
    view, rows = side.view.picked(chosen), side.rows[chosen]
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
