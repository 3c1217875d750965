"""What is known of users and items beside their answers, and priors that are learned: of theta, psi and the noise.

Features shift the priors of theta and psi. What the pattern of a table says, who was observed with what whatever was
answered, is one block of features, and every attribute is a block of its own. The slopes of a block are
Normal(0, residual variance / ridge), and the ridge is Gamma with half a degree of freedom around what is usual:
features that say nothing must not be believed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.attributes import TableAttributes
from kolmogorov.draws.gibbs import draw_thetas

#: What slopes are usually shrunk by, as by so many rows: those of the pattern, which says something of most tables, and
#: those of an attribute, which may say nothing. By judgement.
PATTERN_RIDGE, ATTRIBUTE_RIDGE = 20.0, 20_000.0
#: Rounds in which ridges are found, of the pattern alone and with attributes. By judgement.
ROUNDS, _MORE_ROUNDS = 5, 10
#: The least sum of squares that a variance is made of, so that it is not 0.
TINY = 1e-9

#: Numbers of columns of the blocks of attributes, which are the last columns; those before are of the pattern.
Blocks = tuple[int, ...]
#: Draws from the prior by which the concentration is learned. By judgement.
PRIOR_DRAWS = 256
#: The concentration's own prior: its logarithm is Normal. Wide, by judgement.
_USUAL_CONCENTRATION, _CONCENTRATION_SPREAD = math.log(100.0), 2.0
#: The largest step of the logarithm, the least information of a theta about it, and where the concentration lies. By
#: judgement: they bind in the first sweeps at most.
_LARGEST_STEP, _LEAST_INFORMATION, _LEAST, _MOST = 0.2, 1e-4, 0.1, 1e4
#: What slopes are shrunk by: hardly for the mean; for features it is Gamma, with this shape. By judgement.
_MEAN_RIDGE, _RIDGE_SHAPE = 0.1, 0.5
#: The least that slopes are shrunk by. Where there are more features than items, some slopes touch no item and grow
#: with every draw; below this the sums of features could not be inverted.
_LEAST_SHRINKAGE = 1e-6
#: Degrees of freedom of the precision's Wishart prior beyond the number of events: few, so that it says little.
FREEDOM = 2
#: The spread of psi before anything is known. By judgement.
_START_SPREAD = 0.3
#: Where the shape lies: below, variances have no mean; above, all users have the same.
LEAST_SHAPE, MOST_SHAPE = 1.2, 200.0
#: The shape's own prior: its logarithm is Normal. Wide, by judgement.
_USUAL_SHAPE, _SHAPE_SPREAD = math.log(5.0), 1.5
#: Sizes of the proposals on the log scale, each used once a sweep. By judgement.
_STEPS = (0.5, 0.1, 0.03)
#: A table that can be fitted exactly would draw the noise to nothing.
_LEAST_NOISE = 1e-6

#: A table of which more is observed says nothing by its pattern. By judgement.
_DENSE = 0.5
#: Rows or columns up to which singular vectors are found all at once. By judgement.
_FEW = 20
#: Singular values that count as 0; the largest is 1.
_NOTHING = 1e-6


# --- features ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of users and of items: float64[n_users, k] and float64[n_items, l], standardised.

    The last columns of either are blocks of attributes, as wide as `user_blocks` and `item_blocks` say; those before
    are of the pattern.
    """

    users: Floats
    items: Floats
    user_blocks: Blocks = ()
    item_blocks: Blocks = ()

    @classmethod
    def none(cls, n_users: int, n_items: int) -> Features:
        """Know nothing."""
        return cls(np.zeros((n_users, 0)), np.zeros((n_items, 0)))

    def with_attributes(self, known: TableAttributes) -> Features:
        """Put attributes beside what is known already."""
        found, users, items = self, known.users, known.items
        if users is not None:
            found = replace(found, users=np.hstack([found.users, users.values]), user_blocks=users.blocks)
        if items is not None:
            found = replace(found, items=np.hstack([found.items, items.values]), item_blocks=items.blocks)
        return found


