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

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.attributes import Newcomers
from kolmogorov.data.attributes import Side as OneSide
from kolmogorov.data.changes import Change, with_ids
from kolmogorov.data.view import View
from kolmogorov.descent.completion import Many
from kolmogorov.descent.engine import solved_rows
from kolmogorov.descent.fitted import Fitted, Pull, Trained
from kolmogorov.descent.problem import Partners, Problem
from kolmogorov.errors import DataError, ParameterError
from kolmogorov.solvers import RowSolver

Side = Literal["auto", "users", "items"]
#: How often items are moved and then users, after users were moved first: new ones may know each other. By judgement.
_ROUNDS = 2


def solved(
    solver: RowSolver,
    view: View,
    factors: Floats,
    anchor: Floats,
    strength: Floats,
    start: Floats | None = None,
    unobserved: float = 0.0,
    n_jobs: int | None = None,
    before: View | None = None,
) -> Floats:
    """Solve every row of `view`, whose partners have `factors`, with a pull to its anchor; float64[n, D].

    With `before`, anchors of rows that have entries there are where these put them.
    """
    partners, nothing = Partners.of(factors, view, unobserved), np.zeros(anchor.shape[1])
    # Where a row stands among others must not matter.
    seeds = row_seeds(0, 0, int(solver.family != "simplex"), np.zeros(len(anchor), dtype=np.int64))

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

    start = solver.nearest(anchor) if start is None else start
    with one_blas_thread(), Threads(n_jobs) as dealer:
        return solved_rows(solver, equations, start, seeds, dealer, view.indptr)[0]


# --- new rows by their entries ----------------------------------------------------------------------------------------


def new_rows(
    fitted: Fitted, side: OneSide, view: View, problem: Problem, unobserved: float, n_jobs: int | None
) -> NDArray[Any]:
    """Return theta or psi for the rows of `view`, whose partners the model has; nobody's theta is the population's."""
    (centre, strength), solver, factors = fitted.user_pull, problem.user_solver, fitted.psi.astype(np.float64)
    if side == "items":
        (centre, strength), solver, factors = fitted.item_pull, problem.item_solver, fitted.theta
    anchor = np.tile(centre, (view.counts.size, 1))
    found = solved(solver, view, factors, anchor, strength, None, unobserved, n_jobs)
    if side == "users":
        found[view.counts == 0] = fitted.population
    return found if side == "users" else found.astype(fitted.psi.dtype)


def side_of(fitted: Trained, observations: Observations, side: Side) -> OneSide:
    """Settle which side is new: the one whose partners the model knows without exception."""
    if side not in ("auto", "users", "items"):
        raise ParameterError(f"'side' must be 'auto', 'users' or 'items', got {side!r}.")
    if side != "auto":
        return side
    items, users = (_partners(fitted, observations, new)[1] for new in ("users", "items"))
    if items and users:
        raise DataError(
            "Fold-in needs the other side to be known: for new users every item, for new items every user. Here "
            f"item {items[0]!r} and user {users[0]!r} are unknown to the model."
        )
    return "items" if items else "users"


def view_of(fitted: Trained, observations: Observations, side: OneSide) -> View:
    """Return the observations by new rows, with partners numbered as the model numbers them."""
    rows, strangers = _partners(fitted, observations, side)
    if strangers:
        partner = "item" if side == "users" else "user"
        raise DataError(
            f"{len(strangers)} {partner}(s) are unknown to the model, the first is {strangers[0]!r}. Fold in new "
            f"{side} only with {partner}s that it knows."
        )
    view = observations.rows if side == "users" else observations.columns
    return View(view.indptr, rows[view.indices].astype(np.int32), view.values, view.weights)


def _partners(fitted: Trained, observations: Observations, side: str) -> tuple[Rows, list[str]]:
    """Return the model's rows of the partners of a side, and those that occur and that it does not have."""
    known, theirs, seen = fitted.items, observations.items, observations.seen_items
    if side == "items":
        known, theirs, seen = fitted.users, observations.users, observations.rows.counts > 0
    rows = known.translate(theirs)
    return rows, theirs.ids[(rows < 0) & seen].tolist()


# --- a model over another table ---------------------------------------------------------------------------------------


def over(fitted: Fitted, table: Observations, users: Rows, items: Rows) -> Fitted:
    """Return a model over another table; `users` and `items` are the rows before, -1 for new.

    New users are the population, new items anything. Who or what has observations is no longer placed by attributes.
    """
    theta, noise, psi = fitted.theta[np.maximum(users, 0)], fitted.noise[np.maximum(users, 0)], fitted.psi
    theta[users < 0], noise[users < 0] = fitted.population, fitted.noise[fitted.user_seen].mean()
    found = replace(fitted, theta=theta, noise=noise, psi=psi[np.maximum(items, 0)], training=table.over())
    of_users = fitted.user_attributes and fitted.user_attributes.moved(users, table.rows.counts > 0)
    of_items = fitted.item_attributes and fitted.item_attributes.moved(items, table.seen_items)
    return replace(found, user_attributes=of_users, item_attributes=of_items)


