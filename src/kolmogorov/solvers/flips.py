"""Items' problems by flipping one bit or two, from many starts; `auto`, which looks at all points where they are few.

Neither is the paper's: where its Gaussian rounding (Algorithm 3) ends above the optimum, flips reach it.
"""

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.jit import fill_bits, kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver, stop_cell
from kolmogorov.solvers.exhaustive import Exhaustive

#: Up to this many variables all points are looked at, in 0.05 ms for an item of MovieLens 100K; with 20 that takes 0.49
#: ms, and the descents 0.17 (`benchmarks/solvers.py`).
EXACT_LIMIT = 16


@kernel
def refresh(s, v, x, slope):
    """Compute slope[e] = s_ee - 2 v_e + 2 sum_{f != e} s_ef x_f; return the value of x."""
    value = 0.0
    for d in range(x.size):
        line = 0.0
        for e in range(x.size):
            line += s[d, e] * x[e]
        slope[d] = s[d, d] - 2.0 * v[d] + 2.0 * (line - s[d, d] * x[d])
        value += x[d] * (line - 2.0 * v[d])
    return value


@kernel
def multi_start(gram, moment, start, seeds, n_starts, stop, x):
    """Descend from `start`, from zero, and from random points; write the best local minimum to each row of x.

    A descent flips the best bit, or where none helps the best pair, until neither helps. There are `n_starts` per row,
    the two fixed ones included; `seeds` begin each row's random stream. Once `stop` is set, what has been reached is
    written down and no further descent begins.
    """
    rows, size = x.shape
    for row in range(rows):
        s, v, state, least = gram[row], moment[row], seeds[row], np.inf
        trial, slope, noise = np.empty(size), np.empty(size), np.empty(size)
        # What rounding can do to each bit's slope: a smaller gain is none.
        for d in range(size):
            total = abs(s[d, d]) + 2.0 * abs(v[d])
            for e in range(size):
                total += 2.0 * abs(s[d, e])
            noise[d] = 1e-14 * total
        for attempt in range(n_starts):
            if attempt > 1:
                state = fill_bits(state, trial)
            else:
                for d in range(size):
                    trial[d] = start[row, d] if attempt == 0 else 0.0
            refresh(s, v, trial, slope)
            while not stop[0]:
                best, one, two = 0.0, -1, -1
                for d in range(size):
                    change = (1.0 - 2.0 * trial[d]) * slope[d] + noise[d]
                    if change < best:
                        best, one = change, d
                if one < 0:
                    for d in range(size):
                        sd = 1.0 - 2.0 * trial[d]
                        alone = sd * slope[d] + noise[d]
                        for e in range(d):
                            se = 1.0 - 2.0 * trial[e]
                            change = alone + se * (slope[e] + 2.0 * sd * s[d, e]) + noise[e]
                            if change < best:
                                best, one, two = change, d, e
                if one < 0:
                    break
                for d in (one, two):
                    if d >= 0:
                        sign = 1.0 - 2.0 * trial[d]
                        trial[d] += sign
                        for e in range(size):
                            slope[e] += 2.0 * sign * s[d, e]
                        slope[d] -= 2.0 * sign * s[d, d]
            reached = refresh(s, v, trial, slope)
            if reached < least:
                least = reached
                for d in range(size):
                    x[row, d] = trial[d]
            if stop[0]:
                break


@dataclass(frozen=True)
class LocalSearch(RowSolver):
    """Descend `n_starts` times by one and two flips: no proof, any size, never worse than its start."""

    n_starts: int = 8

    name = "local_search"
    cost = 400

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        x = np.empty_like(moment)
        multi_start(gram, moment, start, seeds, self.n_starts, stop_cell(), x)
        return x, {"iterations": np.full(len(x), self.n_starts, dtype=np.int64)}


@dataclass(frozen=True)
class Auto(LocalSearch):
    """`exhaustive` up to `exact_up_to` variables, `local_search` with `n_starts` descents above.

    A fit meets each item again in every sweep and starts from where the last one ended, so few descents are enough.
    """

    exact_up_to: int = EXACT_LIMIT

    name = "auto"

    def row_cost(self, size: int) -> int:
        """Return what the solver of this size takes."""
        return self._chosen(size).row_cost(size)

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        return self._chosen(moment.shape[1])._solved(gram, moment, start, seeds)

    def _chosen(self, size: int) -> RowSolver:
        return Exhaustive() if size <= self.exact_up_to else LocalSearch(self.n_starts)
