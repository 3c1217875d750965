"""Markov chains over Kolmogorov models: a sweep draws every psi_i, every theta_u, the noise and the priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_array, check_between, check_bits, check_simplex
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov.data.observations import Observations
from kolmogorov.errors import InvariantError
from kolmogorov.execution import Threads
from kolmogorov.fitting.engine import Problem, ThreadedEngine
from kolmogorov.fitting.equations import Partners
from kolmogorov.fitting.half_step import ITEM_SIDE, USER_SIDE
from kolmogorov.fitting.multi_start import MultiStart
from kolmogorov.fitting.objective import Objective
from kolmogorov.fitting.state import State
from kolmogorov.kernels.draws.emissions import draw_emitted
from kolmogorov.kernels.draws.gibbs import draw_answers, draw_bits
from kolmogorov.kernels.rows.products import residual_squares
from kolmogorov.sampling.dirichlet import redrawn_alpha
from kolmogorov.sampling.grid import on_grid
from kolmogorov.sampling.limits import SENSIBLE
from kolmogorov.sampling.noise import LEAST_SHAPE, MOST_SHAPE
from kolmogorov.sampling.priors import PRIOR_DRAWS, ItemPrior, NoisePrior, UserPrior
from kolmogorov.solvers import resolve
from kolmogorov.solvers.samplers import SimplexSampler

Floats = NDArray[np.float64]
START, PRIORS = 2, 3
#: With yes/no data, the chance that an answer goes against its event.
FLOOR = 0.01
#: The chances of no and yes in an event in which an item does not happen, and in one in which it does.
EMISSION = np.array([[1.0 - FLOOR, FLOOR], [FLOOR, 1.0 - FLOOR]])
#: The descent from which a chain starts: its sweeps, its ridge for each rating that a user has on average, with the
#: largest, and how far thetas are moved off the simplex's edges afterwards.
_START_SWEEPS, _START_RIDGE, _LARGEST_RIDGE, _BLUR = 40, 0.1, 10.0, 0.05
#: How often a sweep goes over an item's bits.
_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Sample:
    """What is kept of a state: the model itself.

    Attributes
    ----------
    theta : float32[n_users, D]
        On a grid that two bytes hold; see `sampling.grid`.
    psi : bool[n_items, D], or float32 where an item takes one of several values
    noise : float32[n_users]
    priors : dict
        Numbers of the priors by name; chains that have settled agree on them.
    """

    theta: NDArray[np.float32]
    psi: NDArray[Any]
    noise: NDArray[np.float32]
    priors: dict[str, float]

    def validate(self, n_users: int, n_items: int, n_events: int, levels: Floats | None) -> None:
        """Raise `InvariantError` where this is no model of such a table; for arrays that come from a file."""
        check_array("theta", self.theta, np.float32, (n_users, n_events))
        check_psi(self.psi, (n_items, n_events), levels)
        check_array("the noise", self.noise, np.float32, (n_users,))
        check_simplex("theta", self.theta)
        check_between("the noise", self.noise, *SENSIBLE)
        check_between("the priors", np.array(list(self.priors.values())), *SENSIBLE)


def check_psi(psi: NDArray[Any], shape: tuple[int, ...], levels: Floats | None) -> None:
    """Raise `InvariantError` where psi is not bits, or, with levels, holds other values."""
    check_array("psi", psi, bool if levels is None else np.float32, shape)
    if levels is not None:
        _check_on(levels.astype(np.float32), psi)


def _check_on(levels: NDArray[Any], psi: NDArray[Any]) -> None:
    if not np.isin(psi, levels).all():
        raise InvariantError("psi must hold levels only")


@dataclass(frozen=True, eq=False)
class ChainState:
    """One state of a chain. Arrays are never changed in place.

    Attributes
    ----------
    theta : float64[n_users, D]
    psi : float64[n_items, D]
    noise : float64[n_users]
        Variance by user; not used with yes/no data.
    items : ItemPrior or ValuePrior
    users : UserPrior
    scale, shape : float
        Of the noise's prior.
    alpha : float64[D]
        Of theta's Dirichlet prior, with yes/no data.
    """

    theta: Floats
    psi: Floats
    noise: Floats
    items: Any
    users: UserPrior
    scale: float
    alpha: Floats
    shape: float = 3.0

    def validate(self, n_users: int, n_items: int, n_events: int, levels: Floats | None) -> None:
        """Raise `InvariantError` where no chain of such a table can be in this state."""
        check_array("theta", self.theta, np.float64, (n_users, n_events))
        check_array("psi", self.psi, np.float64, (n_items, n_events))
        check_array("the noise", self.noise, np.float64, (n_users,))
        check_array("alpha", self.alpha, np.float64, (n_events,))
        check_simplex("theta", self.theta)
        if levels is None:
            check_bits("psi", self.psi)
        else:
            _check_on(levels, self.psi)
        check_between("the noise's shape", np.array([self.shape]), LEAST_SHAPE, MOST_SHAPE)
        for what, array in (("the noise", self.noise), ("alpha", self.alpha), ("the scale", np.array([self.scale]))):
            check_between(what, array, *SENSIBLE)
        self.items.validate(n_items, n_events)
        self.users.validate(n_events, PRIOR_DRAWS if levels is not None else None)


class Chain(ABC):
    """Draws from the posterior given one table, by Gibbs sampling.

    Parameters
    ----------
    observations : Observations
    features : float64[n_users, k]
        Of the users' prior.
    n_events, n_classes : int
    concentration : float or None
        Of the users' prior: a precision with noise, the sum of the Dirichlet's parameters with yes/no data. None learns
        it.
    seed : int
        With the number of the sweep it fixes every random number.
    dealer : Threads
    """

    #: Variances are InverseGamma(noise_shape, scale); the scale is Gamma(1, noise_rate), the rate in units of the data.
    noise_shape = 3.0
    #: The numbers of the priors on which chains should agree.
    prior_names: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        observations: Observations,
        features: Floats,
        *,
        n_events: int,
        n_classes: int,
        concentration: float | None,
        seed: int,
        dealer: Threads,
    ) -> None:
        self.observations = observations
        self.features = features
        self.n_events = n_events
        self.n_classes = n_classes
        self.concentration = concentration
        self.seed = seed
        self.dealer = dealer
        self.noise_rate = 1.0 / (self.noise_shape * max(float(np.var(observations.values)), 1e-4))
        self.seen_users = observations.rows.counts > 0
        rows = observations.rows
        self.mass = rows.counts.astype(np.float64)
        if rows.weights.size:
            owners = rows.owners(0, len(self.mass))
            self.mass = np.bincount(owners, weights=rows.weights, minlength=len(self.mass)).astype(np.float64)

    def start(self) -> ChainState:
        """Return a point estimate from a random start: single bits leave a poor one too slowly.

        Chains with other seeds descend from elsewhere to elsewhere.
        """
        rng = generator(self.seed, START)
        table = self.observations
        found = self._descended()
        spread = max(float(np.var(table.values)), 1e-4)
        theta = (1.0 - _BLUR) * found.theta + _BLUR / self.n_events
        distance = float(((theta - theta.mean(axis=0)) ** 2).sum(axis=1).mean())
        concentration = self.concentration or float(np.clip((self.n_events - 1) / max(distance, 1e-9), 1.0, 300.0))
        return ChainState(
            theta=theta,
            psi=found.psi,
            noise=np.full(table.n_users, spread),
            items=ItemPrior.start(table, self.n_classes, self.n_events, rng),
            users=UserPrior.start(self.features, self.n_events, concentration),
            scale=self.noise_shape * spread,
            alpha=np.full(self.n_events, 1.0 if self.concentration is None else self.concentration / self.n_events),
        )

    @classmethod
    def started(cls, chains: Sequence[Any], dealer: Threads) -> list[ChainState]:
        """Start some chains, side by side."""
        with ThreadPoolExecutor(min(dealer.n_threads, len(chains))) as pool:
            return list(pool.map(lambda chain: chain.start(), chains))

    def _descended(self) -> State:
        """Run the point estimate's descent."""
        ridge = min(_START_RIDGE * float(self.mass[self.seen_users].mean()), _LARGEST_RIDGE)
        problem = Problem(
            resolve("simplex", "active_set"),
            resolve("binary", "local_search", tabu_moves=0),
            Objective(ridge, 0.0, "mean"),
        )
        descent = MultiStart(
            ThreadedEngine(problem, self.observations, self.dealer),
            n_events=self.n_events,
            seed=self.seed,
            n_init=1,
            max_iter=_START_SWEEPS,
            tol=1e-4,
            keep_interrupted=False,
        )
        return descent.run().state

    @abstractmethod
    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the numbers that `prior_names` names."""

    def row_seeds(self, index: int, side: int) -> NDArray[np.uint64]:
        """Return the seeds of all users or items in a sweep."""
        n_rows = self.observations.n_users if side == USER_SIDE else self.observations.n_items
        return row_seeds(self.seed, index, side, np.arange(n_rows))

    def sample(self, state: ChainState) -> Sample:
        """Return the model of a state."""
        return Sample(on_grid(state.theta), self.kept(state.psi), state.noise.astype(np.float32), self.priors(state))

    def kept(self, psi: Floats) -> NDArray[Any]:
        """Return psi as draws keep it: bits."""
        return psi > 0.5

    @abstractmethod
    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw everything once; the users' prior is learned only while `learning`."""


