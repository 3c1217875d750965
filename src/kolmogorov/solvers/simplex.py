"""Users' problems, the paper's LCQP (3): a convex quadratic over the probability simplex.

`frank_wolfe` is what the paper takes for it (Algorithm 4; Jaggi 2013). `active_set`, the default, solves on a support,
drops what turns negative and adds what would gain: finite, and exact. `pairwise` moves mass from one coordinate to
another by the best amount; it takes any size, and finishes where a matrix is singular on a support.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov._support.typing import Floats, Seeds
from kolmogorov.solvers.contract import Known, RowSolver
from kolmogorov.solvers.rows import binary_normal_equations, keep_better, normal_equations

#: Rows whose normal equations are made at once, by judgement: they stay near the processor until they are solved.
_BLOCK = 32


@kernel
def half_gradient(gram, moment, x, out):
    """Write gram x - moment, half of the gradient, to `out`."""
    for d in range(x.size):
        total = -moment[d]
        for e in range(x.size):
            total += gram[d, e] * x[e]
        out[d] = total


@dataclass(frozen=True)
class Convex(RowSolver):
    """A convex method, whose kernel `descent` improves points until their Frank-Wolfe gap is small.

    The gap bounds half the distance to the optimal value. It is small below `tol` times the largest diagonal entry of
    the row's Gram matrix; `max_iter` limits the steps of a row.
    """

    tol: float = 1e-10
    max_iter: int = 10_000

    family = "simplex"
    cost = 200
    descent: ClassVar[Any]

    def _solved(self, gram: Floats, moment: Floats, start: Floats, seeds: Seeds) -> tuple[Floats, Known]:
        x = start.copy()
        self.descent(gram, moment, x, self.tol, self.max_iter)
        return x, {}


@kernel
def frank_wolfe(gram, moment, x, tol, max_iter):
    """Step from each row of `x` to the best vertex, by exact line search, until the gap g^T x - min(g) is small."""
    rows, size = x.shape
    for row in range(rows):
        q, w, t = gram[row], moment[row], x[row]
        g = w.copy()
        half_gradient(q, w, t, g)
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
        steps = 0
        while True:
            i = 0
            inner = square = 0.0
            for d in range(size):
                inner += g[d] * t[d]
                square += t[d] * (g[d] + w[d])
                if g[d] < g[i]:
                    i = d
            gap = inner - g[i]
            if gap <= tol * scale or steps >= max_iter:
                break
            curvature = q[i, i] - 2.0 * (g[i] + w[i]) + square
            step = 1.0
            if curvature > gap:
                step = gap / curvature
            for d in range(size):
                t[d] *= 1.0 - step
                g[d] += step * (q[d, i] - w[d] - g[d])
            t[i] += step
            steps += 1
        for d in range(size):
            t[d] = max(t[d], 0.0)
        t /= np.sum(t)  # rounding may have strayed


@dataclass(frozen=True)
class FrankWolfe(Convex):
    """The paper's: Frank-Wolfe with exact line search, which converges like 1/k; `tol` and `max_iter` limit it."""

    tol: float = 1e-6
    max_iter: int = 1_000

    name = "frank_wolfe"
    descent = staticmethod(frank_wolfe)


@kernel
def pairwise_row(q, w, t, tol, max_iter):
    """Move mass between pairs of coordinates of one row, exactly.

    Receiver i has the smallest gradient; the giver j is the one whose exact step lowers the value most.
    """
    size = t.size
    g, diagonal, step, gain = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    scale = 1e-300
    for d in range(size):
        diagonal[d] = q[d, d]
        scale = max(scale, q[d, d])
    steps = 0
    fresh = True
    inner = 0.0
    while True:
        if fresh:
            # Below, g and its product with t are only brought up to date; here they are computed.
            half_gradient(q, w, t, g)
            inner = 0.0
            for d in range(size):
                inner += g[d] * t[d]
        i = 0
        for d in range(size):
            if g[d] < g[i]:
                i = d
        gap = inner - g[i]
        if gap <= tol * scale or steps >= max_iter:
            if fresh:
                break
            fresh = True
            continue
        lowest, own, line = g[i], diagonal[i], q[i]
        for d in range(size):
            slope = max(g[d] - lowest, 0.0)
            curvature = max(own + diagonal[d] - 2.0 * line[d], 1e-300)
            step[d] = min(t[d], slope / curvature)
            gain[d] = step[d] * (2.0 * slope - step[d] * curvature)
        j = 0
        for d in range(size):
            if gain[d] > gain[j]:
                j = d
        if gain[j] <= 0.0:
            break
        move = step[j]
        curvature = own + diagonal[j] - 2.0 * line[j]
        inner += move * (2.0 * (lowest - g[j]) + (w[i] - w[j]) + move * curvature)
        t[i] += move
        t[j] = max(t[j] - move, 0.0)
        other = q[j]
        for d in range(size):
            g[d] += move * (line[d] - other[d])
        steps += 1
        fresh = False
    t /= np.sum(t)


@kernel
def pairwise_descent(gram, moment, x, tol, max_iter):
    """Run pairwise descent on every row."""
    for row in range(x.shape[0]):
        pairwise_row(gram[row], moment[row], x[row], tol, max_iter)


