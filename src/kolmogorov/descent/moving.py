"""Rows of one model whose entries have changed, moved by what has changed of them.

A row x minimises x^T A x - 2 x^T m. What is known of how it was learned is where it ended: near x' its problem was
(x - x')^T A' (x - x'), with the Gram matrix A' of its entries then and the pull. Entries that are new, and those that
are gone, add to it and take from it; so A = A' + sum new f f^T - sum gone f f^T, and m = A' x' + sum new r f -
sum gone r f, which is recursive least squares. For a row that is new A' is the pull, and x' its centre: it is placed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.changes import Change
from kolmogorov.data.view import Entries, View, duplicate
from kolmogorov.descent.attribute_maps import placed_rows
from kolmogorov.descent.half_step import ITEM_SIDE, USER_SIDE, Partners, solved_rows
from kolmogorov.descent.point import Fitted, Pull
from kolmogorov.descent.trained import by_users, checked
from kolmogorov.solvers import RowSolver

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


def moved(
    fitted: Fitted, change: Change, solvers: tuple[RowSolver, RowSolver], unobserved: float, n_jobs: int | None
) -> Fitted:
    """Return the model after a change of its table: touched users and items are moved, new ones placed."""
    theta = _carried(fitted.theta, change.users, fitted.population)
    psi = _carried(fitted.psi.astype(np.float64), change.items, solvers[1].nearest(fitted.item_pull.centre))
    placed = [
        placed_rows(None if side is None else side.moved(before, np.zeros(before.size, dtype=bool)), before.size)
        for side, before in ((fitted.user_attributes, change.users), (fitted.item_attributes, change.items))
    ]
    users = _rows(change, "users", theta, placed[0], fitted.user_pull, solvers[0])
    items = _rows(change, "items", psi, placed[1], fitted.item_pull, solvers[1])
    theta[users.rows] = users.solved(psi, unobserved, n_jobs)
    for _ in range(_ROUNDS):
        psi[items.rows] = items.solved(theta, unobserved, n_jobs)
        theta[users.rows] = users.solved(psi, unobserved, n_jobs)
    noise = _carried(fitted.noise, change.users, fitted.noise[fitted.user_seen].mean())
    after, known = change.after, (fitted.user_attributes, fitted.item_attributes)
    return checked(
        replace(
            fitted,
            theta=theta,
            psi=psi.astype(bool) if fitted.psi.dtype == bool else psi,
            noise=noise,
            training=by_users(after),
            user_attributes=None if known[0] is None else known[0].moved(change.users, after.rows.counts > 0),
            item_attributes=None if known[1] is None else known[1].moved(change.items, after.columns.counts > 0),
            n_changed=fitted.n_changed + change.n_entries,
        )
    )


def _carried(rows: Floats, before: Rows, otherwise: Any) -> Floats:
    """Return rows in their new order; those that are new are something else."""
    found: Floats = rows[np.maximum(before, 0)]
    found[before < 0] = otherwise
    return found


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
