"""Where chains of ratings start: draws of a model without the simplex, which settle in a few sweeps, put onto it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitting.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.kernels.draws.normals import draw_normals
from kolmogorov.kernels.rows.products import residual_squares
from kolmogorov.sampling.values import ValuePrior

_SWEEPS = 30
_LEAST_NOISE = 1e-6
#: Values begin so many times closer to their means than what would explain all answers: what is not there must not
#: have to be unlearned, which takes long where rows are short.
_SMALL = 30.0
#: The least share of an event, in equal shares: thetas leave the very edge slowly.
_LEAST_SHARE = 1e-3
#: What the draw of a row's factors takes beside its sums, in observations.
_ROW_COST = 200


@dataclass(frozen=True, eq=False)
class Factors:
    """answer = (1, f_u) . y_i + noise, with D - 1 factors f_u ~ Normal(0, 1) and y_i ~ Normal as in `ValuePrior`.

    Attributes
    ----------
    users : float64[n_users, D]
        The first column is 1.
    values : float64[n_items, D]
    items : ValuePrior
    noise : float
        Its variance.
    """

    users: Floats
    values: Floats
    items: ValuePrior
    noise: float

    def on_simplex(self, spread: float, rng: np.random.Generator) -> tuple[Floats, Floats, ValuePrior]:
        """Return thetas, values of events and their prior with the same products, but for thetas that are cut.

        Factors become moves away from equal shares, `spread` for each of them, in random directions. Whatever is chosen
        there, values make up for it.
        """
        size = self.users.shape[1]
        frame, _ = np.linalg.qr(np.column_stack([np.ones(size), rng.standard_normal((size, size - 1))]))
        away = spread * frame[:, 1:]
        theta = np.maximum(1.0 / size + self.users[:, 1:] @ away.T, _LEAST_SHARE / size)
        turn = np.column_stack([np.ones(size), away / spread**2])
        back = np.linalg.inv(turn)
        precision = back.T @ self.items.precision @ back
        prior = replace(self.items, slopes=self.items.slopes @ turn.T, precision=(precision + precision.T) / 2.0)
        return theta / theta.sum(axis=1, keepdims=True), self.values @ turn.T, prior


def drawn_factors(
    table: Observations,
    features: Floats,
    size: int,
    variance: float,
    mass: float,
    seed: int,
    dealer: Threads,
    rng: np.random.Generator,
) -> Factors:
    """Run a chain from random factors; `variance` is that of `ValuePrior.learned`, `mass` the sum of weights."""
    seen = table.columns.counts > 0
    noise = max(float(np.var(table.values)), 1e-4)
    items = ValuePrior.start(features, size, 0.0)
    items.slopes[0, 0] = float(table.values.mean())
    precision = np.full(size, _SMALL * size / noise)
    precision[0] = 1.0 / noise
    items = replace(items, precision=np.diag(precision))
    users = np.column_stack([np.ones(table.n_users), rng.standard_normal((table.n_users, size - 1))])
    rows, squares = table.rows, np.empty(table.n_users)
    for index in range(_SWEEPS):
        values = _values(table, users, items, noise, seed, index, dealer)
        users = _users(table, values, noise, seed, index, dealer)
        given = (rows.indptr, rows.indices, rows.values, rows.weights, users, values)
        dealer.deal(partial(_squares, given, squares), len(users), 1, rows.indptr, 16 * size)
        noise = max(0.5 * float(squares.sum()) / float(rng.gamma(0.5 * mass)), _LEAST_NOISE)
        items = items.learned(values, seen, variance, rng)
    return Factors(users, values, items, noise)


def _squares(given: tuple[Any, ...], squares: Floats, first: int, last: int) -> None:
    residual_squares(*given, first, last, squares)


def _values(
    table: Observations, users: Floats, items: ValuePrior, noise: float, seed: int, index: int, dealer: Threads
) -> Floats:
    view, size = table.columns, users.shape[1]
    out = np.empty((table.n_items, size))
    given = (view.indptr, view.indices, view.values, view.weights, 1.0 / noise, users, items.centre, items.precision)
    seeds = row_seeds(seed, index, ITEM_SIDE, np.arange(len(out)))

    def share(first: int, last: int) -> None:
        draw_normals(*given, seeds[first:last], first, last, out)

    dealer.deal(share, len(out), 1, view.indptr, size * size, _ROW_COST)
    return out


def _users(table: Observations, values: Floats, noise: float, seed: int, index: int, dealer: Threads) -> Floats:
    """Draw factors given what the items' first values, the same for all users, leave of the answers."""
    view, size = table.rows, values.shape[1]
    out = np.empty((table.n_users, size - 1))
    left = view.values - values[view.indices, 0]
    factors, nothing, unit = np.ascontiguousarray(values[:, 1:]), np.zeros_like(out), np.eye(size - 1)
    given = (view.indptr, view.indices, left, view.weights, 1.0 / noise, factors, nothing, unit)
    seeds = row_seeds(seed, index, USER_SIDE, np.arange(len(out)))

    def share(first: int, last: int) -> None:
        draw_normals(*given, seeds[first:last], first, last, out)

    dealer.deal(share, len(out), 1, view.indptr, size * size, _ROW_COST)
    return np.column_stack([np.ones(len(out)), out])