class GaussianChain(Chain):
    """Answers are theta_u . psi_i plus normal noise whose variance depends on the user."""

    prior_names = ("concentration", "noise")

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta, fixed after burn-in, and the usual deviation of the noise."""
        usual = float(np.sqrt(state.scale / self.noise_shape))
        return {"concentration": float(state.users.concentration), "noise": usual}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psi, theta, noise and priors, each given the rest."""
        self.observations.check_intact()
        rng = generator(self.seed, PRIORS, index)
        precision = 1.0 / state.noise
        psi = self._items(state, precision, index)
        theta = self._thetas(state, psi, precision, index)
        noise, prior = NoisePrior(state.scale, self.noise_shape, self.noise_rate).redrawn(
            *noise_of(self, theta, psi), rng
        )
        users = state.users
        if learning:
            users = users.learned(theta, self.seen_users, rng, spread=self.concentration is None)
        return ChainState(theta, psi, noise, state.items.redrawn(psi, rng), users, prior.scale, state.alpha)

    def _thetas(self, state: ChainState, psi: Floats, precision: Floats, index: int) -> Floats:
        """Draw the theta of every user: a normal distribution restricted to the simplex."""
        sampler = SimplexSampler()
        partners, view, weights = Partners.with_precision(psi, self.observations.rows, precision)
        pull, origin = state.users.concentration, np.zeros(self.n_events)
        tilt = pull * state.users.centre
        theta, seeds = np.empty_like(state.theta), self.row_seeds(index, USER_SIDE)

        def share(first: int, last: int) -> None:
            rows = slice(first, last)
            gram, moment = partners.equations(view, first, last, pull, origin, weights)
            theta[rows] = sampler.solve_batch(gram, moment + tilt[rows], state.theta[rows], seeds[rows])

        self.dealer.deal(share, len(theta), self.n_events * self.n_events)
        return theta

    def _items(self, state: ChainState, precision: Floats, index: int) -> Floats:
        """Draw the bits of every item."""
        columns = self.observations.columns
        table = (columns.indptr, columns.indices, columns.values, columns.weights)
        given = (precision, state.theta, state.psi, state.items.logit)
        psi, seeds = np.empty_like(state.psi), self.row_seeds(index, ITEM_SIDE)

        def share(first: int, last: int) -> None:
            draw_bits(*table, *given, _ROUNDS, seeds[first:last], first, last, psi)

        self.dealer.deal(share, len(psi), self.n_events * self.n_events)
        return psi


