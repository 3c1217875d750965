"""Factors: models without the simplex, which settle in a few sweeps.

From them chains start. And the number of factors that predicts best what is held out of a table is about how many
events it tells apart. Of ratings that are hidden behind yes and no they come as far from the line between them as
answers are sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.threads import Threads, one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE, entry_rows
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE
from kolmogorov.draws.chain import HIDDEN, Chain
from kolmogorov.draws.gibbs import draw_hidden, normal
from kolmogorov.draws.likelihood import entries
from kolmogorov.draws.plan import (
    DENSE,
    FEWEST_EVENTS,
    LEAST_RATINGS,
    MOST_EVENTS,
    MOST_RATINGS,
    PER_FACTOR,
    PER_FACTOR_DENSE,
    PER_FACTOR_YES,
    TRIED,
    Plan,
)
from kolmogorov.draws.priors import PsiPrior, pattern_features
from kolmogorov.solvers.rows import normal_equations, residual_squares

#: A table that can be fitted exactly would draw the noise to nothing, and one whose weights sum to nothing to anything.
_LEAST_NOISE, _MOST_NOISE = 1e-6, 1e6
#: The least that noise is divided by: gamma numbers of a tiny shape round to 0.
_LEAST_GAMMA = 1e-300
#: Items begin so many times closer to their means than what would explain all answers: what is not there must not
#: have to be unlearned, which takes long where rows are short. By judgement.
_SMALL = 30.0
#: The least share of an event, in equal shares: thetas leave the very edge slowly. By judgement.
_LEAST_SHARE = 1e-3
#: What the draw of a row's factors takes beside its sums, in observations, and that of an answer, in multiplications;
#: how rows are dealt to threads depends on it, no result does.
_ROW_COST, _ANSWER_COST = 60, 64
#: The rating between no and yes, and the least that a stretch is divided by: an item without answers may stand on it.
LINE, _LEAST_SQUARE = 0.5, 1e-6
#: The least share of a diagonal entry that elimination leaves of it: less is rounding, and may be below 0.
_LEAST_LEFT = 2.0**-52
#: The share that is held out to find the number of events; ratings below which it is done several times, and how often.
_HELD_OUT, _FEW, _TIMES = 0.1, 20_000, 4
#: Chains of factors then, and how many of their last sweeps are averaged. By judgement.
_CHAINS, _AVERAGED = 2, 15
#: Sweeps of factors, from the start on. By judgement; of hidden ratings, for which items to which answers are sure take
#: their time, on the yes/no tables of `benchmarks/planted.py`.
_SWEEPS, _HIDDEN_SWEEPS = 30, 100
#: In a row so many sizes must not be better than the best before the search turns round or ends; more factors are
#: better only by this share of the squared error, or of the log loss of yes and no. By judgement.
_PATIENCE, _WORTH, _WORTH_YES = 2, 0.003, 0.01
#: The least probability of an answer whose log loss is taken. By judgement.
_LEAST_CHANCE = 0.01
#: Computes rows first..last of a chain and writes them where they belong.
Share = Callable[[int, int], None]


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
        self.seed, self.rng = int(rng.integers(2**63)), rng
        self._chain, self._table, self.hidden = chain, chain.observations, chain.kind.hidden
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
        self.rows, self.columns = table.rows, table.columns
        self._squares, self._squares_by_item = np.empty(table.n_users), np.empty(table.n_items)
        self._left, self._ratings = np.empty_like(table.rows.values), np.empty(0)
        #: Sweeps until they have settled.
        self.n_sweeps = _HIDDEN_SWEEPS if self.hidden else _SWEEPS

    def draw_answers(self, index: int) -> Share:
        """Begin to draw the rating behind each answer, and to sum the squares of what factors leave of them."""
        view, now = self._table.columns, self.factors
        self._ratings = ratings = np.empty(view.values.size)
        seeds = row_seeds(self.seed, index, HIDDEN, np.arange(len(now.items)))
        drawn = View(view.indptr, view.indices, ratings[:], view.weights)

        def share(first: int, last: int) -> None:
            draw_hidden(*entries(view), now.items, now.users, seeds[first:last], first, last, ratings)
            residual_squares(*entries(drawn), now.items, now.users, first, last, self._squares_by_item)

        return share

    def take_answers(self) -> None:
        """Stretch ratings and items; put the ratings in the order of users too."""
        stretch, columns, rows = self.drawn_stretch(self._squares_by_item), self._table.columns, self._table.rows
        items = self.factors.items * stretch[:, None]
        items[:, 0] += LINE * (1.0 - stretch)
        self.factors = replace(self.factors, items=items)
        ratings = LINE + (self._ratings - LINE) * np.repeat(stretch, columns.counts)
        by_users = np.empty_like(ratings)
        by_users[self._chain.by_items] = ratings
        self.columns = View(columns.indptr, columns.indices, ratings, columns.weights)
        self.rows = View(rows.indptr, rows.indices, by_users, rows.weights)

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
        slope, n = (pulled * centre).sum(axis=1), self._table.columns.counts + apart.shape[1]
        mode = (slope + np.sqrt(slope * slope + 4.0 * square * n)) / (2.0 * square)
        drawn: Floats = mode * np.exp(self.rng.standard_normal(len(mode)) / np.sqrt(square * mode * mode + n))
        return drawn

    def draw_items(self, index: int) -> Share:
        """Begin to draw the items given the factors of users."""
        now, items = self.factors, np.empty_like(self.factors.items)
        self.factors = replace(now, items=items)
        given = (*entries(self.columns), 1.0 / now.noise, now.users, now.prior.centre, now.prior.precision)
        seeds = row_seeds(self.seed, index, ITEM_SIDE, np.arange(len(items)))
        return lambda first, last: draw_normals(*given, seeds[first:last], first, last, items)

    def draw_users(self, index: int) -> Share:
        """Begin to draw users' factors given what the items' first column, the same for all, leaves of answers."""
        view, now, left = self.rows, self.factors, self._left
        users = np.ones_like(now.users)
        self.factors = replace(now, users=users)
        mean, rest = now.items[:, 0].copy(), np.ascontiguousarray(now.items[:, 1:])
        drawn = np.empty((len(users), rest.shape[1]))
        table = View(view.indptr, view.indices, left[:], view.weights)
        given = (*entries(table), 1.0 / now.noise, rest, np.zeros_like(drawn), np.eye(rest.shape[1]))
        seeds = row_seeds(self.seed, index, USER_SIDE, np.arange(len(users)))

        def share(first: int, last: int) -> None:
            part = slice(view.indptr[first], view.indptr[last])
            left[part] = view.values[part] - mean[view.indices[part]]
            draw_normals(*given, seeds[first:last], first, last, drawn)
            users[first:last, 1:] = drawn[first:last]

        return share

    def squares(self) -> Share:
        """Begin to sum the squares of what is left of the answers."""
        given = (*entries(self.rows), self.factors.users, self.factors.items)
        return lambda first, last: residual_squares(*given, first, last, self._squares)

    def learn(self) -> None:
        """Draw the noise and the prior of items."""
        now, noise = self.factors, self.drawn_noise(float(self._squares.sum()))
        prior = now.prior.learned(now.items, self._seen, self.variance, self.rng)
        self.factors = replace(now, prior=prior, noise=noise)

    def drawn_noise(self, squares: float) -> float:
        """Draw the noise, unless ratings are hidden, which have no scale of their own."""
        if self.hidden:
            return NOISE
        noise = 0.5 * squares / max(float(self.rng.gamma(0.5 * self._mass)), _LEAST_GAMMA)
        return min(max(noise, _LEAST_NOISE), _MOST_NOISE)


def settled_factors(running: Sequence[FactorChain], dealer: Threads) -> list[Factors]:
    """Return the factors of chains of one table, all drawn in step: what one leaves of the threads the others use."""
    for _ in factor_sweeps(running, dealer, running[0].n_sweeps):
        pass
    return [chain.factors for chain in running]


def factor_sweeps(running: Sequence[FactorChain], dealer: Threads, n: int) -> Iterator[int]:
    """Go through `n` sweeps of factors of one table, all in step; yield the number of each when it is done."""
    table, size = running[0]._table, running[0].factors.users.shape[1]
    ends = [np.append(0, np.cumsum(np.tile(view.counts, len(running)))) for view in (table.rows, table.columns)]

    def deal(side: int, shares: Sequence[Share], *costs: int) -> None:
        """Compute the rows of a side, once for each chain."""
        n_rows = (table.n_users, table.n_items)[side]

        def work(first: int, last: int) -> None:
            while first < last:
                chain, row = divmod(first, n_rows)
                end = min(n_rows, last - chain * n_rows)
                shares[chain](row, end)
                first = chain * n_rows + end

        dealer.deal(work, n_rows * len(shares), 1, ends[side], *costs)

    for index in range(n):
        if running[0].hidden:
            deal(1, [chain.draw_answers(index) for chain in running], _ANSWER_COST + size)
            for chain in running:
                chain.take_answers()
        deal(1, [chain.draw_items(index) for chain in running], size * size, _ROW_COST)
        deal(0, [chain.draw_users(index) for chain in running], size * size, _ROW_COST)
        deal(0, [chain.squares() for chain in running], 16 * size)
        for chain in running:
            chain.learn()
        yield index


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


# --- how many events a table tells apart ------------------------------------------------------------------------------


def told_apart(table: Observations, guess: int, n_features: int, n_jobs: int | None) -> int:
    """Return the number of events that suits a table; `guess` is where the search begins.

    Factors want about as many dimensions as events do, in a hundredth of the time. The same table has the same number,
    whatever the seed of a fit and the number of threads.

    Examples
    --------
    >>> import kolmogorov as km
    >>> told_apart(km.datasets.load("food"), 8, 10, 1)
    12
    """
    room = min(table.n_users, table.n_items)
    if not LEAST_RATINGS <= len(table) <= MOST_RATINGS or room < TRIED[0]:
        return guess
    dense = len(table) >= DENSE * table.n_users * table.n_items
    per_factor = PER_FACTOR_YES if table.is_binary else PER_FACTOR_DENSE if dense else PER_FACTOR
    worth = _WORTH_YES if table.is_binary else _WORTH
    sizes = [size for size in TRIED if size <= room]
    with one_blas_thread(), Threads(n_jobs) as dealer:
        splits = [table.split(_HELD_OUT, random_state=k) for k in range(_TIMES if len(table) < _FEW else 1)]
        errors = [_error_of(*split, n_features, dealer) for split in splits]
        first = max(k for k, size in enumerate(sizes) if size == sizes[0] or per_factor * size <= guess)
        best = _lowest(lambda k: sum(error(sizes[k]) for error in errors), first, len(sizes), worth)
    return min(max(round(per_factor * sizes[best]), FEWEST_EVENTS), MOST_EVENTS, room)


def _lowest(error: Callable[[int], float], first: int, n: int, worth: float) -> int:
    """Return which of `n` errors is lowest, looking upwards from `first`, and downwards if nothing is better there.

    Upwards an error must be lower by the share `worth`.
    """
    best, least = first, error(first)
    for way, less in ((range(first + 1, n), worth), (range(first - 1, -1, -1), 0.0)):
        worse = 0
        for k in way:
            found = error(k)
            best, least, worse = (k, found, 0) if found < (1.0 - less) * least else (best, least, worse + 1)
            if worse == _PATIENCE:
                break
        if best != first:
            break
    return best


def _error_of(train: Observations, held_out: Observations, n_features: int, dealer: Threads) -> Callable[[int], float]:
    """Return what a number of factors of one part of a table has to the other: the error of the last sweeps' average.

    It is the sum of squared errors, or the log loss of yes and no.
    """
    features, (users, items) = pattern_features(train, n_features), entry_rows(train, held_out)
    known = (users >= 0) & (items >= 0)
    users, items, values = users[known], items[known], held_out.values[known]

    def error(size: int) -> float:
        sizes = {"n_events": size, "n_chains": _CHAINS, "burn_in": 0, "n_samples": 0, "thin": 1, "n_features": 0}
        plan = Plan(**sizes, likelihood="gaussian", levels=np.array([0.0, 1.0]))
        chain = Chain(plan, train, features, 0, dealer)
        running = [FactorChain(chain, generator(k, size)) for k in range(_CHAINS)]
        total = np.zeros(values.size)
        for index in factor_sweeps(running, dealer, _SWEEPS):
            if index >= _SWEEPS - _AVERAGED:
                for now in (one.factors for one in running):
                    total += np.einsum("nd,nd->n", now.users[users], now.items[items])
        found = np.clip(total / (_CHAINS * _AVERAGED), 0.0, 1.0)
        if train.is_binary:
            right = np.where(values > 0.5, found, 1.0 - found)
            return float(-np.log(np.clip(right, _LEAST_CHANCE, 1.0 - _LEAST_CHANCE)).sum())
        return float(((found - values) ** 2).sum())

    return error
