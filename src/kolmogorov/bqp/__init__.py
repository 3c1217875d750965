"""Binary quadratic programs on their own: minimise x^T S x - 2 x^T v over {0,1}^D, for any real symmetric S.

Examples
--------
>>> from kolmogorov import bqp
>>> solution = bqp.solve([[2.0, 1.0], [1.0, 1.0]], [0.5, 1.0])
>>> solution.x.tolist(), solution.value, solution.status.value
([0.0, 1.0], -1.0, 'optimal')
"""

from __future__ import annotations

from typing import Any

from kolmogorov.bqp.dimod_bridge import from_dimod
from kolmogorov.bqp.files import read
from kolmogorov.bqp.solving import solve
from kolmogorov.problems import BinaryQP, Solution, Status


def __getattr__(name: str) -> Any:
    """Make the sampler when it is asked for: its base class is dimod's, which may not be installed."""
    if name == "KolmogorovSampler":
        from kolmogorov.bqp.sampler import KolmogorovSampler

        return KolmogorovSampler
    raise AttributeError(f"module 'kolmogorov.bqp' has no attribute {name!r}")


__all__ = ["BinaryQP", "KolmogorovSampler", "Solution", "Status", "from_dimod", "read", "solve"]