def noise_of(chain: Chain, theta: Floats, psi: Floats) -> tuple[Floats, Floats]:
    """Return each user's residual sum of squares and number of observations, weighted ones counted so."""
    rows = chain.observations.rows
    table = (rows.indptr, rows.indices, rows.values, rows.weights)
    squares = np.empty(len(theta))
    chain.dealer.deal(
        lambda first, last: residual_squares(*table, theta, psi, first, last, squares),
        len(theta),
        1,
        rows.indptr,
        16 * chain.n_events,
    )
    return squares, chain.mass


class BernoulliChain(Chain):
    """Answers are yes or no: an event is drawn from theta_u, and the answer is psi_i's bit, but for a small floor."""

    prior_names = ("concentration",)

    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the concentration of theta: the sum of its Dirichlet prior's parameters."""
        return {"concentration": float(state.alpha.sum())}

    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw psi with the events summed out, then events and theta, then the priors."""
        self.observations.check_intact()
        rng = generator(self.seed, PRIORS, index)
        rows, columns = self.observations.rows, self.observations.columns
        psi, theta = np.empty_like(state.psi), np.empty_like(state.theta)
        logit = state.items.logit
        item_seeds, user_seeds = self.row_seeds(index, ITEM_SIDE), self.row_seeds(index, USER_SIDE)

        def item_share(first: int, last: int) -> None:
            table = (columns.indptr, columns.indices, columns.values, columns.weights)
            draw_answers(*table, state.theta, state.psi, logit, FLOOR, item_seeds[first:last], first, last, psi)

        def user_share(first: int, last: int) -> None:
            table = (rows.indptr, rows.indices, said, rows.weights)
            draw_emitted(*table, bits, EMISSION, state.theta, state.alpha, user_seeds[first:last], first, last, theta)

        size = self.n_events * self.n_events
        self.dealer.deal(item_share, self.observations.n_items, size)
        bits, said = psi.astype(np.uint8), (rows.values > 0.5).astype(np.uint8)
        self.dealer.deal(user_share, self.observations.n_users, size)
        fixed = self.concentration is not None
        alpha = redrawn_alpha(state.alpha, theta[self.seen_users], rng, total_fixed=fixed)
        return replace(state, theta=theta, psi=psi, items=state.items.redrawn(psi, rng), alpha=alpha)
