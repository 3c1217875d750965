"""The dual of the regularised semidefinite relaxation, and gradient descent on it.

h(dual) = sum(dual) + gamma/2 * sum(max(l, 0)^2), where l are the eigenvalues of C = -A - Diag(dual). Its gradient is
1 - gamma * diag(V max(l, 0) V^T), and at the minimum X* = gamma * V max(l, 0) V^T has unit diagonal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.solvers.copying import copy_to
from kolmogorov.solvers.lanczos import ritz_pairs
from kolmogorov.solvers.stopping_kernels import stopped

# Columns of the array `counts` that the descents fill in.
ITERATIONS, FULL_EVDS, LANCZOS_EVDS, CONVERGED = 0, 1, 2, 3
# Columns of `phases`.
I_A, I_B, II_A, II_B = 0, 1, 2, 3
# Times that a line search halves its step at most; then rounding is all that is left.
HALVINGS = 60
# A step this much shorter than the first is no step.
SHORTEST = 2.0**-HALVINGS
# Steps beyond this, where squares would overflow, are too long.
FARTHEST = 1e120


class Descent(NamedTuple):
    """How a descent goes: the paper's gamma, epsilon, I_max and u_0, the line search, and Section IV's options."""

    gamma: float
    tol: float
    max_iter: int
    step: float
    shrink: float
    armijo: float
    initial_dual: float
    screened: bool
    enhanced: bool = False
    initial_step: bool = False
    lanczos: bool = False
    a: float = 1.0
    reorthogonalised: bool = True


class Results(NamedTuple):
    """Where the solvers of n problems write: a row of every array for each.

    `counts` and `phases` have the columns above. `trace`, the dual value
    of every iteration, and `points`, the dual, have no columns unless they are wanted.
    """

    x: Any
    counts: Any
    phases: Any
    duals: Any
    trace: Any
    points: Any


@kernel
def shifted(lifted, dual):
    """Return C = -A - Diag(dual)."""
    c = -lifted
    for i in range(dual.size):
        c[i, i] -= dual[i]
    return c


@kernel
def dual_value(dual, gamma, values):
    """Return h from the eigenvalues of C."""
    total = np.sum(dual)
    for k in range(values.size):
        if values[k] > 0.0:
            total += 0.5 * gamma * values[k] * values[k]
    return total


@kernel
def dual_gradient(gamma, values, vectors, out):
    """Write 1 - gamma * diag(V max(l, 0) V^T) to `out`."""
    for i in range(out.size):
        total = 0.0
        for k in range(values.size):
            if values[k] > 0.0:
                total += values[k] * vectors[i, k] * vectors[i, k]
        out[i] = 1.0 - gamma * total


@kernel
def all_equal(dual):
    """Tell whether all entries are the same number."""
    for i in range(1, dual.size):
        if dual[i] != dual[0]:
            return False
    return True


@kernel
def evaluate(lifted, dual, how, start, own_values, own_vectors, counts):
    """Return h, the eigenpairs that matter, and the phase at one dual point.

    With `how.enhanced`, an EVD is made only in phase II-B: while all entries of `dual` are equal, the eigenpairs of
    -A (`own_values`, `own_vectors`) are shifted, and where Weyl's inequality excludes positive eigenvalues
    there is nothing to project.
    """
    n = dual.size
    if how.enhanced:
        if all_equal(dual):
            values = own_values - dual[0]
            phase = I_B if values[n - 1] > 0.0 else I_A
            return dual_value(dual, how.gamma, values), values, own_vectors, phase
        if own_values[n - 1] - np.min(dual) <= 0.0:
            none = np.zeros(n)
            return np.sum(dual), none, own_vectors, II_A
    if not np.max(np.abs(dual)) <= FARTHEST:
        return np.inf, np.zeros(n), own_vectors, II_B
    c = shifted(lifted, dual)
    if how.lanczos and n > 2:
        counts[LANCZOS_EVDS] += 1
        values, vectors = ritz_pairs(c, how.a, how.reorthogonalised, start)
    else:
        counts[FULL_EVDS] += 1
        values, vectors = np.linalg.eigh(c)
    return dual_value(dual, how.gamma, values), values, vectors, II_B


@kernel
def bend(vectors, gradient):
    """Return v_k^T Diag(gradient) v_k for every eigenvector: how its Rayleigh quotient grows along -gradient."""
    quotients = np.zeros(vectors.shape[1])
    for i in range(gradient.size):
        for k in range(quotients.size):
            quotients[k] += gradient[i] * vectors[i, k] * vectors[i, k]
    return quotients


@kernel
def least_value(dual, gamma, values, quotients, gradient, t):
    """Return a lower bound of h(dual - t gradient) without an EVD, from the eigenpairs at `dual`.

    The diagonal of a symmetric matrix in any orthonormal basis is majorised by its eigenvalues (Schur), and the sum of
    max(l, 0)^2 is convex; here the basis are the eigenvectors at `dual`.
    """
    total = np.sum(dual) - t * np.sum(gradient)
    for k in range(values.size):
        at = values[k] + t * quotients[k]
        if at > 0.0:
            total += 0.5 * gamma * at * at
    return total


@kernel
def screened_step(dual, how, values, vectors, gradient, h, t):
    """Shorten t while a lower bound alone shows that h would not fall enough: those trials need no EVD."""
    slope = np.sum(gradient * gradient)
    quotients = bend(vectors, gradient)
    # A step is given up only where rounding cannot be why.
    noise = 1e-12 * (abs(h) + np.sum(np.abs(dual)) + t * slope)
    shortest = t * SHORTEST
    while t * how.shrink >= shortest:
        least = least_value(dual, how.gamma, values, quotients, gradient, t)
        if not least > h - how.armijo * t * slope + noise:
            break
        t *= how.shrink
    return t


@kernel
def line_search(lifted, dual, how, start, own_values, own_vectors, counts, gradient, h, t, stop):
    """Shorten the step t along -gradient until h falls by Armijo's share of what the slope promises.

    Returns whether it did, t, the last trial point, and what `evaluate` says there.
    """
    slope = np.sum(gradient * gradient)
    shortest = how.step * SHORTEST
    while True:
        trial = dual - t * gradient
        h_new, values, vectors, phase = evaluate(lifted, trial, how, start, own_values, own_vectors, counts)
        enough = h_new <= h - how.armijo * t * slope
        if enough or stopped(stop) or t * how.shrink < shortest:
            return enough, t, trial, h_new, values, vectors, phase
        t *= how.shrink


@kernel
def descend_dual(lifted, how, start, dual, counts, phases, trace, points, stop):
    """Gradient descent with backtracking on h (Algorithms 1 and 2); `dual` holds the start and then the end.

    Algorithms 1 and 2 differ only in `evaluate`, so they visit the same points. The EVD of an accepted trial point
    serves as that point's own. An iteration counts for the phase of the point from which it starts. `start` begins
    every Lanczos run; `stop` ends the descent where it is. Returns the eigenpairs at the end, as the algorithm
    knows them.
    """
    n = dual.size
    own_values = np.zeros(n)
    own_vectors = np.zeros((n, n))
    if how.enhanced:
        own_values, own_vectors = np.linalg.eigh(-lifted)
        counts[FULL_EVDS] += 1
    h, values, vectors, phase = evaluate(lifted, dual, how, start, own_values, own_vectors, counts)
    gradient = np.empty(n)
    for iteration in range(how.max_iter):
        if trace.size > 0:
            trace[iteration] = h
            copy_to(points[iteration], dual)
        dual_gradient(how.gamma, values, vectors, gradient)
        phases[phase] += 1
        t = how.step
        if how.initial_step and iteration == 0 and phase == I_A:
            # Just far enough that the largest eigenvalue of C becomes 1 / gamma.
            t = dual[0] - own_values[n - 1] + 1.0 / how.gamma
        if how.screened and not how.lanczos and phase != II_A:
            t = screened_step(dual, how, values, vectors, gradient, h, t)
        moved, t, trial, h_new, values_new, vectors_new, phase_new = line_search(
            lifted, dual, how, start, own_values, own_vectors, counts, gradient, h, t, stop
        )
        counts[ITERATIONS] += 1
        if not moved:
            break
        dual[:], h, values, vectors, phase = trial, h_new, values_new, vectors_new, phase_new
        if t * np.sqrt(np.sum(gradient * gradient)) <= how.tol:
            counts[CONVERGED] = 1
            break
    if trace.size > 0:
        trace[counts[ITERATIONS]] = h
        copy_to(points[counts[ITERATIONS]], dual)
    return values, vectors


@kernel
def projection_factor(gamma, values, vectors):
    """Return L = V+ sqrt(gamma max(l, 0)), so that X* = L L^T."""
    rank = 0
    for k in range(values.size):
        if values[k] > 0.0:
            rank += 1
    n = vectors.shape[0]
    factor = np.empty((n, rank))
    column = 0
    for k in range(values.size):
        if values[k] > 0.0:
            for i in range(n):
                factor[i, column] = vectors[i, k] * np.sqrt(gamma * values[k])
            column += 1
    return factor


@kernel
def spectral_bound(dual, values):
    """Return a lower bound of s^T A s over signs s, at any dual point: -sum(dual) - n * l_max(C).

    `values` are the eigenvalues of C, ascending.
    """
    n = dual.size
    # What rounding may add to the sum and to the eigenvalue.
    size = np.sum(np.abs(dual)) + n * max(abs(values[0]), abs(values[n - 1]))
    return -np.sum(dual) - n * values[n - 1] - 8.0 * n * 2.0**-52 * size
