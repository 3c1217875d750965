"""What a kind of answer means: how psis and thetas are drawn given it, what is expected, and how answers lie around it.

Chains and posteriors have one of two kinds (`kind_of`), and nothing else asks which it is. With `Gaussian` noise an
answer is theta_u . psi_i and a normal number whose variance is the user's own. With `HiddenRatings` a yes is such a
rating above one half.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf, exp, pi, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, xlog1py, xlogy

from kolmogorov._support.jit import kernel
from kolmogorov._support.seeds import mixed
from kolmogorov._support.typing import Floats, Rows
from kolmogorov.data.view import View
from kolmogorov.descent.fitted import NOISE
from kolmogorov.draws.gibbs import draw_hidden, draw_psis, draw_thetas
from kolmogorov.draws.plan import middles

if TYPE_CHECKING:
    from kolmogorov.draws.posterior import Posterior

#: Draws rows first..last given where they are: (rows now, seeds of these rows, first, last, rows drawn).
Draw = Callable[[Any, NDArray[np.uint64], int, int, Any], None]
_HALF, _SQRT_TWO_PI = sqrt(0.5), sqrt(2.0 * pi)
#: Steps towards a quantile at most, and the size of the last, in deviations; the error is then that squared.
#: Many more than Newton's method needs.
_STEPS, _CLOSE = 60, 1e-5
#: How often a sweep goes over the pairs of a user's events. By judgement.
USER_ROUNDS = 2


def kind_of(likelihood: str, levels: Floats, unobserved: float) -> Gaussian:
    """Return what answers mean."""
    return (Gaussian if likelihood == "gaussian" else HiddenRatings)(levels, unobserved)


def chances_of_yes(said: Floats) -> Floats:
    """Return the chances that hidden ratings around what draws say lie above one half; in single precision if they are.

    Examples
    --------
    >>> chances_of_yes(np.array([-1.0, 0.25, 0.5, 1.0])).round(4).tolist()
    [0.0001, 0.2654, 0.5, 0.895]
    """
    chance: Floats = ndtr((said - said.dtype.type(0.5)) * said.dtype.type(1.0 / np.sqrt(NOISE)))
    return chance


class Gaussian:
    """Answers are theta_u . psi_i plus normal noise whose variance, which is drawn, depends on the user.

    An entry that was not observed may weigh `unobserved`, below all weights, as an answer of 0.
    """

    #: Whether what a draw says is a rating behind yes and no, and not what is expected.
    hidden: ClassVar[bool] = False
    #: Sweeps over a new item for each draw, and rounds over its levels in each. By judgement.
    new_item_rounds: ClassVar[tuple[int, int]] = (1, 12)

    def __init__(self, levels: Floats, unobserved: float) -> None:
        self.levels, self.unobserved = levels, unobserved
        #: What the prior of psi's precision is around, as a variance by event. With noisy ratings it has to be small:
        #: events that are not needed must be able to have nearly the same levels.
        self.psi_variance = 0.1 if unobserved else 0.01

    # --- conditional draws ------------------------------------------------------------------------------------------

    def psis(self, view: View, theta: Floats, noise: Floats, prior: tuple[Floats, Floats], rounds: int) -> Draw:
        """Return how items, as numbers of levels, are drawn given thetas and a prior: their means and its precision."""
        precision, (centre, pull) = self.precision(noise), prior
        if self.unobserved:
            # That everyone said no, a little, is one more normal prior, around 0.
            both = pull + self.unobserved * (precision * theta.T) @ theta
            centre, pull = centre @ pull @ np.linalg.inv(both), both
        table = corrected(view, self.unobserved)
        return partial(draw_psis, *table, precision, theta, self.levels, centre, pull, rounds)

    def thetas(self, view: View, psi: Floats, noise: Floats, prior: tuple[float, Floats]) -> Draw:
        """Return how users are drawn given psis and a prior: its concentration and their centres."""
        whole = self.unobserved * psi.T @ psi if self.unobserved else np.empty((0, 0))
        table = corrected(view, self.unobserved)
        return partial(draw_thetas, *table, self.precision(noise), psi, whole, *prior, USER_ROUNDS)

    def behind(self, of: Callable[..., Draw], view: View, others: Floats, *given: Any) -> Draw:
        """Return how new rows are drawn, `of` being `psis` or `thetas`: nobody has drawn what they are to explain."""
        return of(view, others, *given)

    def precision(self, noise: Floats) -> Floats:
        """Return the inverse variances of users' answers."""
        return 1.0 / noise

    # --- what is expected, and how answers lie around it --------------------------------------------------------------

    def expected(self, said: Floats) -> Floats:
        """Return what answers are expected of what draws say."""
        return said

    def shares(self, draws: Posterior, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return the probability of each rating: with normal noise that of being nearest to it."""
        out, cuts = np.zeros((users.size, points.size)), middles(points)
        draws.dealt(users, items, lambda part, said, spread: answer_shares(said, spread, cuts, out[part]))
        return out

    def interval(self, draws: Posterior, users: Rows, items: Rows, tails: tuple[float, float]) -> Floats:
        """Return two quantiles of the normals around what every draw says; float64[2, n]."""
        ends = np.empty((2, users.size))

        def work(part: slice, said: Floats, spread: Floats) -> None:
            for tail, end in zip(tails, ends, strict=True):
                mixture_quantile(np.clip(said, 0.0, 1.0), spread, tail, float(ndtri(tail)), end[part])

        draws.dealt(users, items, work)
        return np.clip(ends, 0.0, 1.0)

    def log_density(self, said: Floats, deviation: Floats, answers: Floats) -> Floats:
        """Return the logarithm of the density of answers, given what is expected and how far they lie from it."""
        density: Floats = -0.5 * ((answers - said) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2.0 * np.pi)
        return density

    def answered(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Draw answers, with their noise; they are not cut."""
        noisy: Floats = said + deviation * rng.standard_normal(said.shape)
        return noisy


class HiddenRatings(Gaussian):
    """The chance of a yes is that of a rating above one half: theta_u . psi_i plus normal noise of a fixed variance.

    A sweep draws the ratings behind the answers (Albert and Chib 1993), and then goes over them as over any others.
    """

    hidden: ClassVar[bool] = True
    new_item_rounds: ClassVar[tuple[int, int]] = (12, 1)

    def __init__(self, levels: Floats, unobserved: float) -> None:
        super().__init__(levels, unobserved)
        # Nothing bounds ratings that are hidden.
        self.psi_variance = 0.5

    def behind(self, of: Callable[..., Draw], view: View, others: Floats, *given: Any) -> Draw:
        """Return how new rows are drawn, each time with the ratings behind their answers."""
        ratings = np.empty(view.values.size)
        inner = of(view.with_values(ratings[:]), others, *given)

        def draw(now: Any, seeds: NDArray[np.uint64], first: int, last: int, out: Any) -> None:
            # Items come as numbers of levels.
            own = self.levels[now] if now.dtype == np.uint8 else now
            draw_hidden(*entries(view), own, others, mixed(seeds), first, last, ratings)
            inner(now, seeds, first, last, out)

        return draw

    def precision(self, noise: Floats) -> Floats:
        """Return the same for all: what is hidden has no scale of its own."""
        return np.full(len(noise), 1.0 / NOISE)

    def expected(self, said: Floats) -> Floats:
        """Return the chances of a yes."""
        return chances_of_yes(said)

    def shares(self, draws: Posterior, users: Rows, items: Rows, points: Floats) -> Floats:
        """Return the probability of either answer."""
        chance = draws.at_rows(users, items)
        return np.column_stack([1.0 - chance, chance])

    def interval(self, draws: Posterior, users: Rows, items: Rows, tails: tuple[float, float]) -> Floats:
        """Return two quantiles, which are 0 or 1."""
        chance = draws.at_rows(users, items)
        return np.array([chance > 1.0 - tails[0], chance >= tails[0]]).astype(np.float64)

    def log_density(self, said: Floats, deviation: Floats, answers: Floats) -> Floats:
        """Return the logarithm of the probability of answers."""
        chance: Floats = xlogy(answers, said) + xlog1py(1.0 - answers, -said)
        return chance

    def answered(self, said: Floats, deviation: Floats, rng: np.random.Generator) -> Floats:
        """Draw answers."""
        return (rng.random(said.shape) < said).astype(np.float64)


def entries(view: View) -> tuple[Any, ...]:
    """Return a table's arrays, as kernels take them."""
    return view.indptr, view.indices, view.values, view.weights


def corrected(view: View, unobserved: float) -> tuple[Any, ...]:
    """Return a table's arrays: weights without what the whole table already counts, values that make up for it."""
    if not unobserved:
        return entries(view)
    weights = view.weights if view.weights.size else np.ones_like(view.values)
    left = weights - unobserved
    return view.indptr, view.indices, view.values * weights / left, left


# --- kernels ----------------------------------------------------------------------------------------------------------


@kernel
def answer_shares(centre, spread, cuts, out):
    """Write each pair's probability of an answer between neighbouring cuts: normal noise around every draw."""
    draws = centre.shape[1]
    for n in range(centre.shape[0]):
        for k in range(draws):
            wide, below = spread[n, k] * sqrt(2.0), 0.0
            for c in range(cuts.size):
                upto = 0.5 * (1.0 + erf((cuts[c] - centre[n, k]) / wide))
                out[n, c] += (upto - below) / draws
                below = upto
            out[n, cuts.size] += (1.0 - below) / draws


@kernel
def mixture_quantile(centre, spread, level, near, out):
    """Write the quantile of equal mixtures of normals: row n mixes centre[n, k] with spread[n, k].

    Newton's steps from where the quantile of one normal would be (`near` deviations from its mean), and halves of what
    is left where a step would leave it or is not half as long as the one before.
    """
    draws = centre.shape[1]
    for n in range(centre.shape[0]):
        low, high = centre[n, 0], centre[n, 0]
        first, second, least = 0.0, 0.0, spread[n, 0]
        for k in range(draws):
            least = min(least, spread[n, k])
            low = min(low, centre[n, k] - 9.0 * spread[n, k])
            high = max(high, centre[n, k] + 9.0 * spread[n, k])
            first += centre[n, k] / draws
            second += (centre[n, k] * centre[n, k] + spread[n, k] * spread[n, k]) / draws
        whole = sqrt(max(second - first * first, 0.0))
        x = min(max(first + near * whole, low), high)
        before = 2.0 * (high - low)
        for _ in range(_STEPS):
            below, density = 0.0, 0.0
            for k in range(draws):
                z = (x - centre[n, k]) / spread[n, k]
                below += 0.5 * (1.0 + erf(z * _HALF))
                density += exp(-0.5 * z * z) / spread[n, k]
            missing = level * draws - below
            if missing > 0.0:
                low = x
            else:
                high = x
            # The density lacks its constant, 1 / sqrt(2 pi).
            step = _SQRT_TWO_PI * missing / density if density > 0.0 else high - low
            # Between two peaks the density is nearly 0, and steps that do not shrink could go to and fro for ever.
            if not low <= x + step <= high or abs(step) > 0.5 * before:
                step = 0.5 * (low + high) - x
            before = abs(step)
            x += step
            if abs(step) <= _CLOSE * least:
                break
        out[n] = x
