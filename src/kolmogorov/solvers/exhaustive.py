"""Items' problems, the paper's BQP (4), exactly: all 2^D points in the order of the Gray code."""

from dataclasses import dataclass

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver

# States of this many low bits are held side by side, and of fewer up to a size at which the table would cost more than
# it saves.
LOW_BITS = 6
FEW_LOW_BITS = 4
FEW_UP_TO = 9
# Values that differ by less, relative to the problem's numbers, differ by rounding alone.
ROUNDING = 1e-14


@kernel
def enumerate_all(gram, moment, x):
    """Write the minimiser of x^T gram x - 2 x^T moment over {0,1}^D to each row of `x`.

    The high bits run through the reflected Gray code, one flip a step. The values at all states of the
    low bits are held side by side in one array, which a flip of high bit k changes by adding
    ``+-(rise + coupling[k])``: plain vector arithmetic without a branch. `rise`, the change of the high part
    alone, needs the linear term of bit k given the bits above it and its neighbour k-1, because in the
    reflected code every bit below that neighbour is 0 when k flips.

    A bit that does not matter, as where users of an item never meet an event, is 0: the answer depends on the problem
    alone, and not on how sums were rounded on the way.
    """
    rows, size = x.shape
    low = min(size, FEW_LOW_BITS if size <= FEW_UP_TO else LOW_BITS)
    states = 1 << low
    coupling, slope = np.empty((size, states)), np.empty(size)
    current, best, best_code = np.empty(states), np.empty(states), np.empty(states, dtype=np.int64)
    for row in range(rows):
        s, v = gram[row], moment[row]
        for d in range(size):
            slope[d] = s[d, d] - 2.0 * v[d]
        # The values of the low bits alone, and what each high bit adds to them, one bit after another.
        current[0] = 0.0
        coupling[:, 0] = 0.0
        for d in range(low):
            for p in range(1 << d):
                cross = 0.0
                for e in range(d):
                    if (p >> e) & 1:
                        cross += 2.0 * s[d, e]
                current[p + (1 << d)] = current[p] + slope[d] + cross
                for k in range(low, size):
                    coupling[k, p + (1 << d)] = coupling[k, p] + 2.0 * s[k, d]
        for p in range(states):
            best[p], best_code[p] = current[p], 0
        code = 0
        for step in range(1, 1 << (size - low)):
            bit = step & -step
            code ^= bit
            k = low
            while bit > 1:
                bit >>= 1
                k += 1
            sign = 2.0 * ((code >> (k - low)) & 1) - 1.0
            rise = slope[k]
            if k > low:
                rise += 2.0 * s[k, k - 1]
            for e in range(low, k):
                slope[e] += 2.0 * sign * s[k, e]
            added = coupling[k]
            for p in range(states):
                here = current[p] + sign * (rise + added[p])
                current[p] = here
                better = here < best[p]
                best[p] = here if better else best[p]
                best_code[p] = code if better else best_code[p]
        winner = 0
        for p in range(1, states):
            if best[p] < best[winner]:
                winner = p
        for d in range(low):
            x[row, d] = (winner >> d) & 1
        for d in range(low, size):
            x[row, d] = (best_code[winner] >> (d - low)) & 1
        # Bits without which the value is the same but for rounding, from the last on.
        noise = 0.0
        for d in range(size):
            noise = max(noise, ROUNDING * (abs(s[d, d]) + abs(v[d])))
        for d in range(size - 1, -1, -1):
            if x[row, d] == 0:
                continue
            gain = s[d, d] - 2.0 * v[d]
            for e in range(size):
                if x[row, e] != 0 and e != d:
                    gain += 2.0 * s[d, e]
            if gain >= -noise:
                x[row, d] = 0


@dataclass(frozen=True)
class Exhaustive(RowSolver):
    """Look at every point; the minimum is exact."""

    name = "exhaustive"
    max_variables = 30

    def row_cost(self, size: int) -> int:
        """Return that of going through all points."""
        return max(1 << size >> 5, 16)

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        x = np.empty_like(moment)
        enumerate_all(gram, moment, x)
        points = np.full(len(x), 1 << moment.shape[1], dtype=np.int64)
        return x, {"iterations": points, "proved": np.ones(len(x), dtype=bool)}
