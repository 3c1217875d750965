"""Arrays into arrays."""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def copy_to(out, x):
    """Write `x` to `out`, both of one dimension and of one size.

    It stands for ``out[:] = x``, for which numba compiles the words of an error about shapes too, longer than a kernel.
    """
    for d in range(out.size):
        out[d] = x[d]
