"""Where chains start: near mean answers, at the end of a descent where levels are two, or from factors.

Factors are draws of a model without the simplex, which settle in a few sweeps. Of ratings that are hidden behind yes
and no they come as far from the line between them as answers are sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov.data.view import View
from kolmogorov.descent.engine import MultiStart, ThreadedEngine
from kolmogorov.descent.fitted import NOISE
from kolmogorov.descent.problem import ITEM_SIDE, USER_SIDE, Objective, Problem
from kolmogorov.draws.chain import START, Chain, ChainState
from kolmogorov.draws.gaussian import HIDDEN, ProbitChain
from kolmogorov.draws.hidden import draw_hidden
from kolmogorov.draws.levels import nearest
from kolmogorov.draws.normals import draw_normals, leave_first
from kolmogorov.draws.priors import PsiPrior
from kolmogorov.solvers import resolve
from kolmogorov.solvers.products import residual_squares

#: How far an item's levels begin from its mean answer, and theta's concentration. By judgement: chains forget both.
_SPREAD, _CONCENTRATION = 0.3, 30.0
#: Two levels start from a descent: its sweeps, its ridge for each rating that a user has on average, with the
#: largest, and how far thetas are moved off the simplex's edges afterwards. By judgement.
_SWEEPS, _RIDGE, _LARGEST_RIDGE, _BLUR = 40, 0.1, 10.0, 0.05
#: A table that can be fitted exactly would draw the noise to nothing, and one whose weights sum to nothing to anything.
_LEAST_NOISE, _MOST_NOISE = 1e-6, 1e6
#: The least that noise is divided by: gamma numbers of a tiny shape round to 0.
_LEAST_GAMMA = 1e-300
#: Items begin so many times closer to their means than what would explain all answers: what is not there must not
#: have to be unlearned, which takes long where rows are short. By judgement.
_SMALL = 30.0
#: The least share of an event, in equal shares: thetas leave the very edge slowly. By judgement.
_LEAST_SHARE = 1e-3
#: What the draw of a row's factors takes beside its sums, in observations; how rows are dealt to threads, no result.
_ROW_COST = 60
#: What the draw of an answer takes, in multiplications; how rows are dealt to threads, no result.
_ANSWER_COST = 64
#: Computes rows first..last of a chain and writes them where they belong.
Share = Callable[[int, int], None]
#: The rating between no and yes.
_LINE = 0.5
#: The least that a stretch is divided by: an item without answers may stand on the line.
_LEAST_SQUARE = 1e-6


def started(chains: Sequence[Chain], dealer: Threads) -> list[ChainState]:
    """Start chains of one table that differ in their seeds, on all threads of a dealer."""
    first, states = chains[0], [plain_start(chain) for chain in chains]
    if first.levels.size == 2:
        return [_descended(chain, state, dealer) for chain, state in zip(chains, states, strict=True)]
    if first.n_events == 1 or not first.from_factors:
        return states
    rngs = [generator(chain.seed, START, 1) for chain in chains]
    kind = HiddenFactorChain if isinstance(first, ProbitChain) else FactorChain
    found = settled_factors([kind(*given) for given in zip(chains, rngs, strict=True)], dealer)
    return [_from_factors(*given) for given in zip(chains, states, found, rngs, strict=True)]


def plain_start(chain: Chain) -> ChainState:
    """Put items around their mean answers and users anywhere: chains find their modes from there.

    A descent first brings nothing: its values are at the ends of the grid, and chains take longer to leave them.
    """
    rng = generator(chain.seed, START)
    table, size = chain.observations, chain.n_events
    mean = float(table.values.mean())
    columns = table.columns
    owners = columns.owners(0, table.n_items)
    sums = np.bincount(owners, weights=columns.values, minlength=table.n_items)
    # Items with few answers begin near the mean of all.
    usual = (sums + mean) / (columns.counts + 1.0)
    psi = usual[:, None] + _SPREAD * rng.standard_normal((table.n_items, size))
    variance = max(float(np.var(table.values)), 1e-4)
    return ChainState(
        theta=rng.dirichlet(np.ones(size), size=table.n_users),
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(table.n_users, variance),
        psi_prior=chain.first_psi_prior(mean),
        theta_prior=chain.first_theta_prior(chain.concentration or _CONCENTRATION),
        scale=chain.noise_shape * variance,
        alpha=np.full(size, 1.0 if chain.concentration is None else chain.concentration / size),
        shape=chain.noise_shape,
    )


def _descended(chain: Chain, plain: ChainState, dealer: Threads) -> ChainState:
    """Start from a descent: of two levels single ones leave a poor mode too slowly."""
    ridge = min(_RIDGE * float(chain.mass[chain.seen_users].mean()), _LARGEST_RIDGE)
    objective = Objective(ridge, 0.0, "mean", chain.unobserved)
    problem = Problem(resolve("simplex", "active_set"), resolve("binary", "local_search"), objective)
    engine = ThreadedEngine(problem, chain.observations, dealer)
    descent = MultiStart(
        engine, chain.n_events, chain.seed, n_init=1, max_iter=_SWEEPS, tol=1e-4, keep_interrupted=False
    )
    found = descent.run().state
    psi = chain.levels[nearest(found.psi, chain.levels)]
    return replace(plain, theta=(1.0 - _BLUR) * found.theta + _BLUR / chain.n_events, psi=psi)


def _from_factors(chain: Chain, plain: ChainState, found: Factors, rng: np.random.Generator) -> ChainState:
    """Put factors onto the simplex, as far from equal shares as points anywhere on it are."""
    size = chain.n_events
    theta, psi, prior = found.on_simplex(1.0 / size, rng)
    return replace(
        plain,
        theta=theta,
        psi=chain.levels[nearest(psi, chain.levels)],
        noise=np.full(len(theta), found.noise),
        psi_prior=prior,
        theta_prior=chain.first_theta_prior(chain.concentration or float(size * size)),
        scale=chain.noise_shape * found.noise,
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
    """Factors for the start of a chain, drawn from random ones on; `rng` draws their start, their noise and prior."""

    #: From the start on, all chains in step. By judgement.
    n_sweeps = 30

    def __init__(self, chain: Chain, rng: np.random.Generator) -> None:
        self._seed, self._rng = int(rng.integers(2**63)), rng
        self._table, self._variance, self._mass = chain.observations, chain.psi_variance, float(chain.mass.sum())
        table, size = chain.observations, chain.n_events
        self._seen = table.columns.counts > 0
        noise = max(float(np.var(table.values)), 1e-4)
        prior = chain.first_psi_prior(0.0)
        prior.slopes[0, 0] = float(table.values.mean())
        precision = np.full(size, _SMALL * size / noise)
        precision[0] = 1.0 / noise
        users = np.column_stack([np.ones(table.n_users), rng.standard_normal((table.n_users, size - 1))])
        nothing = np.zeros((table.n_items, size))
        self.factors = Factors(users, nothing, replace(prior, precision=np.diag(precision)), noise)
        #: What factors are to explain, by users and by items.
        self.rows, self.columns = table.rows, table.columns
        self._squares = np.empty(table.n_users)
        self._left = np.empty_like(table.rows.values)

    def draw_answers(self, index: int) -> Share | None:
        """Begin to draw, by items, what factors are to explain; None where it is the answers as they are."""
        return None

    def take_answers(self) -> None:
        """Take over what was drawn."""

    def draw_items(self, index: int) -> Share:
        """Begin to draw the items given the factors of users."""
        view, now = self.columns, self.factors
        items = np.empty_like(now.items)
        self.factors = replace(now, items=items)
        prior = (now.prior.centre, now.prior.precision)
        given = (view.indptr, view.indices, view.values, view.weights, 1.0 / now.noise, now.users, *prior)
        seeds = row_seeds(self._seed, index, ITEM_SIDE, np.arange(len(items)))

        def share(first: int, last: int) -> None:
            draw_normals(*given, seeds[first:last], first, last, items)

        return share

    def draw_users(self, index: int) -> Share:
        """Begin to draw users' factors given what the items' first column, the same for all, leaves of answers."""
        view, now, left = self.rows, self.factors, self._left
        users = np.ones_like(now.users)
        self.factors = replace(now, users=users)
        rest = np.ascontiguousarray(now.items[:, 1:])
        drawn = np.empty((len(users), rest.shape[1]))
        prior = (np.zeros_like(drawn), np.eye(rest.shape[1]))
        given = (view.indptr, view.indices, left, view.weights, 1.0 / now.noise, rest, *prior)
        seeds = row_seeds(self._seed, index, USER_SIDE, np.arange(len(users)))

        def share(first: int, last: int) -> None:
            leave_first(view.indptr, view.indices, view.values, now.items, first, last, left)
            draw_normals(*given, seeds[first:last], first, last, drawn)
            users[first:last, 1:] = drawn[first:last]

        return share

    def squares(self) -> Share:
        """Begin to sum the squares of what is left of the answers."""
        view, now = self.rows, self.factors
        given = (view.indptr, view.indices, view.values, view.weights, now.users, now.items)

        def share(first: int, last: int) -> None:
            residual_squares(*given, first, last, self._squares)

        return share

    def learn(self) -> None:
        """Draw the noise and the prior of items."""
        rng, now = self._rng, self.factors
        noise = self.drawn_noise(rng)
        self.factors = replace(now, prior=now.prior.learned(now.items, self._seen, self._variance, rng), noise=noise)

    def drawn_noise(self, rng: np.random.Generator) -> float:
        """Draw the noise given what is left of the answers."""
        noise = 0.5 * float(self._squares.sum()) / max(float(rng.gamma(0.5 * self._mass)), _LEAST_GAMMA)
        return min(max(noise, _LEAST_NOISE), _MOST_NOISE)


def settled_factors(running: Sequence[FactorChain], dealer: Threads) -> list[Factors]:
    """Return the factors of chains of one table, all drawn in step: what one leaves of the threads the others use."""
    for _ in factor_sweeps(running, dealer, running[0].n_sweeps):
        pass
    return [chain.factors for chain in running]


def factor_sweeps(running: Sequence[FactorChain], dealer: Threads, n: int) -> Iterator[int]:
    """Go through `n` sweeps of factors of one table, all in step; yield the number of each when it is done."""
    rows, columns = (_Repeated(view, len(running)) for view in (running[0].rows, running[0].columns))
    size = running[0].factors.users.shape[1]
    for index in range(n):
        answers = [share for chain in running if (share := chain.draw_answers(index)) is not None]
        if answers:
            columns.deal(dealer, answers, _ANSWER_COST + size)
            for chain in running:
                chain.take_answers()
        columns.deal(dealer, [chain.draw_items(index) for chain in running], size * size, _ROW_COST)
        rows.deal(dealer, [chain.draw_users(index) for chain in running], size * size, _ROW_COST)
        rows.deal(dealer, [chain.squares() for chain in running], 16 * size)
        for chain in running:
            chain.learn()
        yield index


class _Repeated:
    """The rows of one side of a table, once for each chain."""

    def __init__(self, view: View, times: int) -> None:
        self._n = len(view.counts)
        self._indptr = np.append(0, np.cumsum(np.tile(view.counts, times)))

    def deal(self, dealer: Threads, shares: Sequence[Share], *costs: int) -> None:
        """Compute all rows of all chains."""

        def work(first: int, last: int) -> None:
            while first < last:
                chain, row = divmod(first, self._n)
                end = min(self._n, last - chain * self._n)
                shares[chain](row, end)
                first = chain * self._n + end

        dealer.deal(work, self._n * len(shares), 1, self._indptr, *costs)


# --- factors of hidden ratings ----------------------------------------------------------------------------------------


class HiddenFactorChain(FactorChain):
    """Factors for the start of a `ProbitChain`: ratings are drawn, then stretched, then explained by factors.

    Given factors a rating is drawn near them, and given ratings factors are drawn near those: where answers are sure,
    both together leave the line in steps that are far too small. So each item's ratings and values are also stretched
    away from it in one go, by a number drawn from its own conditional distribution (Liu and Sabatti 2000).
    """

    #: Items to which answers are sure take their time. By judgement, on the yes/no tables of `benchmarks/planted.py`.
    n_sweeps = 100

    def __init__(self, chain: Chain, rng: np.random.Generator) -> None:
        super().__init__(chain, rng)
        # As wide a prior as that of psi: the factors of users become moves of a D-th of the simplex.
        self._variance = chain.psi_variance / chain.n_events**2
        self._told, self._told_rows = self.columns, self.rows
        self._by_items = chain.by_items
        self._ratings, self._left_by_item = np.empty(self.columns.values.size), np.empty(len(self.columns.counts))
        self.factors = replace(self.factors, items=self.factors.prior.centre, noise=NOISE)

    def draw_answers(self, index: int) -> Share:
        """Begin to draw the rating behind each answer, and to sum the squares of what factors leave of them."""
        view, now = self._told, self.factors
        self._ratings = ratings = np.empty_like(self._ratings)
        seeds = row_seeds(self._seed, index, HIDDEN, np.arange(len(now.items)))
        given = (view.indptr, view.indices, view.values, view.weights, now.items, now.users)
        drawn = (view.indptr, view.indices, ratings, view.weights, now.items, now.users)

        def share(first: int, last: int) -> None:
            draw_hidden(*given, seeds[first:last], first, last, ratings)
            residual_squares(*drawn, first, last, self._left_by_item)

        return share

    def take_answers(self) -> None:
        """Stretch ratings and items; put the ratings in the order of users too."""
        stretch, columns, rows = self.drawn_stretch(), self._told, self._told_rows
        items = self.factors.items * stretch[:, None]
        items[:, 0] += _LINE * (1.0 - stretch)
        self.factors = replace(self.factors, items=items)
        ratings = _LINE + (self._ratings - _LINE) * np.repeat(stretch, columns.counts)
        by_users = np.empty_like(ratings)
        by_users[self._by_items] = ratings
        self.columns = View(columns.indptr, columns.indices, ratings, columns.weights)
        self.rows = View(rows.indptr, rows.indices, by_users, rows.weights)

    def drawn_stretch(self) -> Floats:
        """Draw how far each item is stretched away from the line, with its ratings.

        The log of a stretch g has the density g^n exp(slope g - square g^2 / 2), with n the numbers that are stretched:
        next to a normal one around its mode.
        """
        prior = self.factors.prior
        apart, centre = (_from_line(places) for places in (self.factors.items, prior.centre))
        pulled = apart @ prior.precision
        square = np.maximum(self._left_by_item / NOISE + (pulled * apart).sum(axis=1), _LEAST_SQUARE)
        slope, n = (pulled * centre).sum(axis=1), self._told.counts + apart.shape[1]
        mode = (slope + np.sqrt(slope * slope + 4.0 * square * n)) / (2.0 * square)
        drawn: Floats = mode * np.exp(self._rng.standard_normal(len(mode)) / np.sqrt(square * mode * mode + n))
        return drawn

    def drawn_noise(self, rng: np.random.Generator) -> float:
        """Leave the noise as it is: what is hidden has no scale of its own."""
        return NOISE


def _from_line(items: Floats) -> Floats:
    """Return the factors of items whose products are ratings counted from the line; those of users begin with a 1."""
    apart = items.copy()
    apart[:, 0] -= _LINE
    return apart
