"""Kernels of the chains: random numbers, and draws of rows (items on levels, users on the simplex) given the rest."""

from math import erfc, pi, sqrt

import numpy as np

from kolmogorov._support.jit import kernel, next_random, seed_of_place
from kolmogorov.descent.fitted import NOISE
from kolmogorov.solvers.rows import normal_equations

_UNIT = 2.0**-53
#: Proposals after which a rejection sampler gives up. One in eight is accepted at the least, so that it is met only
#: where bounds are no numbers, or so far off that their squares overflow.
TRIES = 1000
#: A level whose weight is so small a share of the best is never drawn.
_NOTHING = np.exp(-40.0)
_DEVIATION, _ROOT_PI = sqrt(NOISE), sqrt(pi)
#: Of answers that were given more often the mean of their hidden ratings is drawn as a normal number: to the eye the
#: same beyond a dozen. By judgement.
_MANY = 32
#: So many deviations below 0 a tail is exponential to the sixth digit.
_FAR = -30.0


# --- random numbers ---------------------------------------------------------------------------------------------------


@kernel
def uniform(state):
    """Return the new state and a number in (0, 1)."""
    state, bits = next_random(state)
    return state, (float(bits >> np.uint64(11)) + 0.5) * _UNIT


@kernel
def normal(state):
    """Return the new state and a standard normal number."""
    state, a = uniform(state)
    state, b = uniform(state)
    return state, np.sqrt(-2.0 * np.log(a)) * np.cos(2.0 * np.pi * b)


@kernel
def truncated_normal(state, low, high):
    """Return the new state and a standard normal number between `low` and `high`, by rejection.

    The proposal is a normal where much of it lies inside, a uniform on a short interval, and an exponential in a tail
    (Robert 1995). Where all are refused, it is the most likely point.
    """
    # Below 0 the mirrored number is drawn.
    sign = 1.0
    if high < 0.0:
        low, high, sign = -high, -low, -1.0
    near = max(low, 0.0)
    if low <= 0.0 and high - low > 2.0:
        for _ in range(TRIES):
            state, x = normal(state)
            if low <= x <= high:
                return state, sign * x
    elif low <= 0.0 or high * high - low * low < 4.0:
        for _ in range(TRIES):
            state, u = uniform(state)
            state, v = uniform(state)
            x = low + u * (high - low)
            if np.log(v) <= 0.5 * (near * near - x * x):
                return state, sign * x
    else:
        rate = 0.5 * (low + np.sqrt(low * low + 4.0))
        for _ in range(TRIES):
            state, u = uniform(state)
            state, v = uniform(state)
            x = low - np.log(u) / rate
            if x <= high and np.log(v) <= -0.5 * (x - rate) * (x - rate):
                return state, sign * x
    return state, sign * near


# --- answers with normal noise ----------------------------------------------------------------------------------------


@kernel
def draw_spaced(state, step, slope, square, drop, weight):
    """Draw one of equally spaced levels whose log weights are a parabola; return the new state and its number.

    At a distance s from the first level the log weight is s (slope - square s / 2); `drop` is exp(-square step^2).
    From the likeliest level outwards every weight is a ratio times the last, and every ratio is `drop` times the last
    one: two exponentials are taken instead of one for each level.
    """
    size = weight.size
    mode = slope / square / step if square > 0.0 else slope * np.inf
    middle = int(min(np.rint(mode), size - 1.0)) if mode > 0.0 else 0
    rise, half = step * (slope - square * step * middle), 0.5 * square * step * step
    weight[middle] = total = 1.0
    low = high = middle
    now, ratio = 1.0, np.exp(rise - half)
    while high < size - 1:
        now *= ratio
        if now < _NOTHING:
            break
        ratio *= drop
        high += 1
        weight[high] = now
        total += now
    now, ratio = 1.0, np.exp(-rise - half)
    while low > 0:
        now *= ratio
        if now < _NOTHING:
            break
        ratio *= drop
        low -= 1
        weight[low] = now
        total += now
    state, u = uniform(state)
    place, reached = low, weight[low]
    while place < high and reached < u * total:
        place += 1
        reached += weight[place]
    return state, place


@kernel
def draw_psis(
    indptr, indices, values, weights, precision, theta, levels, centre, pull, rounds, codes, seeds, first, last, out
):
    """Draw each item's level in each event given the others, `rounds` times; `codes` and `out` are numbers of levels.

    Levels are equally far apart. A psi has a normal prior on them, with the mean `centre` of its own and the precision
    matrix `pull`. Residuals are kept up to date instead of normal equations: D for an observation and not D^2.
    """
    size = theta.shape[1]
    widest = 0
    for row in range(first, last):
        widest = max(widest, indptr[row + 1] - indptr[row])
    # By event, so that the loops over an item's observations are over neighbours in memory.
    share = np.empty((size, widest))
    heavy, rest = np.empty(widest), np.empty(widest)
    square, x, drop = np.empty(size), np.empty(size), np.empty(size)
    weight, apart = np.empty(levels.size), (levels[-1] - levels[0]) / (levels.size - 1)
    for row in range(first, last):
        state = seeds[row - first]
        begin, n = indptr[row], indptr[row + 1] - indptr[row]
        whole = n - n % 4
        for d in range(size):
            out[row, d] = codes[row, d]
            x[d] = levels[codes[row, d]]
            square[d] = pull[d, d]
        for k in range(n):
            user = indices[begin + k]
            f = theta[user]
            w = precision[user] * (weights[begin + k] if weights.size else 1.0)
            fitted = 0.0
            for d in range(size):
                square[d] += w * f[d] * f[d]
                fitted += x[d] * f[d]
                share[d, k] = f[d]
            heavy[k] = w
            rest[k] = w * (values[begin + k] - fitted)
        for d in range(size):
            drop[d] = np.exp(-square[d] * apart * apart)
        for _ in range(rounds):
            for d in range(size):
                t = share[d]
                # Four sums that do not wait for each other.
                a0 = a1 = a2 = a3 = 0.0
                for k in range(0, whole, 4):
                    a0 += t[k] * rest[k]
                    a1 += t[k + 1] * rest[k + 1]
                    a2 += t[k + 2] * rest[k + 2]
                    a3 += t[k + 3] * rest[k + 3]
                for k in range(whole, n):
                    a0 += t[k] * rest[k]
                slope = (a0 + a1) + (a2 + a3)
                for e in range(size):
                    slope -= pull[d, e] * (x[e] - centre[row, e])
                rise = slope + square[d] * (x[d] - levels[0])
                state, place = draw_spaced(state, apart, rise, square[d], drop[d], weight)
                if place != out[row, d]:
                    step = levels[place] - x[d]
                    out[row, d] = place
                    x[d] = levels[place]
                    for k in range(n):
                        rest[k] -= step * heavy[k] * t[k]