def moved(fitted: Fitted, change: Change, problem: Problem, unobserved: float, n_jobs: int | None) -> Fitted:
    """Return the model after a change of its table: touched users and items are moved, new ones placed."""
    found, after = over(fitted, change.after, change.users, change.items), change.after
    theta, psi = found.theta, found.psi.astype(np.float64)
    psi[change.items < 0] = problem.item_solver.nearest(fitted.item_pull.centre)

    def mover(
        side: OneSide, touched: Rows, known: NDArray[np.bool_], were: Floats, pull: Pull, solver: RowSolver
    ) -> Callable[[Floats], Floats]:
        """Return a function from the partners of touched rows to where these are now."""
        now = (after.rows if side == "users" else after.columns).picked(touched)
        before = change.entries_before(side, touched)
        anchor = np.where(known[touched, None], were[touched], pull.centre)
        given = (anchor, pull.strength, None, unobserved, n_jobs, before)
        return lambda factors: solved(solver, now, factors, *given)

    users, items = change.touched_users, change.touched_items
    known = np.append(fitted.user_known, False)[change.users], np.append(fitted.item_known, False)[change.items]
    move_users = mover("users", users, known[0], theta, fitted.user_pull, problem.user_solver)
    move_items = mover("items", items, known[1], psi, fitted.item_pull, problem.item_solver)
    theta[users] = move_users(psi)
    for _ in range(_ROUNDS):
        psi[items] = move_items(theta)
        theta[users] = move_users(psi)
    psi = psi.astype(fitted.psi.dtype)
    return replace(found, theta=theta, psi=psi, n_changed=fitted.n_changed + change.n_entries).checked()


# --- rows that attributes place ---------------------------------------------------------------------------------------


def with_placed(fitted: Fitted, many: Many, problem: Problem) -> Fitted:
    """Return one model that also has the users and items that attributes place in the draws it was learned from."""
    sides = {"users": many.user_attributes, "items": many.item_attributes}
    if not any(side is not None and side.rows.size for side in sides.values()):
        return fitted
    known = many.training
    found = over(fitted, known, fitted.users.translate(known.users), fitted.items.translate(known.items))
    for name, side in sides.items():
        if side is not None:
            found = _with_rows(found, name, side.rows, side.values[side.rows], problem)
    return found.checked()


def introduced(fitted: Fitted, users: Newcomers | None, items: Newcomers | None, problem: Problem) -> Fitted:
    """Return a model that also knows users and items of whom or which there are only attributes.

    Ids that were observed stay where they are.
    """
    sides, nobody = {"users": users, "items": items}, Vocabulary(())
    found = over(fitted, *with_ids(fitted.training, *(new.ids if new else nobody for new in sides.values())))
    for name, new in sides.items():
        if new is not None:
            rows = getattr(found, name).translate(new.ids)
            fresh = ~(found.user_seen if name == "users" else found.item_seen)[rows]
            found = _with_rows(found, name, rows[fresh], new.values[fresh], problem)
    return found.checked()


def _with_rows(fitted: Fitted, name: str, rows: Rows, values: NDArray[Any], problem: Problem) -> Fitted:
    """Return a model in which rows of a side are as near as they can be to where their attributes say."""
    attributes = fitted.user_attributes if name == "users" else fitted.item_attributes
    if attributes is None:
        return fitted
    # Rounded as draws hold them, so that whoever is placed by either is placed by the same numbers.
    values = values.astype(np.float32).astype(np.float64)
    said, attributes = attributes.said(values), attributes.with_rows(rows, values)
    nothing = View(np.zeros(rows.size + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
    if name == "items":
        start, psi = problem.item_solver.nearest(np.clip(said, 0.0, 1.0)), fitted.psi.copy()
        psi[rows] = solved(problem.item_solver, nothing, said[:0], said, attributes.gram, start)
        return replace(fitted, psi=psi, item_attributes=attributes)
    start, theta, noise = np.full_like(said, 1.0 / fitted.n_events), fitted.theta.copy(), fitted.noise.copy()
    theta[rows] = solved(problem.user_solver, nothing, said[:0], said, attributes.gram, start)
    noise[rows] = fitted.noise[fitted.user_seen].mean()
    return replace(fitted, theta=theta, noise=noise, user_attributes=attributes)


# --- what new rows are drawn to ---------------------------------------------------------------------------------------

# Numbers by judgement: predictions of people placed again are 0.02 of the scale from what they were on MovieLens 100K.
#: Rows that are placed again.
_ROWS = 400
#: Strengths that are tried: equal in all directions, in ratings; and the more where rows differ less, as shares of the
#: inverse of their covariance.
_EVEN, _SHAPED = np.geomspace(0.03, 100.0, 8), np.geomspace(0.001, 1.0, 13)
#: The least variance of rows in any direction, as a share of the usual one. Rows that differ by less than the other are
#: the same but for rounding, and their spread says nothing.
_LEAST, _NO_SPREAD = 1e-2, 1e-12


def best_pull(
    solver: RowSolver, view: View, rows: Floats, factors: Floats, weights: Floats, unobserved: float, n_jobs: int | None
) -> Pull:
    """Return the pull under which some rows, placed again from their observations, predict most as they did.

    `factors` are those of the partners that rows were learned with, by whose `weights` differences count.
    """
    seen = np.flatnonzero(view.counts > 0)
    centre = rows[seen].mean(axis=0)
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, min(seen.size, _ROWS)).round().astype(np.int64)])
    some, gram = view.picked(chosen), (factors * weights[:, None]).T @ factors
    anchor = np.tile(centre, (chosen.size, 1))

    def distance(pull: Pull) -> float:
        away = solved(solver, some, factors, anchor, pull.strength, None, unobserved, n_jobs) - rows[chosen]
        return float(((away @ gram) * away).sum())

    return min(_pulls(centre, rows[seen]), key=distance)


def _pulls(centre: Floats, rows: Floats) -> Iterator[Pull]:
    """Yield those that are tried."""
    yield from (Pull.even(centre, ridge) for ridge in _EVEN)
    covariance = np.cov(rows.T, bias=True).reshape(centre.size, centre.size)
    usual = float(np.trace(covariance)) / centre.size
    if usual > _NO_SPREAD:
        inverse = np.linalg.inv(covariance + _LEAST * usual * np.eye(centre.size))
        yield from (Pull(centre, share * (inverse + inverse.T) / 2.0) for share in _SHAPED)
