"""Markov chains over Kolmogorov models: a sweep draws every psi_i, every theta_u, the noise and the priors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.invariants import check_among, check_array, check_between, check_simplex
from kolmogorov._support.nearest import nearest
from kolmogorov._support.seeds import generator, row_seeds
from kolmogorov.data.table.observations import Observations
from kolmogorov.execution import Threads
from kolmogorov.fitted.fixed_point import on_grid
from kolmogorov.fitting.descent.engine import Problem, ThreadedEngine
from kolmogorov.fitting.descent.half_step import USER_SIDE
from kolmogorov.fitting.descent.multi_start import MultiStart
from kolmogorov.fitting.descent.objective import Objective
from kolmogorov.sampling.chains.start import FactorChain, Factors, run_factors
from kolmogorov.sampling.priors.bounds import SENSIBLE
from kolmogorov.sampling.priors.items import ValuePrior
from kolmogorov.sampling.priors.noise import LEAST_SHAPE, MOST_SHAPE
from kolmogorov.sampling.priors.users import UserPrior
from kolmogorov.solvers import resolve

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]
START, PRIORS = 2, 3
#: The start: how far an item's values are from its mean answer, and theta's concentration.
_START_SPREAD, _START_CONCENTRATION = 0.3, 30.0
#: Grids of so few values start from a descent: its sweeps, its ridge for each rating that a user has on average, with
#: the largest, and how far thetas are moved off the simplex's edges afterwards.
_COARSE, _START_SWEEPS, _START_RIDGE, _LARGEST_RIDGE, _BLUR = 4, 40, 0.1, 10.0, 0.05
#: How often a sweep goes over the pairs of a user's events, and what a draw of one value takes, in multiplications.
USER_ROUNDS, VALUE_COST = 2, 64


@dataclass(frozen=True, eq=False)
class Sample:
    """What is kept of a state: the model itself.

    Attributes
    ----------
    theta : float32[n_users, D]
        On a grid that two bytes hold; see `sampling.grid`.
    psi : float32[n_items, D]
    noise : float32[n_users]
    priors : dict
        Numbers of the priors by name; chains that have settled agree on them.
    """

    theta: NDArray[np.float32]
    psi: NDArray[Any]
    noise: NDArray[np.float32]
    priors: dict[str, float]

    def validate(self, n_users: int, n_items: int, n_events: int, levels: Floats) -> None:
        """Raise `InvariantError` where this is no model of such a table; for arrays that come from a file."""
        check_array("theta", self.theta, np.float32, (n_users, n_events))
        check_array("psi", self.psi, np.float32, (n_items, n_events))
        check_among("psi", self.psi, levels.astype(np.float32))
        check_array("the noise", self.noise, np.float32, (n_users,))
        check_simplex("theta", self.theta)
        check_between("the noise", self.noise, *SENSIBLE)
        check_between("the priors", np.array(list(self.priors.values())), *SENSIBLE)


@dataclass(frozen=True, eq=False)
class ChainState:
    """One state of a chain. Arrays are never changed in place.

    Attributes
    ----------
    theta : float64[n_users, D]
    psi : float64[n_items, D]
    noise : float64[n_users]
        Variance by user; not used with yes/no data.
    items : ValuePrior
    users : UserPrior
    scale, shape : float
        Of the noise's prior.
    alpha : float64[D]
        Of theta's Dirichlet prior, with yes/no data.
    """

    theta: Floats
    psi: Floats
    noise: Floats
    items: ValuePrior
    users: UserPrior
    scale: float
    alpha: Floats
    shape: float = 3.0

    def validate(self, n_users: int, n_items: int, n_events: int, levels: Floats) -> None:
        """Raise `InvariantError` where no chain of such a table can be in this state."""
        check_array("theta", self.theta, np.float64, (n_users, n_events))
        check_array("psi", self.psi, np.float64, (n_items, n_events))
        check_array("the noise", self.noise, np.float64, (n_users,))
        check_array("alpha", self.alpha, np.float64, (n_events,))
        check_simplex("theta", self.theta)
        check_among("psi", self.psi, levels)
        check_between("the noise's shape", np.array([self.shape]), LEAST_SHAPE, MOST_SHAPE)
        for what, array in (("the noise", self.noise), ("alpha", self.alpha), ("the scale", np.array([self.scale]))):
            check_between(what, array, *SENSIBLE)
        self.items.validate(n_items, n_events)
        self.users.validate(n_events)


def value_variance(*, noisy: bool) -> float:
    """Return what the prior of values' precision is around, as a variance by event.

    With noisy ratings it has to be small: events that are not needed must be able to have nearly the same values.
    """
    return 0.01 if noisy else 0.1


class Chain(ABC):
    """Draws from the posterior given one table, by Gibbs sampling.

    Parameters
    ----------
    observations : Observations
    features : float64[n_users, k]
        Of the users' prior.
    n_events : int
    concentration : float or None
        Of the users' prior: a precision with noise, the sum of the Dirichlet's parameters with yes/no data. None learns
        it.
    seed : int
        With the number of the sweep it fixes every random number.
    dealer : Threads
    item_features : float64[n_items, k]
    levels : float64[L]
        The values that an item may take in an event, increasing.
    """

    #: Variances are InverseGamma(noise_shape, scale); the scale is Gamma(1, noise_rate), the rate in units of the data.
    noise_shape = 3.0
    #: What an entry that was not observed weighs, as an answer of 0.
    unobserved = 0.0
    #: The numbers of the priors on which chains should agree.
    prior_names: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        observations: Observations,
        features: Floats,
        *,
        n_events: int,
        concentration: float | None,
        seed: int,
        dealer: Threads,
        item_features: Floats,
        levels: Floats,
    ) -> None:
        self.observations = observations
        self.features = features
        self.n_events = n_events
        self.concentration = concentration
        self.seed = seed
        self.dealer = dealer
        self.item_features = item_features
        self.levels = levels
        self.value_variance = value_variance(noisy=False)
        self.seen_items = observations.columns.counts > 0
        self._drawn: tuple[Floats, Codes] | None = None
        self.noise_rate = 1.0 / (self.noise_shape * max(float(np.var(observations.values)), 1e-4))
        self.seen_users = observations.rows.counts > 0
        rows = observations.rows
        self.mass = rows.counts.astype(np.float64)
        if rows.weights.size:
            owners = rows.owners(0, len(self.mass))
            self.mass = np.bincount(owners, weights=rows.weights, minlength=len(self.mass)).astype(np.float64)

    def codes(self, psi: Floats) -> Codes:
        """Return the places of values in the grid, which are known of those drawn last."""
        if self._drawn is not None and self._drawn[0] is psi:
            return self._drawn[1]
        return nearest(psi, self.levels)

    def values(self, codes: Codes) -> Floats:
        """Return values drawn as places."""
        psi: Floats = self.levels[codes]
        self._drawn = psi, codes
        return psi

    @property
    def from_factors(self) -> bool:
        """Whether chains start from factors without the simplex: these settle in a few sweeps, values in hundreds."""
        return False

    def start(self) -> ChainState:
        """Start from factors, or from next to nothing."""
        return self.started([self], self.dealer)[0]

    @classmethod
    def started(cls, chains: Sequence[Any], dealer: Threads) -> list[ChainState]:
        """Start chains that differ in their seeds, on all threads of a dealer."""
        first, states = chains[0], [chain.plain_start() for chain in chains]
        if first.levels.size <= _COARSE:
            return [chain._descended(state, dealer) for chain, state in zip(chains, states, strict=True)]
        if first.n_events == 1 or not first.from_factors:
            return states
        rngs = [generator(chain.seed, START, 1) for chain in chains]
        found = run_factors(
            [
                FactorChain(
                    chain.observations,
                    chain.item_features,
                    chain.n_events,
                    chain.value_variance,
                    float(chain.mass.sum()),
                    int(rng.integers(2**63)),
                    rng,
                )
                for chain, rng in zip(chains, rngs, strict=True)
            ],
            first.observations,
            first.n_events,
            dealer,
        )
        return [chain._placed(*given) for chain, *given in zip(chains, states, found, rngs, strict=True)]

    def _descended(self, plain: ChainState, dealer: Threads) -> ChainState:
        """Start from a descent: on a coarse grid single values leave a poor mode too slowly."""
        ridge = min(_START_RIDGE * float(self.mass[self.seen_users].mean()), _LARGEST_RIDGE)
        two = self.levels.size == 2
        problem = Problem(
            resolve("simplex", "active_set"),
            resolve("binary", "local_search", tabu_moves=0) if two else resolve("levels", "coordinate"),
            Objective(ridge, 0.0, "mean", self.unobserved),
            2 if two else self.levels.tolist(),
        )
        engine = ThreadedEngine(problem, self.observations, dealer)
        descent = MultiStart(
            engine, self.n_events, self.seed, n_init=1, max_iter=_START_SWEEPS, tol=1e-4, keep_interrupted=False
        )
        found = descent.run().state
        psi = self.levels[nearest(found.psi, self.levels)]
        return replace(plain, theta=(1.0 - _BLUR) * found.theta + _BLUR / self.n_events, psi=psi)

    def _placed(self, plain: ChainState, found: Factors, rng: np.random.Generator) -> ChainState:
        """Put factors onto the simplex, as far from equal shares as points anywhere on it are."""
        size = self.n_events
        theta, x, items = found.on_simplex(1.0 / size, rng)
        concentration = self.concentration or float(size * size)
        return replace(
            plain,
            theta=theta,
            psi=self.levels[nearest(x, self.levels)],
            noise=np.full(len(theta), found.noise),
            items=items,
            users=UserPrior.start(self.features, size, concentration),
            scale=self.noise_shape * found.noise,
        )

    def plain_start(self) -> ChainState:
        """Put items around their mean answers and users anywhere: chains find their modes from there.

        A descent first brings nothing: its values are at the ends of the grid, and chains take longer to leave them.
        """
        rng = generator(self.seed, START)
        table, size = self.observations, self.n_events
        mean = float(table.values.mean())
        columns = table.columns
        owners = columns.owners(0, table.n_items)
        sums = np.bincount(owners, weights=columns.values, minlength=table.n_items)
        # Items with few answers begin near the mean of all.
        usual = (sums + mean) / (columns.counts + 1.0)
        x = usual[:, None] + _START_SPREAD * rng.standard_normal((table.n_items, size))
        spread = max(float(np.var(table.values)), 1e-4)
        concentration = self.concentration or _START_CONCENTRATION
        return ChainState(
            theta=rng.dirichlet(np.ones(size), size=table.n_users),
            psi=self.levels[nearest(x, self.levels)],
            noise=np.full(table.n_users, spread),
            items=ValuePrior.start(self.item_features, size, mean),
            users=UserPrior.start(self.features, size, concentration),
            scale=self.noise_shape * spread,
            alpha=np.full(size, 1.0 if self.concentration is None else self.concentration / size),
            shape=self.noise_shape,
        )

    @abstractmethod
    def priors(self, state: ChainState) -> dict[str, float]:
        """Return the numbers that `prior_names` names."""

    def row_seeds(self, index: int, side: int) -> NDArray[np.uint64]:
        """Return the seeds of all users or items in a sweep."""
        n_rows = self.observations.n_users if side == USER_SIDE else self.observations.n_items
        return row_seeds(self.seed, index, side, np.arange(n_rows))

    def sample(self, state: ChainState) -> Sample:
        """Return the model of a state."""
        return Sample(
            on_grid(state.theta), state.psi.astype(np.float32), state.noise.astype(np.float32), self.priors(state)
        )

    @abstractmethod
    def sweep(self, state: ChainState, index: int, *, learning: bool) -> ChainState:
        """Draw everything once; the users' prior is learned only while `learning`."""
