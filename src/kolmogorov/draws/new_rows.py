"""Users and items that were not there when chains were run: drawn given each draw, or placed by their attributes.

Chains use attributes beside the pattern of the table, which says most of what attributes would say alone. Of a user or
an item without observations there is no pattern, so that thetas and psis are explained by attributes once more, when
chains are through.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.seeds import row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats, Rows, Seeds
from kolmogorov.data.attributes import Attributes, Newcomers, TableAttributes
from kolmogorov.data.changes import with_ids
from kolmogorov.data.view import View
from kolmogorov.data.vocabulary import Vocabulary
from kolmogorov.descent.attributes import Attributed, carried, moved_rows
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.likelihood import Draw
from kolmogorov.draws.plan import nearest, on_grid
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.priors import shrunk_slopes, usual_precision

#: Sweeps over a new user for each draw, and how many of the last are averaged. By judgement.
_SWEEPS, _KEPT = 12, 8
_ATTRIBUTES = {"users": "user_attributes", "items": "item_attributes"}


def new_thetas(posterior: Posterior, view: View, n_jobs: int | None) -> Floats:
    """Return thetas for the rows of `view`, whose partners are the model's items: all draws side by side.

    For each draw a row is drawn some times given that draw's psis, from the population on, and the mean of the last
    ones is taken. A row without entries gets the population's.
    """
    kind, parts = posterior.kind, []
    with one_blas_thread(), Threads(n_jobs) as dealer:
        for k in range(posterior.n_draws):
            population = posterior.theta[k, posterior.user_seen].mean(axis=0, dtype=np.float64)
            start = np.tile(population, (view.counts.size, 1))
            psi, noise = posterior.psi[k].astype(np.float64), np.full(len(start), float(posterior.noise[k].mean()))
            prior = float(posterior.priors["concentration"][k]), start
            draw = kind.behind(kind.thetas, view, psi, noise, prior)
            theta = _settled(draw, start, _same_seeds(k, _SWEEPS, USER_SIDE), dealer)
            theta[view.counts == 0] = population / population.sum()
            parts.append(theta / posterior.n_draws)
    return np.concatenate(parts, axis=1)


def _settled(draw: Draw, start: Floats, seeds: Seeds, dealer: Threads) -> Floats:
    """Draw rows once for each seed; return the mean of the last draws."""
    total = np.zeros_like(start)

    def share(first: int, last: int) -> None:
        theta, out = start.copy(), np.empty_like(start)
        for index, seed in enumerate(seeds):
            draw(theta, np.full(last - first, seed), first, last, out)
            theta[first:last] = out[first:last]
            if index >= _SWEEPS - _KEPT:
                total[first:last] += theta[first:last] / _KEPT

    dealer.deal(share, len(start), start.shape[1] ** 2)
    return total


def new_psis(posterior: Posterior, view: View) -> NDArray[Any]:
    """Return psis for the rows of `view`, whose partners are the model's users: all draws side by side.

    Before its ratings are looked at, a new item is what the items known are on average, as far off as these are.
    """
    found, n, kind, levels = [], view.counts.size, posterior.kind, posterior.levels
    sweeps, rounds = kind.new_item_rounds
    with one_blas_thread():
        for k in range(posterior.n_draws):
            known = levels[nearest(posterior.psi[k], levels)[posterior.item_seen]]
            mean = known.mean(axis=0)
            precision = usual_precision(known - mean, kind.psi_variance)
            theta, noise = (part[k].astype(np.float64) for part in (posterior.theta, posterior.noise))
            prior = (np.tile(mean, (n, 1)), precision)
            draw = kind.behind(kind.psis, view, theta, noise, prior, rounds)
            codes = nearest(prior[0], levels)
            for seed in _same_seeds(k, sweeps, ITEM_SIDE):
                fresh = np.empty_like(codes)
                draw(codes, np.full(n, seed), 0, n, fresh)
                codes = fresh
            found.append(levels[codes].astype(np.float32))
    return np.concatenate(found, axis=1)


def _same_seeds(draw: int, sweeps: int, side: int) -> Seeds:
    """Return a seed for each sweep, the same for every row: where a new row stands among others must not matter."""
    return row_seeds(draw, np.arange(sweeps), side, np.zeros(1, dtype=np.int64))


# --- rows of which attributes are all that is known -------------------------------------------------------------------


def attributed(posterior: Posterior, known: TableAttributes) -> Posterior:
    """Return draws that know what attributes say, and in which rows without observations are placed by them."""
    rng = np.random.default_rng(0)
    # Answers are given to items that many answer, and these are liked more: an item weighs as many as it has.
    of_users = ("users", known.users, posterior.theta, posterior.user_seen.astype(np.float64))
    for name, told, factors, weights in (of_users, ("items", known.items, posterior.psi, posterior.item_counts)):
        if told is not None:
            side = _learned(told, factors, weights, rng)
            # Where only yes is recorded, no row is placed.
            unseen = np.flatnonzero(told.known & (weights == 0) & (posterior.unobserved == 0.0))
            posterior = _placed(posterior, name, side, unseen, told.values[unseen])
    return posterior.checked()


def introduced(posterior: Posterior, users: Newcomers | None, items: Newcomers | None) -> Posterior:
    """Return draws that also know users and items of whom or which there are only attributes.

    Ids that were observed stay where they are.
    """
    fresh = [Vocabulary(posterior.users.ids[:0]) if new is None else new.ids for new in (users, items)]
    table, *before = with_ids(posterior.training, *fresh)
    here = [np.maximum(rows, 0) for rows in before]
    noise = posterior.noise[:, here[0]]
    noise[:, before[0] < 0] = posterior.noise_of(np.array([len(posterior.users)]))
    found = replace(
        posterior,
        theta=posterior.theta[:, here[0]],
        psi=posterior.psi[:, here[1]],
        noise=noise,
        training=table.over(),
        user_attributes=_moved(posterior.user_attributes, before[0]),
        item_attributes=_moved(posterior.item_attributes, before[1]),
    )
    for name, new, seen in (("users", users, found.user_seen), ("items", items, found.item_seen)):
        side = getattr(found, _ATTRIBUTES[name])
        if new is not None and side is not None:
            rows = getattr(found, name).translate(new.ids)
            unseen = ~seen[rows]
            found = _placed(found, name, side, rows[unseen], new.values[unseen])
    return found.checked()


def _learned(known: Attributes, factors: NDArray[Any], weights: NDArray[Any], rng: np.random.Generator) -> Attributed:
    """Explain thetas or psis by attributes, in each draw; rows of weight 0 are left out."""
    seen = weights > 0
    weights = weights[seen] / weights.sum()
    effective = 1.0 / float((weights**2).sum())
    values = known.values[seen]
    usual = weights @ values
    apart = values - usual
    weighted = effective * weights[:, None] * apart
    gram = weighted.T @ apart
    slopes = np.empty((len(factors), 1 + values.shape[1], factors.shape[2]))
    left, drawn_slopes = np.empty((len(factors), factors.shape[2])), slopes[:, 1:].copy()
    for k, drawn in enumerate(factors):
        rows = drawn[seen].astype(np.float64)
        mean = weights @ rows
        rows -= mean
        total = effective * float(weights @ (rows**2).sum(axis=1))
        own, spread = shrunk_slopes(gram, weighted.T @ rows, total, effective, known.blocks)
        slopes[k, 0], slopes[k, 1:] = mean - usual @ own, own
        some = int(rng.choice(len(rows), p=weights))
        left[k] = rows[some] - apart[some] @ own
        rows -= apart @ own
        random = np.random.default_rng((1, k)).standard_normal(own.shape)
        drawn_slopes[k] = own + _root(spread) @ random @ _root((rows * weights[:, None]).T @ rows)
    nothing = np.empty((len(factors), 0, factors.shape[2]), dtype=np.float32)
    values, nobody = known.values.astype(np.float32), np.empty(0, dtype=np.int64)
    others = drawn_slopes.astype(np.float32), left.astype(np.float32)
    return Attributed(known.columns, slopes.astype(np.float32), values, nobody, *others, nothing)


def _root(covariance: Floats) -> Floats:
    """Return the symmetric square root of a covariance."""
    squares, vectors = np.linalg.eigh(covariance)
    found: Floats = (vectors * np.sqrt(np.maximum(squares, 0.0))) @ vectors.T
    return found


def _placed(posterior: Posterior, name: str, side: Attributed, rows: Rows, values: Floats) -> Posterior:
    """Place rows of a side by their attributes; one that was placed before is placed anew."""
    said = side.said(values).astype(np.float64)
    apart = said + side.apart[:, None]
    changed: dict[str, Any]
    if name == "users":
        said, theta = _on_simplex(said), posterior.theta.copy()
        for k, drawn in enumerate(apart):
            theta[k, rows] = on_grid(_on_simplex(drawn))
        changed = {"theta": theta}
    else:
        psi = posterior.psi.copy()
        psi[:, rows] = posterior.levels[nearest(apart, posterior.levels)]
        changed = {"psi": psi}
    stays, every = ~np.isin(side.rows, rows), side.values.copy()
    every[rows] = values
    placed = np.concatenate([side.rows[stays], rows])
    centres = np.concatenate([side.centre[:, stays], said.astype(np.float32)], axis=1)
    order = np.argsort(placed)
    changed[_ATTRIBUTES[name]] = replace(side, values=every, rows=placed[order], centre=centres[:, order])
    return replace(posterior, **changed)


def _moved(side: Attributed | None, before: Rows) -> Attributed | None:
    """Return a side whose rows are others now; `before` are those of each row now."""
    if side is None:
        return None
    rows, stays = moved_rows(side.rows, before)
    return replace(side, values=carried(side.values, before), rows=rows, centre=side.centre[:, stays])


def _on_simplex(theta: Floats) -> Floats:
    """Cut what lies beyond the simplex."""
    cut = np.maximum(theta, 0.0)
    found: Floats = cut / cut.sum(axis=-1, keepdims=True)
    return found
