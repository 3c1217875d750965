"""Attributes in one model: what draws say of them in its events, and rows that they place there.

What attributes say is linear in them, in every draw: an item with the columns z is expected to be (1, z) @ S_k there,
and users with the thetas Theta_k expect Theta_k ((1, z) @ S_k) of it. As any other column of the completed table, this
one has a nearest item in the one model: with its thetas Theta, whose rows weigh W, the one that comes nearest to
(1, z) @ mean_k B_k, B_k = S_k Theta_k^T W Theta (Theta^T W Theta)^-1. Users are placed likewise, by psis.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.attributes import Newcomers
from kolmogorov.data.changes import with_ids, without_ids
from kolmogorov.data.observations import Observations
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.descent.attribute_maps import Attributed, Placing, placed_rows
from kolmogorov.descent.half_step import ITEM_SIDE, USER_SIDE, solved_rows
from kolmogorov.descent.point import Fitted
from kolmogorov.descent.trained import by_users, checked
from kolmogorov.draws.posterior import Posterior
from kolmogorov.solvers import RowSolver

#: What is added to the diagonal of a Gram matrix, as a share of its trace: an event that nobody has is decided.
_RIDGE = 1e-6
#: The least share of everybody that an event counts as having.
_NOBODY = 1e-9


def placing_of(
    side: Attributed, partners: NDArray[Any], factors: Floats, weights: Floats, *, of_users: bool
) -> Placing:
    """Return what attributes say in the events of one model.

    Parameters
    ----------
    side : Attributed
        What they say in every draw.
    partners : [n_draws, n, D_k]
        Factors of the other side in every draw.
    factors, weights : float64[n, D], float64[n]
        Those of the one model, and what their rows weigh.
    of_users : bool
        Whether rows are thetas, which sum to 1. What an attribute of theirs means for an event is how it changes its
        share; one of items, how much more its people expect of them than everybody does.
    """
    size = factors.shape[1]
    weighted = factors * weights[:, None]
    gram = weighted.T @ factors
    gram = (gram + gram.T) / 2.0
    gram[np.diag_indices(size)] += _RIDGE * max(float(np.trace(gram)), _RIDGE)
    crosses = [draw.astype(np.float64).T @ weighted for draw in partners]

    def in_events(slopes: NDArray[np.float32], wanted: float) -> tuple[Floats, Floats]:
        """Return slopes of all draws as moments of the one model's events, and as slopes there; a theta's sum."""
        both = zip(slopes, crosses, strict=True)
        moments = np.stack([own.astype(np.float64) @ cross for own, cross in both])
        found = np.linalg.solve(gram, moments.reshape(-1, size).T).T.reshape(moments.shape)
        if of_users:
            level = np.linalg.solve(gram, np.ones(size))
            found += (wanted - found.sum(axis=2))[..., None] * level / level.sum()
        return moments, found

    means = np.concatenate([in_events(side.slopes[:, :1], 1.0)[1], in_events(side.slopes[:, 1:], 0.0)[1]], axis=1)
    moments, effects = in_events(_against_others(side), 0.0)
    if not of_users:
        mass = weighted.sum(axis=0)
        effects = moments / np.maximum(mass, _NOBODY)
        effects -= (effects @ mass)[..., None] / mass.sum()
    return Placing.of_draws(side.columns, means, gram, effects)


def _against_others(side: Attributed) -> NDArray[np.float32]:
    """Return the slopes that draws may have, those of a category against the others, which it excludes.

    The others weigh as many rows as have them. Categories that are too rare to have a column say nothing.
    """
    found, first = side.drawn.copy(), 0
    for column in side.columns:
        block = slice(first, first + len(column.columns))
        first = block.stop
        if column.kind == "category":
            share, own = np.array(column.centre), side.drawn[:, block].astype(np.float64)
            total = np.einsum("c,kcd->kd", share, own)[:, None]
            without = np.maximum(1.0 - share, _NOBODY)[:, None]
            found[:, block] = own - (total - share[:, None] * own) / without
    return found


def without_placed(drawn: Posterior) -> Posterior:
    """Return draws without users and items of which attributes are all that is known: one model is learned of these."""
    users = placed_rows(drawn.user_attributes, len(drawn.users))
    items = placed_rows(drawn.item_attributes, len(drawn.items))
    if not users.any() and not items.any():
        return drawn
    return replace(
        drawn,
        theta=drawn.theta[:, ~users],
        psi=drawn.psi[:, ~items],
        noise=drawn.noise[:, ~users],
        training=by_users(without_ids(drawn.training, users, items)),
        user_attributes=_only(drawn.user_attributes, ~users),
        item_attributes=_only(drawn.item_attributes, ~items),
    )


def _only(side: Attributed | None, rows: NDArray[np.bool_]) -> Attributed | None:
    """Return what attributes say where no row is placed by them."""
    if side is None:
        return None
    return replace(side, values=side.values[rows], rows=side.rows[:0], centre=side.centre[:, :0])


def with_placed(fitted: Fitted, drawn: Posterior, solvers: tuple[RowSolver, RowSolver]) -> Fitted:
    """Return one model that also has the users and items that attributes place in the draws it was learned from."""
    users, items = drawn.user_attributes, drawn.item_attributes
    rows = [np.empty(0, dtype=np.int64) if side is None else side.rows for side in (users, items)]
    if not rows[0].size and not rows[1].size:
        return fitted
    before = [mine.translate(theirs) for mine, theirs in ((fitted.users, drawn.users), (fitted.items, drawn.items))]
    found = _over(fitted, drawn.training, before[0], before[1])
    if users is not None:
        found = _with_users(found, rows[0], users.values[rows[0]].astype(np.float64), solvers[0])
    if items is not None:
        found = _with_items(found, rows[1], items.values[rows[1]].astype(np.float64), solvers[1])
    return checked(found)


def introduced(
    fitted: Fitted, users: Newcomers | None, items: Newcomers | None, solvers: tuple[RowSolver, RowSolver]
) -> Fitted:
    """Return a model that also knows users and items of whom or which there are only attributes.

    Ids that were observed stay where they are.
    """
    new_users = Vocabulary(fitted.users.ids[:0]) if users is None else users.ids
    new_items = Vocabulary(fitted.items.ids[:0]) if items is None else items.ids
    found = _over(fitted, *with_ids(fitted.training, new_users, new_items))
    if users is not None:
        rows = found.users.translate(new_users)
        chosen = ~found.user_seen[rows]
        found = _with_users(found, rows[chosen], _as_stored(users.values[chosen]), solvers[0])
    if items is not None:
        rows = found.items.translate(new_items)
        chosen = ~found.item_seen[rows]
        found = _with_items(found, rows[chosen], _as_stored(items.values[chosen]), solvers[1])
    return checked(found)


def _as_stored(values: Floats) -> Floats:
    """Round attributes as draws hold them, so that whoever is placed by either is placed by the same numbers."""
    return values.astype(np.float32).astype(np.float64)


def _over(fitted: Fitted, table: Observations, users: Rows, items: Rows) -> Fitted:
    """Return a model over a table with more users and items; `users` and `items` are the rows before, -1 for new."""
    theta, noise = fitted.theta[np.maximum(users, 0)], fitted.noise[np.maximum(users, 0)]
    theta[users < 0], noise[users < 0] = fitted.population, fitted.noise[fitted.user_seen].mean()
    sides = ((fitted.user_attributes, users, table.rows.counts > 0), (fitted.item_attributes, items, table.seen_items))
    moved = [None if side is None else side.moved(before, seen) for side, before, seen in sides]
    return replace(
        fitted,
        theta=theta,
        psi=fitted.psi[np.maximum(items, 0)],
        noise=noise,
        training=by_users(table),
        user_attributes=moved[0],
        item_attributes=moved[1],
    )


def _with_users(fitted: Fitted, rows: Rows, values: Floats, solver: RowSolver) -> Fitted:
    assert fitted.user_attributes is not None
    theta, noise = fitted.theta.copy(), fitted.noise.copy()
    theta[rows] = _placed(fitted.user_attributes, values, solver, USER_SIDE)
    noise[rows] = fitted.noise[fitted.user_seen].mean()
    side = fitted.user_attributes.with_rows(rows, values)
    return replace(fitted, theta=theta, noise=noise, user_attributes=side)


def _with_items(fitted: Fitted, rows: Rows, values: Floats, solver: RowSolver) -> Fitted:
    assert fitted.item_attributes is not None
    psi = fitted.psi.copy()
    psi[rows] = _placed(fitted.item_attributes, values, solver, ITEM_SIDE)
    return replace(fitted, psi=psi, item_attributes=fitted.item_attributes.with_rows(rows, values))


def _placed(side: Placing, values: Floats, solver: RowSolver, number: int) -> Floats:
    """Return the feasible rows nearest to what attributes say; float64[n, D]."""
    said = side.said(values)
    moment = np.array([(row[:, None] * side.gram).sum(axis=0) for row in said]).reshape(said.shape)
    start = np.array([solver.nearest(np.clip(row, 0.0, 1.0)) for row in said]).reshape(said.shape)
    if number == USER_SIDE:
        start = np.full_like(said, 1.0 / said.shape[1])
    seeds = row_seeds(0, 0, number, np.zeros(len(said), dtype=np.int64))

    def equations(first: int, last: int) -> tuple[Floats, Floats]:
        return np.tile(side.gram, (last - first, 1, 1)), moment[first:last].copy()

    with one_blas_thread(), Threads(None) as dealer:
        return solved_rows(solver, equations, start, seeds, dealer)[0]
