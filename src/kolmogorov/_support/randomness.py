"""Random numbers inside kernels: a splitmix64 stream per row."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def next_random(state):
    """Advance a splitmix64 state; return the new state and 64 random bits."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@kernel
def seed_of_place(seed, place):
    """Return the seed of a stream of its own for a place in a row that has a seed."""
    _, bits = next_random(seed + np.uint64(0x9E3779B97F4A7C15) * np.uint64(place))
    return bits


@kernel
def fill_bits(state, out):
    """Fill `out` with zeros and ones, each as likely; return the new state."""
    bits = np.uint64(0)
    for d in range(out.size):
        if d % 64 == 0:
            state, bits = next_random(state)
        out[d] = float((bits >> np.uint64(d % 64)) & np.uint64(1))
    return state


@kernel
def fill_normal(state, out):
    """Fill `out` with standard normal numbers (Box-Muller); return the new state."""
    size = out.size
    for d in range(0, size, 2):
        state, a = next_random(state)
        state, b = next_random(state)
        # 53 bits each; the first is kept off zero for the logarithm.
        radius = np.sqrt(-2.0 * np.log((float(a >> np.uint64(11)) + 1.0) * 2.0**-53))
        angle = 2.0 * np.pi * float(b >> np.uint64(11)) * 2.0**-53
        out[d] = radius * np.cos(angle)
        if d + 1 < size:
            out[d + 1] = radius * np.sin(angle)
    return state
