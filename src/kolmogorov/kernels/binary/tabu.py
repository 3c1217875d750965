"""One-flip tabu search over {0,1}^D, for problems with many local minima."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.binary.flips import descend, flip, refresh, rounding_noise
from kolmogorov.kernels.copying import copy_to
from kolmogorov.kernels.randomness import next_random
from kolmogorov.kernels.stopping import stopped


@kernel
def wander(s, v, x, best_x, reached, moves, noise, state, stop):
    """Flip the best bit that is not tabu, better or not, `moves` times; return the random state.

    A flipped bit stays tabu for about a tenth of the bits plus a few random moves, unless flipping it back
    leads below everything seen. `x` is where the walk starts, `best_x` the best point so far.
    """
    size = x.size
    slope = np.empty(size)
    refresh(s, v, x, slope)
    until = np.zeros(size, dtype=np.int64)
    tenure = size // 10 + 2
    here = reached
    best = reached
    for move in range(1, moves + 1):
        if stopped(stop):
            break
        chosen = -1
        least = np.inf
        for d in range(size):
            change = (1.0 - 2.0 * x[d]) * slope[d]
            free = until[d] < move or here + change + noise[d] < best
            if free and change < least:
                least = change
                chosen = d
        if chosen < 0:
            continue
        flip(s, x, slope, chosen)
        here += least
        state, bits = next_random(state)
        until[chosen] = move + tenure + int(bits % np.uint64(tenure + 8))
        if here < best:
            best = here
            copy_to(best_x, x)
    return state


@kernel
def tabu_search(gram, moment, seeds, moves, restarts, stop, x):
    """Improve each row of `x` by walks from it and from shaken copies of the best point found.

    `x`, float64[n, D], holds points in {0,1}^D and is replaced by better ones. Every row takes `restarts` walks of
    `moves` flips, and none once `stop` is set.
    """
    rows, size = x.shape
    walker = np.empty(size)
    slope = np.empty(size)
    noise = np.empty(size)
    for row in range(rows):
        s = gram[row]
        v = moment[row]
        state = seeds[row] ^ np.uint64(0xD1B54A32D192ED03)
        rounding_noise(s, v, noise)
        best_x = x[row]
        best = refresh(s, v, best_x, slope)
        for attempt in range(restarts):
            if stopped(stop):
                break
            copy_to(walker, best_x)
            if attempt > 0:
                for d in range(size):
                    state, bits = next_random(state)
                    if bits % np.uint64(4) == np.uint64(0):
                        walker[d] = 1.0 - walker[d]
            refresh(s, v, walker, slope)
            descend(s, walker, slope, noise, stop)
            here = refresh(s, v, walker, slope)
            candidate = walker.copy()
            state = wander(s, v, walker, candidate, here, moves, noise, state, stop)
            value = refresh(s, v, candidate, slope)
            if value < best:
                best = value
                copy_to(best_x, candidate)
