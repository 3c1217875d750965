"""The only place that compiles, a word to whoever waits for it, and random numbers inside kernels (splitmix64)."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import event

from kolmogorov._support.display import notice


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` at its first call; keep the machine code on disk; release the GIL while it runs.

    Kernels are serial: rows are dealt to threads above them, so that a row's arithmetic never depends on their number.
    """
    # Nobody takes a kernel's address; without that wrapper a tenth less is compiled.
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # No directory can hold the cache, as where the installation is read-only.
        return numba.njit(**options)(function)


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once per process that compilation has begun. Loading from the cache is not compilation."""

    said = False

    def on_start(self, event: Any) -> None:
        module = getattr(getattr(event.data.get("dispatcher"), "py_func", None), "__module__", "")
        if not self.said and module.startswith("kolmogorov."):
            self.said = True
            notice("compiling numerical kernels for this machine; once per installation, some seconds")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


@kernel
def next_random(state):
    """Advance a splitmix64 state; return the new state and 64 random bits."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
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
    for d in range(0, out.size, 2):
        state, a = next_random(state)
        state, b = next_random(state)
        # 53 bits each; the first is kept off zero for the logarithm.
        radius = np.sqrt(-2.0 * np.log((float(a >> np.uint64(11)) + 1.0) * 2.0**-53))
        angle = 2.0 * np.pi * float(b >> np.uint64(11)) * 2.0**-53
        out[d] = radius * np.cos(angle)
        if d + 1 < out.size:
            out[d + 1] = radius * np.sin(angle)
    return state
