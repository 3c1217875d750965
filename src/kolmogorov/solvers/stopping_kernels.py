"""How a running kernel learns that it is to end: a cell that another thread sets."""

from __future__ import annotations

from typing import Any

from numba import config
from numba.core import types
from numba.extending import intrinsic

from kolmogorov._support.jit import kernel


def _load(typing_context: Any, cell: Any) -> Any:
    """Read cell[0] as an atomic load: a plain one could be moved out of the loop that waits for it to change."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(cell)(context, builder, arguments[0])
        return builder.load_atomic(array.data, "monotonic", 8)

    return types.int64(cell), generate


# As Python nothing is moved, and an intrinsic cannot be called.
_read: Any = (lambda cell: cell[0]) if config.DISABLE_JIT else intrinsic(_load)  # type: ignore[attr-defined]


@kernel
def stopped(stop):
    """Tell whether the cell `stop`, int64[1], has been set; cheap enough for every turn of a loop over variables."""
    return _read(stop) != 0