@dataclass(frozen=True)
class Pairwise(Convex):
    """Pairwise descent with exact steps; `tol` and `max_iter` limit it."""

    name = "pairwise"
    descent = staticmethod(pairwise_descent)


@kernel
def solve_on_support(q, w, support, count, factor, first, second, y):
    """Minimise over the affine hull of a support; write y and return whether it worked.

    On the support, Q y + mu 1 = w and sum(y) = 1. Fails where Q is singular there.
    """
    for a in range(count):
        for b in range(a + 1):
            total = q[support[a], support[b]]
            for k in range(b):
                total -= factor[a, k] * factor[b, k]
            if a > b:
                factor[a, b] = total / factor[b, b]
            elif total <= 1e-12 * q[support[a], support[a]]:
                return False
            else:
                factor[a, a] = np.sqrt(total)
    for a in range(count):
        left, right = w[support[a]], 1.0
        for k in range(a):
            left -= factor[a, k] * first[k]
            right -= factor[a, k] * second[k]
        first[a] = left / factor[a, a]
        second[a] = right / factor[a, a]
    for a in range(count - 1, -1, -1):
        left, right = first[a], second[a]
        for k in range(a + 1, count):
            left -= factor[k, a] * first[k]
            right -= factor[k, a] * second[k]
        first[a] = left / factor[a, a]
        second[a] = right / factor[a, a]
    here = unit = 0.0
    for a in range(count):
        here += first[a]
        unit += second[a]
    multiplier = (here - 1.0) / unit
    for a in range(count):
        y[a] = first[a] - multiplier * second[a]
    return True


@kernel
def active_set(gram, moment, x, tol, max_iter):
    """Solve on a support, drop what turns negative, add what would gain, until nothing does.

    A row whose matrix is singular on a support is finished by pairwise descent.
    """
    rows, size = x.shape
    support, inside = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.bool_)
    factor, first, second = np.empty((size, size)), np.empty(size), np.empty(size)
    y, g = np.empty(size), np.empty(size)
    for row in range(rows):
        q, w, t = gram[row], moment[row], x[row]
        scale = 1e-300
        for d in range(size):
            scale = max(scale, q[d, d])
            inside[d] = t[d] > 0.0
        rounds = 0
        while rounds < max_iter:
            rounds += 1
            count = np.int64(0)  # a plain 0 would have what it is handed to compiled twice
            for d in range(size):
                if inside[d]:
                    support[count] = d
                    count += 1
            if not solve_on_support(q, w, support, count, factor, first, second, y):
                break
            # Towards y until a coordinate becomes zero.
            reach, leaving = 1.0, -1
            for a in range(count):
                if y[a] < 0.0:
                    here = t[support[a]]
                    share = here / (here - y[a])
                    if share < reach:
                        reach, leaving = share, support[a]
            for a in range(count):
                d = support[a]
                t[d] += reach * (y[a] - t[d])
            if leaving >= 0:
                t[leaving] = 0.0
                inside[leaving] = False
                continue
            half_gradient(q, w, t, g)
            entering = 0
            inner = 0.0
            for d in range(size):
                inner += g[d] * t[d]
                if g[d] < g[entering]:
                    entering = d
            if inner - g[entering] <= tol * scale or inside[entering]:
                break
            inside[entering] = True
        t /= np.sum(t)
        # What pairwise descent finds nothing to do for costs it one look at the gap, which it computes again.
        pairwise_row(q, w, t, tol, max(max_iter - rounds, 0))


@kernel
def active_set_rows(table, tol, max_iter, first, last, out, reached):
    """Make the normal equations of the rows `first` to `last` of a table, solve them, and keep the better point.

    All in one call: a thread that has to come back to Python between them waits for all others that do. A table is a
    tuple of indptr, indices, values, weights, factors, bits, ridge, centre and the points where rows start.
    """
    indptr, indices, values, weights, factors, bits, ridge, centre, start = table
    size = start.shape[1]
    gram, moment = np.empty((_BLOCK, size, size)), np.empty((_BLOCK, size))
    for begin in range(first, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        n = end - begin
        if bits.size:
            binary_normal_equations(indptr, indices, values, bits, begin, end, ridge, centre, gram, moment)
        else:
            normal_equations(indptr, indices, values, weights, factors, begin, end, ridge, centre, gram, moment)
        x = out[begin:end]
        x[:] = start[begin:end]
        active_set(gram[:n], moment[:n], x, tol, max_iter)
        keep_better(gram[:n], moment[:n], start[begin:end], x, reached[begin:end])


@dataclass(frozen=True)
class ActiveSet(Convex):
    """Exact in finitely many rounds where the matrix is definite; pairwise descent finishes the other rows.

    Examples
    --------
    >>> gram, moment, start = np.array([[[2.0, 0.0], [0.0, 1.0]]]), np.zeros((1, 2)), np.array([[0.5, 0.5]])
    >>> ActiveSet().solve(gram, moment, start).round(6).tolist()
    [[0.333333, 0.666667]]
    """

    name = "active_set"
    # Every round factors the support again: some ten seconds at this size.
    max_variables = 500
    descent = staticmethod(active_set)

    def solve_rows(self, table: tuple[Any, ...], first: int, last: int, out: Floats, reached: Floats) -> None:
        """Run `active_set_rows` with the options of this solver; `reached` gets the values."""
        active_set_rows(table, self.tol, self.max_iter, first, last, out, reached)