@kernel
def move_pairs(Q, w, x, slope, state, rounds):
    """Move mass between pairs of coordinates of one point on the simplex, in place: each move is a truncated normal."""
    size = x.size
    for d in range(size):
        total = -w[d]
        for e in range(size):
            total += Q[d, e] * x[e]
        slope[d] = total
    if size == 1:
        return
    for _ in range(rounds):
        for i in range(size):
            state, u = uniform(state)
            j = min(int(u * (size - 1)), size - 2)
            if j >= i:
                j += 1
            room = x[i] + x[j]
            curve = Q[i, i] + Q[j, j] - 2.0 * Q[i, j]
            # Standardised bounds of the new x[i]; where they are close, the density is flat.
            scale = np.sqrt(curve) if curve > 0.0 else 0.0
            mean = x[i] - (slope[i] - slope[j]) / curve if curve > 0.0 else 0.0
            if scale * room < 1e-6:
                state, u = uniform(state)
                new = u * room
            else:
                state, z = truncated_normal(state, -mean * scale, (room - mean) * scale)
                new = min(max(mean + z / scale, 0.0), room)
            step = new - x[i]
            x[i], x[j] = new, room - new
            for e in range(size):
                slope[e] += step * (Q[i, e] - Q[j, e])


@kernel
def draw_thetas(
    indptr, indices, values, weights, precision, psi, whole, pull, centre, rounds, theta, seeds, first, last, out
):
    """Draw each user's theta: a normal distribution on the simplex, of its answers and of a prior around `centre`.

    `whole`, where it is not empty, is added to the sum over a row's partners before that is weighed by the row's
    precision. Normal equations are made row by row in one small matrix: a share of rows needs no more memory than one.
    """
    size = theta.shape[1]
    gram, moment, nothing = np.empty((1, size, size)), np.empty((1, size)), np.zeros(size)
    slope = np.empty(size)
    for row in range(first, last):
        normal_equations(indptr, indices, values, weights, psi, row, row + 1, 0.0, nothing, gram, moment)
        Q, w, x = gram[0], moment[0], out[row]
        for d in range(size):
            x[d] = theta[row, d]
            w[d] = precision[row] * w[d] + pull * centre[row, d]
            for e in range(size):
                Q[d, e] = precision[row] * (Q[d, e] + (whole[d, e] if whole.size else 0.0))
            Q[d, d] += pull
        move_pairs(Q, w, x, slope, seeds[row - first], rounds)


# --- yes and no: ratings that are hidden ------------------------------------------------------------------------------


@kernel
def chance_of_yes(said):
    """Return the chance that a rating with noise around what is said lies above one half."""
    return 0.5 * erfc(_ROOT_PI * (0.5 - said))


@kernel
def draw_hidden(indptr, indices, answers, weights, own, others, seeds, first, last, out):
    """Write a hidden rating for each answer of some rows, on its side of one half.

    A weight is how often the answer was given: the mean of so many ratings is drawn. Where it is no whole number, the
    noise is such that this mean weighs as much. `own` are the thetas or psis of the rows, `others` those of their
    partners. Every answer has a stream of its own.
    """
    size = own.shape[1]
    for row in range(first, last):
        begin = indptr[row]
        for k in range(begin, indptr[row + 1]):
            said = 0.0
            for d in range(size):
                said += own[row, d] * others[indices[k], d]
            weight, yes = weights[k] if weights.size else 1.0, answers[k] > 0.5
            times = max(int(weight), 1)
            deviation = _DEVIATION * sqrt(times / weight)
            state = seed_of_place(seeds[row - first], k - begin)
            # Counted from one half towards the answer, in deviations of the noise: all lie above 0.
            centre = (said - 0.5) / deviation if yes else (0.5 - said) / deviation
            total = 0.0
            if times <= _MANY:
                for _ in range(times):
                    state, z = truncated_normal(state, -centre, np.inf)
                    total += centre + z
                total /= times
            else:
                # Of what lies above 0; far below it the chance itself vanishes, and the tail is exponential.
                if centre < _FAR:
                    rise, spread = -centre - 1.0 / centre, 1.0 / (centre * centre)
                else:
                    rise = 2.0 * np.exp(-0.5 * centre * centre) / (sqrt(2.0 * pi) * erfc(-centre * sqrt(0.5)))
                    spread = 1.0 - rise * (rise + centre)
                state, z = normal(state)
                total = max(centre + rise + z * sqrt(spread / times), 0.0)
            out[k] = 0.5 + (total if yes else -total) * deviation
