"""Where chains start: from factors, near mean answers, or from before.

Factors are models without the simplex, which settle in a few sweeps. Of ratings that are hidden behind yes and no they
come as far from the line between them as answers are sure.

Where a table has changed, a model lies in the middle of where chains of its table go, and the last draw of a chain
where the mass of its posterior is: they need not find the way there. What neither holds of a chain's state, the priors,
is learned again from thetas and psis, and then in a few sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.jit import kernel
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.typing import Floats
from kolmogorov.data.changes import Change
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE, Fitted
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.chain import HIDDEN, START, Chain, ChainState
from kolmogorov.draws.gibbs import draw_hidden, normal
from kolmogorov.draws.likelihood import entries
from kolmogorov.draws.plan import WARM_BLUR, nearest
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.solvers.rows import normal_equations, residual_squares

#: How far an item's levels begin from its mean answer. By judgement: chains forget it.
_SPREAD = 0.3
#: Draws of the items' prior before the first sweep where chains start from before. By judgement.
_PRIOR_ROUNDS = 2
#: A table that can be fitted exactly would draw the noise to nothing, and one whose weights sum to nothing to anything.
_LEAST_NOISE, _MOST_NOISE = 1e-6, 1e6
#: The least that noise is divided by: gamma numbers of a tiny shape round to 0.
_LEAST_GAMMA = 1e-300
#: Items begin so many times closer to their means than what would explain all answers: what is not there must not
#: have to be unlearned, which takes long where rows are short. By judgement.
_SMALL = 30.0
#: The least share of an event where a chain begins, in equal shares: thetas leave the very edge slowly. By judgement.
_LEAST_SHARE = 1e-3
#: What the draw of a row's factors takes beside its sums, in observations, and that of an answer, in multiplications;
#: how rows are dealt to threads depends on it, no result does.
_ROW_COST, _ANSWER_COST = 60, 64
#: The rating between no and yes, and the least that a stretch is divided by: an item without answers may stand on it.
LINE, _LEAST_SQUARE = 0.5, 1e-6
#: The least share of a diagonal entry that elimination leaves of it: less is rounding, and may be below 0.
_LEAST_LEFT = 2.0**-52
#: Sweeps of factors, from the start on. By judgement; of hidden ratings, for which items to which answers are sure take
#: their time, on the yes/no tables of `benchmarks/planted.py`.
_SWEEPS, _HIDDEN_SWEEPS = 30, 100


def started(chain: Chain) -> ChainState:
    """Return where a chain of a table starts: from factors, where it has several events."""
    if chain.n_events == 1 or chain.unobserved:
        return plain_start(chain)
    rng = generator(chain.seed, START, 1)
    return from_factors(chain, FactorChain(chain, rng).settled(), rng)


def plain_start(chain: Chain) -> ChainState:
    """Put items around their mean answers and users anywhere: chains find their modes from there."""
    rng = generator(chain.seed, START)
    table, size = chain.observations, chain.n_events
    mean, variance = float(table.values.mean()), max(float(np.var(table.values)), 1e-4)
    columns = table.columns
    sums = np.bincount(columns.owners(0, table.n_items), weights=columns.values, minlength=table.n_items)
    # Items with few answers begin near the mean of all.
    usual = (sums + mean) / (columns.counts + 1.0)
    psi = usual[:, None] + _SPREAD * rng.standard_normal((table.n_items, size))
    return ChainState(
        theta=rng.dirichlet(np.ones(size), size=table.n_users),
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(table.n_users, NOISE if chain.kind.hidden else variance),
        psi_prior=chain.first_psi_prior(mean),
        theta_prior=chain.first_theta_prior(),
        scale=chain.noise_shape * variance,
        shape=chain.noise_shape,
    )


def from_factors(chain: Chain, found: Factors, rng: np.random.Generator) -> ChainState:
    """Put factors onto the simplex, as far from equal shares as points anywhere on it are."""
    size = chain.n_events
    theta, psi, prior = found.on_simplex(1.0 / size, rng)
    return ChainState(
        theta=theta,
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(len(theta), found.noise),
        psi_prior=prior,
        theta_prior=chain.first_theta_prior(float(size * size)),
        scale=chain.noise_shape * found.noise,
        shape=chain.noise_shape,
    )


# --- factors ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Factors:
    """answer = (1, f_u) . y_i + noise, with D - 1 factors f_u ~ Normal(0, 1) and y_i ~ Normal as in `PsiPrior`.

    `users`, float64[n_users, D], begin with a column of ones; `items`, float64[n_items, D], have the prior. The noise
    is a variance.
    """

    users: Floats
    items: Floats
    prior: PsiPrior
    noise: float

    def on_simplex(self, spread: float, rng: np.random.Generator) -> tuple[Floats, Floats, PsiPrior]:
        """Return theta, psi and psi's prior with the same products, but for thetas that are cut.

        Factors become moves away from equal shares, `spread` for each of them, in random directions. Whatever is chosen
        there, psi makes up for it.
        """
        size = self.users.shape[1]
        frame, _ = np.linalg.qr(np.column_stack([np.ones(size), rng.standard_normal((size, size - 1))]))
        away = spread * frame[:, 1:]
        theta = np.maximum(1.0 / size + self.users[:, 1:] @ away.T, _LEAST_SHARE / size)
        turn = np.column_stack([np.ones(size), away / spread**2])
        back = np.linalg.inv(turn)
        precision = back.T @ self.prior.precision @ back
        prior = replace(self.prior, slopes=self.prior.slopes @ turn.T, precision=(precision + precision.T) / 2.0)
        return theta / theta.sum(axis=1, keepdims=True), self.items @ turn.T, prior


class FactorChain:
    """Factors drawn from random ones on; `rng` draws their start, their noise and prior.

    Ratings hidden behind yes and no are drawn, then stretched, then explained. Given factors a rating is drawn near
    them, and given ratings factors are drawn near those: where answers are sure, both together leave the line between
    them in steps that are far too small. So each item's ratings and values are also stretched away from it in one go,
    by a number drawn from its own conditional distribution (Liu and Sabatti 2000).
    """

    def __init__(self, chain: Chain, rng: np.random.Generator) -> None:
        self.chain, self.seed, self.rng = chain, int(rng.integers(2**63)), rng
        self.table, self.hidden = chain.observations, chain.kind.hidden
        table, size = chain.observations, chain.n_events
        self._mass, self._seen = float(chain.mass.sum()), table.columns.counts > 0
        noise = max(float(np.var(table.values)), 1e-4)
        prior = chain.first_psi_prior(0.0)
        prior.slopes[0, 0] = float(table.values.mean())
        precision = np.full(size, _SMALL * size / noise)
        precision[0] = 1.0 / noise
        prior = replace(prior, precision=np.diag(precision))
        users = np.column_stack([np.ones(table.n_users), rng.standard_normal((table.n_users, size - 1))])
        # Of hidden ratings as wide a prior as that of psi: the factors of users become moves of a D-th of the simplex.
        self.variance = chain.kind.psi_variance / (size**2 if self.hidden else 1)
        items = prior.centre if self.hidden else np.zeros((table.n_items, size))
        self.factors = Factors(users, items, prior, NOISE if self.hidden else noise)
        #: What factors are to explain, by users and by items.
        self.rows, self.columns = chain.views
        #: Sweeps until they have settled.
        self.n_sweeps = _HIDDEN_SWEEPS if self.hidden else _SWEEPS

    def settled(self) -> Factors:
        """Return the factors when they have settled."""
        for index in range(self.n_sweeps):
            self.sweep(index)
        return self.factors

    def sweep(self, index: int) -> None:
        """Draw the ratings behind answers where there are any, items, users, the noise and the prior of items."""
        self.chain.check()
        if self.hidden:
            self._draw_answers(index)
        now, rows = self.factors, self.rows
        items = self._drawn(self.columns, ITEM_SIDE, index, now.users, now.prior.centre, now.prior.precision)
        # Users' factors explain what the items' first column, the same for all, leaves of answers.
        left, rest = rows.with_values(rows.values - items[rows.indices, 0]), np.ascontiguousarray(items[:, 1:])
        normal = np.zeros((len(now.users), rest.shape[1])), np.eye(rest.shape[1])
        drawn = self._drawn(left, USER_SIDE, index, rest, *normal)
        users, squares = np.column_stack([np.ones(len(drawn)), drawn]), np.empty(len(drawn))
        given, cost = (*entries(rows), users, items), 16 * users.shape[1]
        self.chain.deal(lambda first, last: residual_squares(*given, first, last, squares), rows, cost)
        noise = self.drawn_noise(float(squares.sum()))
        prior = now.prior.learned(items, self._seen, self.variance, self.rng)
        self.factors = Factors(users, items, prior, noise)

    def _drawn(self, view: View, side: int, index: int, partners: Floats, centre: Floats, pull: Floats) -> Floats:
        """Draw the factors of all rows of a side, given those of their partners and their prior."""
        out = np.empty_like(centre)
        given = (*entries(view), 1.0 / self.factors.noise, partners, centre, pull)
        seeds = row_seeds(self.seed, index, side, np.arange(len(out)))
        costs = (self.factors.users.shape[1] ** 2, _ROW_COST)
        self.chain.deal(lambda first, last: draw_normals(*given, seeds[first:last], first, last, out), view, *costs)
        return out

    def _draw_answers(self, index: int) -> None:
        """Draw the rating behind each answer; stretch ratings and items; put the ratings in the order of users too."""
        now, (rows, columns) = self.factors, self.chain.views
        ratings, squares = np.empty(columns.values.size), np.empty(len(now.items))
        seeds, drawn = row_seeds(self.seed, index, HIDDEN, np.arange(len(now.items))), columns.with_values(ratings[:])

        def share(first: int, last: int) -> None:
            draw_hidden(*entries(columns), now.items, now.users, seeds[first:last], first, last, ratings)
            residual_squares(*entries(drawn), now.items, now.users, first, last, squares)

        self.chain.deal(share, columns, _ANSWER_COST + now.items.shape[1])
        stretch = self.drawn_stretch(squares)
        items = now.items * stretch[:, None]
        items[:, 0] += LINE * (1.0 - stretch)
        self.factors = replace(now, items=items)
        ratings = LINE + (ratings - LINE) * np.repeat(stretch, columns.counts)
        by_users = np.empty_like(ratings)
        by_users[self.chain.by_items] = ratings
        self.rows, self.columns = rows.with_values(by_users), columns.with_values(ratings)

    def drawn_stretch(self, squares: Floats) -> Floats:
        """Draw how far each item is stretched away from the line, with its ratings, given what factors leave of them.

        The log of a stretch g has the density g^n exp(slope g - square g^2 / 2), with n the numbers that are stretched:
        next to a normal one around its mode.
        """
        prior = self.factors.prior
        # Counted from the line, the products of these with factors, which begin with a 1, are the ratings.
        apart, centre = self.factors.items.copy(), prior.centre.copy()
        apart[:, 0] -= LINE
        centre[:, 0] -= LINE
        pulled = apart @ prior.precision
        square = np.maximum(squares / NOISE + (pulled * apart).sum(axis=1), _LEAST_SQUARE)
        slope, n = (pulled * centre).sum(axis=1), self.table.columns.counts + apart.shape[1]
        mode = (slope + np.sqrt(slope * slope + 4.0 * square * n)) / (2.0 * square)
        drawn: Floats = mode * np.exp(self.rng.standard_normal(len(mode)) / np.sqrt(square * mode * mode + n))
        return drawn

    def drawn_noise(self, squares: float) -> float:
        """Draw the noise, unless ratings are hidden, which have no scale of their own."""
        if self.hidden:
            return NOISE
        noise = 0.5 * squares / max(float(self.rng.gamma(0.5 * self._mass)), _LEAST_GAMMA)
        return min(max(noise, _LEAST_NOISE), _MOST_NOISE)


@kernel
def draw_normals(indptr, indices, values, weights, precision, factors, centre, pull, seeds, first, last, out):
    """Draw rows from normal distributions: answers with noise of one `precision`, a prior around `centre`."""
    size = factors.shape[1]
    gram, moment, nothing = np.empty((1, size, size)), np.empty((1, size)), np.zeros(size)
    for row in range(first, last):
        normal_equations(indptr, indices, values, weights, factors, row, row + 1, 0.0, nothing, gram, moment)
        Q, w, x, state = gram[0], moment[0], out[row], seeds[row - first]
        for d in range(size):
            w[d] *= precision
            for e in range(size):
                w[d] += pull[d, e] * centre[row, e]
                Q[d, e] = precision * Q[d, e] + pull[d, e]
        # The lower half of Q becomes its Cholesky factor.
        for d in range(size):
            least = _LEAST_LEFT * Q[d, d]
            for e in range(d + 1):
                total = Q[d, e]
                for f in range(e):
                    total -= Q[d, f] * Q[e, f]
                if d == e:
                    Q[d, d] = np.sqrt(max(total, least))
                else:
                    Q[d, e] = total / Q[e, e]
        # With Q = L L^T: solve L y = w, add standard normals, solve L^T x = y.
        for d in range(size):
            total = w[d]
            for e in range(d):
                total -= Q[d, e] * w[e]
            w[d] = total / Q[d, d]
        for d in range(size):
            state, z = normal(state)
            w[d] += z
        for d in range(size - 1, -1, -1):
            total = w[d]
            for e in range(d + 1, size):
                total -= Q[e, d] * x[e]
            x[d] = total / Q[d, d]


# --- from what was learned before -------------------------------------------------------------------------------------


def started_from(fitted: Fitted, chain: Chain) -> ChainState:
    """Return the state of a chain that begins at a model; psis follow its thetas in the first sweep."""
    size, shape = chain.n_events, chain.noise_shape
    theta = (1.0 - WARM_BLUR) * fitted.theta + WARM_BLUR / size
    codes = nearest(fitted.psi.astype(np.float64), chain.levels)
    scale = shape * float(fitted.noise.mean())
    known = np.ones(len(theta), dtype=bool), np.ones(len(codes), dtype=bool)
    return _state_of(chain, theta, codes, fitted.noise.copy(), known, float(size * size), scale, shape)


def taken_up(posterior: Posterior, change: Change, chain: Chain, number: int) -> ChainState:
    """Return the state that the last draw of the chain of a number was, over the rows of the new table."""
    k = (number + 1) * (posterior.n_draws // posterior.n_chains) - 1
    known, users = (change.users >= 0, change.items >= 0), np.maximum(change.users, 0)
    theta = posterior.theta[k][users].astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    codes = nearest(posterior.psi[k], posterior.levels)[np.maximum(change.items, 0)]
    noise = posterior.noise[k][users].astype(np.float64)
    noise[~known[0]] = float(posterior.noise[k, posterior.user_seen].mean())
    drawn = {name: float(values[k]) for name, values in posterior.priors.items()}
    shape = drawn.get("noise_shape", chain.noise_shape)
    scale = shape * drawn.get("noise", 1.0) ** 2
    return _state_of(chain, theta, codes, noise, known, drawn["concentration"], scale, shape)


def _state_of(
    chain: Chain,
    theta: Floats,
    codes: NDArray[np.uint8],
    noise: Floats,
    known: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    concentration: float,
    scale: float,
    shape: float,
) -> ChainState:
    """Return a state whose priors are learned from the thetas and psis that are known, and place the others by them."""
    users, items = known
    theta_prior = chain.first_theta_prior(concentration).fitted(theta, users & chain.seen_users)
    # What may lie beyond the simplex is cut.
    fresh = np.maximum(theta_prior.pull[1][~users], _LEAST_SHARE / chain.n_events)
    theta[~users] = fresh / fresh.sum(axis=1, keepdims=True)
    rng = generator(chain.seed, START, 1)
    psi_prior = chain.first_psi_prior(float(chain.observations.values.mean()))
    for _ in range(_PRIOR_ROUNDS):
        psi_prior = psi_prior.learned(chain.levels[codes], items & chain.seen_items, chain.kind.psi_variance, rng)
    codes[~items] = nearest(psi_prior.centre[~items], chain.levels)
    return ChainState(theta, chain.levels[codes], noise, psi_prior, theta_prior, scale, shape)
