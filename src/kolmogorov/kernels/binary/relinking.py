"""Tabu walks from between good points of {0,1}^D, for problems of hundreds of variables.

A pool holds the best points; paths lead from one to another (path relinking, Wang, Lü, Glover and Hao 2012).
A point is held by its sides, +1 where the bit is 0 and -1 where it is 1, and by its gains: gain[d] is what flipping
bit d adds to the value. Both change by one pass over a row of the matrix when a bit flips.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.binary.flips import descend, refresh, rounding_noise
from kolmogorov.kernels.copying import copy_to
from kolmogorov.kernels.randomness import fill_bits, next_random
from kolmogorov.kernels.stopping import stopped

# Points that differ in fewer bits have nothing between them that a walk would not see. By judgement.
_NEAR = 6


@kernel
def gains(s, v, x, side, gain):
    """Write sides and gains of x; return its value."""
    value = refresh(s, v, x, gain)
    for d in range(x.size):
        side[d] = 1.0 - 2.0 * x[d]
        gain[d] *= side[d]
    return value


@kernel
def turn(s, side, gain, d):
    """Flip bit d."""
    row = s[d]
    twice = 2.0 * side[d]
    own = gain[d]
    for e in range(gain.size):
        gain[e] += twice * row[e] * side[e]
    gain[d] = -own
    side[d] = -side[d]


@kernel
def walk(s, side, gain, here, noise, patience, limit, until, best_side, state, stop):
    """Flip the best bit that is not tabu until `patience` flips in a row, or `limit` in all, found nothing better.

    A flipped bit stays tabu for a hundredth of the bits and up to ten more flips, unless flipping it back leads below
    everything seen. `best_side` receives the best point of the walk. Returns the number of flips and the random state.
    """
    size = gain.size
    tenure = size // 100 + 1
    until[:] = 0
    copy_to(best_side, side)
    best = here
    last = 0
    move = 0
    while move - last < patience and move < limit and not stopped(stop):
        move += 1
        wish = best - here
        chosen = -1
        least = np.inf
        for d in range(size):
            if gain[d] < least and (until[d] < move or gain[d] + noise[d] < wish):
                least = gain[d]
                chosen = d
        if chosen < 0:
            continue
        turn(s, side, gain, chosen)
        here += least
        state, bits = next_random(state)
        until[chosen] = move + tenure + int(bits % np.uint64(10))
        if here < best:
            # A gain within rounding is not worth more patience, or the walk could go round for ever.
            if here + noise[chosen] < best:
                last = move
            best = here
            copy_to(best_side, side)
    return move, state


@kernel
def halfway(s, side, gain, here, target, differing, middle):
    """Go from a point to another by the best flips; write the best point of the middle third to `middle`.

    Returns the number of bits in which the two differ; nothing is written where they are near.
    """
    count = 0
    for d in range(side.size):
        if side[d] != target[d]:
            differing[count] = d
            count += 1
    distance = count
    if distance < _NEAR:
        return distance
    first = distance // 3
    last = distance - first
    best = np.inf
    for step in range(1, last + 1):
        pick = 0
        for k in range(1, count):
            if gain[differing[k]] < gain[differing[pick]]:
                pick = k
        d = differing[pick]
        here += gain[d]
        turn(s, side, gain, d)
        count -= 1
        differing[pick] = differing[count]
        if step >= first and here < best:
            best = here
            copy_to(middle, side)
    return distance


@kernel
def to_bits(side, x):
    """Write the bits of a point given by its sides."""
    for d in range(x.size):
        x[d] = 0.5 * (1.0 - side[d])


@kernel
def next_pair(values, untried):
    """Return the two points of the pool that are best together among pairs not yet tried, or -1, -1."""
    best = np.inf
    left = -1
    right = -1
    for a in range(values.size):
        for b in range(values.size):
            if a != b and untried[a, b] and values[a] + values[b] < best:
                best = values[a] + values[b]
                left = a
                right = b
    return left, right


@kernel
def place_in_pool(values, pool, filled, value, side):
    """Return where a new point belongs in the pool: a free place, or the worst point's; -1 where it is not wanted."""
    for a in range(filled):
        if values[a] == value and np.array_equal(pool[a], side):
            return -1
    if filled < values.size:
        return filled
    worst = 0
    for a in range(1, filled):
        if values[a] > values[worst]:
            worst = a
    return worst if value < values[worst] else -1


@kernel
def keep_best_alone(values, pool, untried):
    """Begin a pool again with its best point; return how many it holds."""
    top = np.argmin(values)
    copy_to(pool[0], pool[top])
    values[0] = values[top]
    values[1:] = np.inf
    untried[:, :] = True
    return 1


@kernel
def relinked_search(gram, moment, seeds, pool_size, patience, moves, stop, x):
    """Improve each row of `x`: fill a pool by walks from it and from random points, then walk from between these.

    Where all pairs have been tried, the pool begins again with its best point. A walk ends after `patience` flips
    without progress, a row after about `moves` flips in all; once `stop`, int64[1], is set, the best so far is what
    remains. `x`, float64[n, D], holds points in {0,1}^D and is replaced by better ones.
    """
    rows, size = x.shape
    trial, side, gain = np.empty(size), np.empty(size), np.empty(size)
    noise, found = np.empty(size), np.empty(size)
    until, differing = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    pool, values = np.empty((pool_size, size)), np.empty(pool_size)
    untried = np.empty((pool_size, pool_size), dtype=np.bool_)
    for row in range(rows):
        s, v = gram[row], moment[row]
        state = seeds[row] ^ np.uint64(0xA24BAED4963EE407)
        rounding_noise(s, v, noise)
        best = refresh(s, v, x[row], gain)
        copy_to(trial, x[row])
        filled = done = 0
        untried[:, :], values[:] = True, np.inf
        while done < moves and not stopped(stop):
            if filled == pool_size:
                left, right = next_pair(values, untried)
                if left < 0:
                    filled = keep_best_alone(values, pool, untried)
                    continue
                untried[left, right] = False
                to_bits(pool[left], trial)
                here = gains(s, v, trial, side, gain)
                distance = halfway(s, side, gain, here, pool[right], differing, found)
                done += distance + 1
                if distance < _NEAR:
                    continue
                to_bits(found, trial)
            elif done > 0:
                state = fill_bits(state, trial)
            here = gains(s, v, trial, side, gain)
            flips, state = walk(s, side, gain, here, noise, patience, moves - done, until, found, state, stop)
            done += flips + 1
            to_bits(found, trial)
            value = refresh(s, v, trial, gain)
            if value < best:
                best = value
                copy_to(x[row], trial)
            place = place_in_pool(values, pool, filled, value, found)
            if place >= 0:
                copy_to(pool[place], found)
                values[place] = value
                untried[place, :] = True
                untried[:, place] = True
                filled = max(filled, place + 1)
        # Walks flip one bit at a time; what two flips can gain is taken at the end.
        copy_to(trial, x[row])
        refresh(s, v, trial, gain)
        descend(s, trial, gain, noise, stop)
        if refresh(s, v, trial, gain) < best:
            copy_to(x[row], trial)
