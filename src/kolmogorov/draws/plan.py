"""What is sampled: how many chains, how long, on which levels, and what suits a table; how draws are held.

Here is also all that a benchmark chose; other constants, by judgement, stand where they are used.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations

#: Chains that a single model is learned from, half as many for a large table, which says more itself. On a split of
#: MovieLens 100K that no table has models with chances of 1, 2 and 4 chains have 0.8829, 0.8815 and 0.8800 stars, of 8
#: chains of 150 sweeps 0.8791 in four times the time; with two, fewer events are found again.
SHORT_CHAINS, SHORT_LARGE, SHORT_BURN_IN, SHORT_SAMPLES = 4, 300_000, 50, 20
#: Sweeps before the first that is kept, those that are kept, and the share of equal shares in a theta where chains
#: start from what was learned before: thetas of a model lie near the edges of the simplex, and chains further inside.
#: Chosen on two splits of MovieLens 100K; on others ten updates by time end 0.05% ± 0.09% above the error of a fit.
WARM_BURN_IN, WARM_SAMPLES, WARM_BLUR = 10, 20, 0.2
#: Events of a table with so many ratings, where their number is left open; it grows with the cube root of theirs, from
#: the fewest to the most. `docs/accuracy.md` has what they cost and bring: too few cost more than too many.
EVENTS, OF_RATINGS, FEWEST_EVENTS, MOST_EVENTS = 16, 30_000, 10, 48
#: Twice as many, up to so many, where ratings that are not yes and no fill at least this share of a table.
MOST_DENSE, DENSE = 32, 0.5
#: Of chains that one model is learned from, which keeps those that other chains find again: this share of them, of a
#: full table and of others, and the fewest. With more of them fewer are found again, of MovieLens 100K and of votes.
SHORT_DENSE, SHORT_SPARSE, SHORT_FEWEST = 0.75, 0.5, 12
#: The same where only yes is recorded and what is not observed tells events apart as well. By judgement.
EVENTS_YES, OF_YES, MOST_YES = 20, 5_000, 32

#: Numbers that the draws a single model is learned from hold at most: a gigabyte. And the fewest draws of a chain.
SHORT_ROOM, _FEWEST_SAMPLES = 1 << 28, 5
#: Numbers of chains after which one looks whether they are enough: the same however many run side by side.
LOOKS = (2, 4)

#: An item's value in an event is kept as one byte; a reach of ten scales either way is beyond all use. By judgement.
MOST_LEVELS, FURTHEST_LEVEL = 64, 10.0
#: The step of a grid where the ratings' own is finer or coarser, with the two between which that serves. By judgement.
_USUAL_STEP, _FINEST_STEP, _COARSEST_STEP = 0.2, 0.15, 0.25
#: Ratings looked at to find their step. By judgement.
_LOOK = 1 << 20
#: Levels of ratings that are hidden behind yes and no, which nothing bounds: as many as a file holds. By judgement.
_HIDDEN = np.arange(-29, 34) / 4.0
#: How far levels lie at least beyond either end of the scale, in scales. With none beyond draws of MovieLens 100K are
#: worse by 0.010 stars, with two steps of the ratings by 0.002.
_BEYOND = 1.0
#: And from the mean: so many deviations of levels whose averages over events are as far apart as ratings are.
#: By judgement.
_DEVIATIONS = 2.5
#: Levels in the deviation that the answers to an item leave open. By judgement.
_FINENESS = 4


@dataclass(frozen=True)
class Sizes:
    """Numbers that a user may leave open; `thin` is the number of sweeps from a draw that is kept to the next."""

    n_events: int
    n_chains: int
    burn_in: int
    n_samples: int
    thin: int
    n_features: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Sizes):
    """What is to be sampled, as `BayesianKolmogorovModel` is told."""

    likelihood: str
    levels: Floats
    unobserved: float = 0.0
    #: Chains are enough when more would take no larger share of the squared error away; at 0 all are run.
    enough: float = 0.0

    @property
    def n_sweeps(self) -> int:
        """Sweeps of a chain."""
        return self.burn_in + self.n_samples * self.thin

    def next_look(self, n_chains: int) -> int:
        """Return how many chains have to be through, after so many, before one may look whether they are enough."""
        return min((look for look in LOOKS if self.enough and look > n_chains), default=self.n_chains)

    def learns(self, sweep: int) -> bool:
        """Whether priors are still learned in a sweep (from 1)."""
        return sweep <= self.burn_in

    def keeps(self, sweep: int) -> bool:
        """Whether the state after a sweep (from 1) is kept."""
        past = sweep - self.burn_in
        return past > 0 and past % self.thin == 0


# --- what suits a table -----------------------------------------------------------------------------------------------


def likelihood_of(table: Observations) -> str:
    """Return the likelihood that suits a table: yes and no where it holds nothing else."""
    return "bernoulli" if table.is_binary else "gaussian"


def settled_weight(wanted: float, table: Observations) -> float:
    """Return what an unobserved entry weighs where so much was wanted: less than anything observed."""
    least = 1.0 if table.weights is None else float(table.weights.min())
    # Just below the weights of what was observed: then all cells weigh the same.
    return min(wanted, least * (1.0 - 1e-6))


def suited(table: Observations, *, only_yes: bool = False) -> Sizes:
    """Choose by the number of ratings, beside the numbers of users and items.

    More chains are worth more than a longer burn-in (of MovieLens 100K one instead of four costs 0.0045 stars, half the
    burn-in 0.0009), and many ratings leave time for fewer.

    Examples
    --------
    >>> import kolmogorov as km
    >>> suited(km.datasets.load("food")).n_events, suited(km.datasets.load("zoo")).n_events
    (15, 10)
    """
    n = max(len(table), 1)
    if only_yes:
        n_events = _between(EVENTS_YES * (n / OF_YES) ** 0.2, 4, MOST_YES)
    else:
        wanted = EVENTS * (n / OF_RATINGS) ** (1 / 3)
        wanted = max(wanted, min(2.0 * wanted, MOST_DENSE)) if _dense(table) else wanted
        n_events = _between(wanted, FEWEST_EVENTS, MOST_EVENTS)
    return Sizes(
        n_events=min(n_events, max(2, min(table.n_users, table.n_items))),
        n_chains=4 if n >= 300_000 else 8,
        burn_in=100,
        n_samples=20,
        thin=4,
        # What the pattern of so many ratings can say something by.
        n_features=_between(30.0 * (n / 80_000.0) ** 0.3, 5, 60),
    )


def short(table: Observations, n_events: int | None = None) -> Sizes:
    """Return what is enough to complete a table from which one model is learned: few chains of some ninety sweeps.

    They complete it nearly as well as those of `suited`, and the one model keeps less than what they lose. Of very many
    rows fewer draws are kept, so that theta, psi and the noise of all stay within a gigabyte.
    """
    usual = suited(table)
    share = SHORT_DENSE if _dense(table) else SHORT_SPARSE
    n_events = n_events or min(max(int(share * usual.n_events), SHORT_FEWEST), usual.n_events)
    held = n_events * (table.n_users + table.n_items) + table.n_users
    n_chains = SHORT_CHAINS if len(table) < SHORT_LARGE else SHORT_CHAINS // 2
    n_samples = _between(float(SHORT_ROOM // max(n_chains * held, 1)), _FEWEST_SAMPLES, SHORT_SAMPLES)
    lengths = {"n_chains": n_chains, "burn_in": SHORT_BURN_IN, "n_samples": n_samples, "thin": 2}
    return replace(usual, n_events=n_events, **lengths)


def _dense(table: Observations) -> bool:
    return len(table) >= DENSE * table.n_users * table.n_items and not table.is_binary


def _between(value: float, low: int, high: int) -> int:
    return min(max(round(value), low), high)


# --- the levels on which psi is drawn: as far beyond the scale as averages need, as fine as items can tell ------------


def level_grid(table: Observations, likelihood: str, n_events: int) -> Floats:
    """Return the levels that chains draw from."""
    return rating_levels(table, n_events) if likelihood == "gaussian" else _HIDDEN


def rating_levels(table: Observations, n_events: int) -> Floats:
    """Return levels for tables with normal noise.

    Thetas that are anywhere on the simplex average D levels to a D-th of their variance: what is averaged must be the
    wider. A level of an item with n answers is known to about D / sqrt(n) of their deviation; on a grid that is
    coarser than this, levels do not move one by one.

    Examples
    --------
    >>> import kolmogorov as km
    >>> table = km.Observations.from_arrays(["ann", "bob", "cas"], ["tea"] * 3, [1, 3, 5], minimum=0)
    >>> rating_levels(table, 2)[[0, -1]].tolist()
    [-1.0, 2.0]
    """
    mean, deviation = float(table.values.mean()), float(table.values.std())
    # Neighbouring ratings are a step apart where that makes a grid of sensible size.
    found = np.unique(table.values[:_LOOK].round(9))
    base = float(np.diff(found).min()) if 2 <= found.size <= MOST_LEVELS else 0.0
    base = base if _FINEST_STEP <= base <= _COARSEST_STEP else _USUAL_STEP
    away = min(_DEVIATIONS * math.sqrt(n_events) * deviation, base * (MOST_LEVELS // 2 - 2))
    low, high = min(-_BEYOND, mean - away), max(1.0 + _BEYOND, mean + away)
    each = len(table) / max(int((table.columns.counts > 0).sum()), 1)
    wanted = deviation * n_events / math.sqrt(max(each, 1.0)) / _FINENESS
    most = base * (MOST_LEVELS - 3) / (high - low)
    # Where only yes is recorded answers do not differ, and say nothing of the distance between levels.
    parts = max(1, min(math.ceil(base / wanted), math.floor(most))) if wanted > 0.0 else 1
    inside = round(parts / base)
    return np.arange(math.floor(low * inside), math.ceil(high * inside) + 1) / inside


def nearest(values: NDArray[Any], points: NDArray[np.float64]) -> NDArray[Any]:
    """Return which of some increasing points is nearest to each value; half-way between two it is the lower one.

    The numbers are of the smallest unsigned type that holds them: up to 256 points take a byte each.

    Examples
    --------
    >>> nearest(np.array([-7.0, 0.24, 0.25, 0.9]), np.array([0.0, 0.5, 1.0])).tolist()
    [0, 0, 0, 2]
    """
    return np.searchsorted(middles(points), values).astype(np.min_scalar_type(points.size - 1))


def middles(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where rounding to the nearest of some increasing points changes."""
    return 0.5 * (points[1:] + points[:-1])


# --- thetas on a grid, whose numbers two bytes hold exactly ----------------------------------------------------------

#: Of the grid, from 0 to 1.
STEPS = 1 << 15


def on_grid(theta: Floats) -> NDArray[np.float32]:
    """Round distributions so that each still sums to 1: what is left over goes to the largest remainders.

    Examples
    --------
    >>> bool((on_grid(np.array([[0.1, 0.2, 0.7]])).sum(axis=1) == 1.0).all())
    True
    """
    # Of arrays on a GPU as well, whose functions NumPy's call.
    scaled = theta.astype(np.float64) * STEPS
    whole = np.floor(scaled)
    missing = np.rint(STEPS - whole.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(whole - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    whole += rank < missing[:, None]
    return (whole / STEPS).astype(np.float32)
