"""What the convex methods share: run a kernel from a copy of the start and turn its gaps into bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kolmogorov.kernels.rows.quadratic import batch_values
from kolmogorov.solvers.contract import Batch, Floats


def certified(
    kernel: Callable[..., Any], gram: Floats, moment: Floats, start: Floats, tol: float, max_iter: int, *options: Any
) -> Batch:
    """Run `kernel`; the optimum lies at most twice its gap below the value it reached."""
    x = start.copy()
    gaps = np.empty(len(x))
    iterations = np.empty(len(x), dtype=np.int64)
    kernel(gram, moment, x, float(tol), int(max_iter), *options, gaps, iterations)
    values = np.empty(len(x))
    batch_values(gram, moment, x, values)
    scale = np.maximum(np.einsum("ndd->nd", gram).max(axis=1), 1e-300)
    converged = gaps <= tol * scale
    return Batch(x, values - 2.0 * gaps, iterations, converged, proved=converged)
