"""Row solvers that draw from the posterior instead of minimising: a point with density exp(-value / 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.validation import Integer, Requirement
from kolmogorov.kernels.draws.gibbs import draw_simplex
from kolmogorov.solvers.contract import Batch, SimplexSolver

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SimplexSampler(SimplexSolver):
    """Gibbs sampling on the simplex: mass moves between pairs of coordinates; `rounds` passes over them."""

    rounds: int = 1
    name: ClassVar[str] = "gibbs"
    rules: ClassVar[Mapping[str, Requirement]] = {"rounds": Integer(1)}

    def _solve_batch(self, gram: Floats, moment: Floats, start: Floats, seeds: NDArray[np.uint64]) -> Batch:
        out = np.empty_like(moment)
        draw_simplex(gram, moment, np.ascontiguousarray(start), seeds, self.rounds, out)
        return Batch(out)