def pattern_features(observations: Observations, count: int) -> Features:
    """Describe users and items, both by singular vectors of the pattern, in which frequent ones count less."""
    rows, columns, shape = observations.rows, observations.columns, (observations.n_users, observations.n_items)
    count = 0 if len(observations) > _DENSE * shape[0] * shape[1] else min(count, min(shape) - 1)
    if count < 1:
        return Features.none(*shape)
    scale = 1.0 / np.sqrt(np.maximum(rows.counts, 1))[observations.user_rows()]
    scale = scale / np.sqrt(np.maximum(columns.counts, 1))[observations.item_rows()]
    pattern = csr_array((scale, rows.indices.copy(), rows.indptr.copy()), shape=shape)
    if min(shape) <= max(_FEW, 2 * count + 1):
        # ARPACK would go through the whole space, and where that is less than it seems begin anew at random.
        tall = shape[0] >= shape[1]
        table = pattern if tall else pattern.T
        squares, short = np.linalg.eigh((table.T @ table).toarray())
        sizes, short = np.sqrt(np.maximum(squares[-count:], 0.0)), short[:, -count:]
        # Of vectors without size zeros on the other side.
        long = (table @ short) / np.where(sizes > _NOTHING, sizes, np.inf)
        left, right = (long, short) if tall else (short, long)
    else:
        left, _, turned = svds(pattern, k=count, v0=np.ones(min(shape)))
        right = turned.T
    # What is observed often is liked more, and not in proportion: hence the square of the logarithm.
    items = _described(right, columns.counts, np.log(np.maximum(columns.counts, 1)) ** 2)
    return Features(_described(left, rows.counts), items)


