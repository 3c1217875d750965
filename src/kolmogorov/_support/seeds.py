"""Random numbers that depend on what is computed and never on who computes it.

A row's stream is fixed by (seed, sweep, side, row). The same bits come out on one thread, on eight, or on a cluster.
"""

from typing import Any

import numpy as np

from kolmogorov._support.typing import Rows, Seeds
from kolmogorov.errors import ParameterError

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def base_seed(random_state: Any) -> int:
    """Reduce what scikit-learn users pass as `random_state` to one integer below 2**63."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int((random_state or np.random.default_rng()).integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state) % 2**63
    raise ParameterError(f"'random_state' must be None, an integer >= 0 or a NumPy generator, got {random_state!r}.")


def generator(random_state: Any, *path: int) -> np.random.Generator:
    """Make a NumPy generator whose stream is fixed by the seed and by the place (`path`) that asks."""
    return np.random.default_rng([base_seed(random_state), *path])


@np.errstate(over="ignore")
def row_seeds(seed: int, sweep: int | Rows, side: int, rows: Rows) -> Seeds:
    """Hash (seed, sweep, side, row) into one 64-bit seed per row (splitmix64)."""
    return mixed(half_step_seed(seed, sweep, side) + _GAMMA * (rows.astype(np.uint64) + np.uint64(1)))


@np.errstate(over="ignore")
def half_step_seed(seed: int, sweep: int | Rows, side: int) -> Seeds:
    """Hash (seed, sweep, side), which with the number of a row gives its seed."""
    state = np.array([seed], dtype=np.uint64)
    for part in (sweep, side):
        state = mixed(state + _GAMMA * np.uint64(part + 1))
    return state


def mixed(z: Seeds) -> Seeds:
    """Spread the bits of every number over each other (the finaliser of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: Seeds = z ^ (z >> np.uint64(31))
    return result