def _described(vectors: Floats, counts: Any, *more: Floats) -> Floats:
    """Put standardised vectors, whose signs are free and get fixed, beside the size and more columns."""
    vectors = vectors * np.where(vectors.sum(axis=0) < 0, -1.0, 1.0)
    features = np.column_stack([vectors, np.log(np.maximum(counts, 1)), *more])
    spread = features.std(axis=0)
    return (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


# --- how much slopes are shrunk ---------------------------------------------------------------------------------------


def usual_ridges(n_columns: int, blocks: Blocks) -> list[tuple[slice, float]]:
    """Return the columns of each block, and what its slopes are usually shrunk by.

    Examples
    --------
    >>> usual_ridges(6, (1, 2))
    [(slice(0, 3, None), 20.0), (slice(3, 4, None), 20000.0), (slice(4, 6, None), 20000.0)]
    """
    ends = (n_columns - sum(blocks) + np.cumsum((0, *blocks))).tolist()
    found = [(slice(first, last), ATTRIBUTE_RIDGE) for first, last in pairwise(ends)]
    return [(slice(0, ends[0]), PATTERN_RIDGE), *found] if ends[0] else found


def shrunk_slopes(gram: Floats, moment: Floats, total: float, n_rows: float, blocks: Blocks) -> tuple[Floats, Floats]:
    """Return the slopes of `n_rows` rows on their features, with the ridges that make the rows likely.

    `gram`[k, k] sums products of features, `moment`[k, D] those of features and rows, which have mean 0 and whose
    squares sum to `total`. The rounds are MacKay's: the ridge of a block is the number of its slopes that are
    determined by the rows over the sum of their squares. The covariance of slopes, in units of the variance of rows, is
    returned as well.
    """
    n_features, size = moment.shape
    known = usual_ridges(n_features, blocks)
    ridge = np.empty(n_features)
    for block, usual in known:
        ridge[block] = min(usual, PATTERN_RIDGE)
    slopes: Floats = np.zeros_like(moment)
    inverse: NDArray[Any] = np.zeros_like(gram)
    for _ in range(_MORE_ROUNDS if blocks else ROUNDS):
        inverse = np.linalg.inv(gram + np.diag(ridge))
        slopes = inverse @ moment
        variance = max(total - float((slopes * moment).sum()), TINY) / (n_rows * size)
        for block, usual in known:
            own = slopes[block]
            determined = own.size - ridge[block][0] * size * float(np.trace(inverse[block, block]))
            ridge[block] = (1.0 + determined) / (1.0 / usual + float((own**2).sum()) / variance)
    return slopes, inverse


# --- theta ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """theta_u ~ Normal(mean + features_u . slopes, 1 / concentration), restricted to the simplex.

    The three are learned during burn-in and fixed after it, by each chain for itself. Features say with which items a
    user was observed, whatever was answered, and the last of them, in `blocks`, which attributes a user has. Where only
    yes is recorded (`only_yes`) the pattern is the answers, and would be believed beside them if its slopes were not
    shrunk as usual. The concentration is learned by `prior_draws`, float64[n, D], which come from the prior itself for
    the first users.
    """

    features: Floats
    mean: Floats
    slopes: Floats
    concentration: float
    prior_draws: Floats
    blocks: Blocks = ()
    only_yes: bool = False

    @classmethod
    def start(cls, features: Floats, n_events: int, concentration: float, **given: Any) -> ThetaPrior:
        """Begin with equal events for all."""
        mean = np.full(n_events, 1.0 / n_events)
        prior_draws = np.tile(mean, (PRIOR_DRAWS, 1))
        return cls(features, mean, np.zeros((features.shape[1], n_events)), concentration, prior_draws, **given)

    @property
    def centre(self) -> Floats:
        """The mean of each user; float64[n_users, D]."""
        return self.mean + self.features @ self.slopes

    @property
    def pull(self) -> tuple[float, Floats]:
        """How strongly, and to where, thetas are drawn."""
        return self.concentration, self.centre

    def fitted(self, theta: Floats, seen: NDArray[np.bool_]) -> ThetaPrior:
        """Fit mean and slopes to the thetas of the users observed, with the ridges that make these likely."""
        known, mean = self.features[seen], theta[seen].mean(axis=0)
        apart, slopes = theta[seen] - mean, self.slopes
        gram, moment = known.T @ known, known.T @ apart
        if self.only_yes:
            slopes = np.linalg.solve(gram + PATTERN_RIDGE * np.eye(len(gram)), moment)
        elif slopes.size:
            slopes, _ = shrunk_slopes(gram, moment, float((apart**2).sum()), len(apart), self.blocks)
        return replace(self, mean=mean, slopes=slopes)

    def stepped(self, theta: Floats, seen: NDArray[np.bool_], rng: np.random.Generator) -> ThetaPrior:
        """Take one scoring step for the logarithm of the concentration, although the normalising constant is unknown.

        Its slope is how much closer thetas lie to their centres than draws from the prior do, its information the
        variance of those draws' distances: on the simplex a step that is right for a normal distribution is far too
        short where the edges and not the concentration hold thetas together.
        """
        n, pull, centre = len(self.prior_draws), self.concentration, self.centre
        who, drawn = np.resize(np.flatnonzero(seen), n), np.empty_like(self.prior_draws)
        seeds = rng.integers(2**63, size=n).astype(np.uint64)
        # They are thetas of users without answers.
        nobody = (np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))
        nothing = (np.ones(n), np.zeros((0, centre.shape[1])), np.empty((0, 0)))
        draw_thetas(*nobody, *nothing, pull, centre[who], 2, self.prior_draws, seeds, 0, n, drawn)
        usual = ((drawn - centre[who]) ** 2).sum(axis=1)
        found = float(((theta[seen] - centre[seen]) ** 2).sum(axis=1).mean())
        concentration = scored(pull, int(seen.sum()), found, float(usual.mean()), float(usual.var()))
        return replace(self, prior_draws=drawn, concentration=concentration)


def scored(pull: float, n: int, found: float, usual: float, variance: float) -> float:
    """Return the concentration after the step, given the mean square distance of `n` thetas and that of prior draws."""
    information = n * max(0.25 * pull * pull * variance, _LEAST_INFORMATION) + _CONCENTRATION_SPREAD**-2
    slope = n * 0.5 * pull * (usual - found) + (_USUAL_CONCENTRATION - math.log(pull)) * _CONCENTRATION_SPREAD**-2
    step = min(max(slope / information, -_LARGEST_STEP), _LARGEST_STEP)
    return min(max(pull * math.exp(step), _LEAST), _MOST)


# --- psi --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PsiPrior:
    """psi_i ~ Normal(features_i . slopes, precision^-1) on a grid.

    The precision is a full matrix: an item that is liked is so in most events, and what is known of it in some events
    says much about the others. Slopes and precision are learned during burn-in and fixed after it, by each chain for
    itself. The first of the features is 1, and the last are `blocks` of attributes.
    """

    features: Floats
    slopes: Floats
    precision: Floats
    blocks: Blocks = ()

    @classmethod
    def start(cls, features: Floats, n_events: int, mean: float, blocks: Blocks = ()) -> PsiPrior:
        """Begin with the same mean in all events, each for itself."""
        slopes = np.zeros((features.shape[1] + 1, n_events))
        slopes[0] = mean
        return cls(with_ones(features), slopes, np.eye(n_events) / _START_SPREAD**2, blocks)

    @property
    def centre(self) -> Floats:
        """The mean of each item; float64[n_items, D]."""
        return self.features @ self.slopes

    def learned(self, psi: Floats, seen: NDArray[np.bool_], variance: float, rng: np.random.Generator) -> PsiPrior:
        """Draw slopes, then the precision, given the psis of the items observed, as if those were continuous.

        How much slopes are shrunk is drawn first. `variance` by event is what the precision's Wishart prior is around.
        """
        known, psi = self.features[seen], psi[seen]
        gram = known.T @ known + np.diag(drawn_shrinkage(self.slopes, self.precision, rng, self.blocks))
        mean = np.linalg.solve(gram, known.T @ psi)
        rows, columns = np.linalg.cholesky(np.linalg.inv(gram)), np.linalg.cholesky(np.linalg.inv(self.precision))
        slopes = mean + rows @ rng.standard_normal(mean.shape) @ columns.T
        freedom, scale = _wishart(psi - known @ slopes, variance)
        normals = rng.standard_normal(scale.shape)
        root = np.linalg.cholesky(scale) @ bartlett(normals, rng.chisquare(freedom - np.arange(len(scale))))
        drawn = root @ root.T
        return replace(self, slopes=slopes, precision=(drawn + drawn.T) / 2.0)


def drawn_shrinkage(slopes: Floats, precision: Floats, rng: np.random.Generator, blocks: Blocks = ()) -> Floats:
    """Draw what each row of the slopes is shrunk by, given the slopes; the first are those of the mean."""
    shrinkage = np.full(len(slopes), _MEAN_RIDGE)
    for block, usual in usual_ridges(len(slopes) - 1, blocks):
        others = slopes[1:][block]
        energy = float(((others @ precision) * others).sum())
        rate = _RIDGE_SHAPE / usual + 0.5 * energy
        shrinkage[1:][block] = max(rng.gamma(_RIDGE_SHAPE + 0.5 * others.size) / rate, _LEAST_SHRINKAGE)
    return shrinkage


def usual_precision(left: Floats, variance: float) -> Floats:
    """Return the mean of the precision's posterior given psis without their means."""
    freedom, scale = _wishart(left, variance)
    mean: Floats = freedom * scale
    return (mean + mean.T) / 2.0


def _wishart(left: Floats, variance: float) -> tuple[int, Floats]:
    """Return the degrees of freedom and the scale of the precision's posterior given psis without their means."""
    n, size = left.shape
    return size + FREEDOM + n, np.linalg.inv(variance * size * np.eye(size) + left.T @ left)


def with_ones(features: Floats) -> Floats:
    """Put a column of ones before features."""
    return np.column_stack([np.ones(len(features)), features])


def bartlett(normals: Floats, squares: Floats) -> Floats:
    """Return the triangle, or one of each row, whose product with its transpose is a Wishart matrix of unit scale."""
    lower = np.tril(normals, -1)
    places = np.arange(lower.shape[-1])
    lower[..., places, places] = np.sqrt(squares)
    return lower


# --- the noise --------------------------------------------------------------------------------------------------------


def redrawn_noise(scale: float, shape: float, residual: Floats, count: Floats, rng: np.random.Generator) -> Floats:
    """Draw variances ~ InverseGamma(shape, scale) given residual sums of squares and (weighted) counts."""
    return np.maximum((scale + 0.5 * residual) / rng.gamma(shape + 0.5 * count), _LEAST_NOISE)


def redrawn_noise_prior(
    shape: float, rate: float, n: int, logs: float, inverses: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Draw the scale, which is Gamma(1, rate), and the shape of `n` variances given sums of their logs and inverses.

    For the shape Metropolis steps are taken in which scale / shape, around which variances lie, stays: what moves is
    how far they are from it.
    """
    usual = float(rng.gamma(1.0 + shape * n) / (rate + inverses)) / shape

    def log_density(a: float) -> float:
        likelihood = n * (a * math.log(a * usual) - math.lgamma(a)) - (a + 1.0) * logs - a * usual * inverses
        return likelihood - 0.5 * ((math.log(a) - _USUAL_SHAPE) / _SHAPE_SPREAD) ** 2

    for step in _STEPS:
        proposed = shape * math.exp(step * rng.standard_normal())
        inside = LEAST_SHAPE < proposed < MOST_SHAPE
        if inside and math.log(rng.random()) < log_density(proposed) - log_density(shape):
            shape = proposed
    return usual * shape, shape
