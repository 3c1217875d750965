"""Newton's method on the dual of the relaxation (Qi and Sun 2006, with Borsdorf and Higham 2010)."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.solvers.copying import copy_to
from kolmogorov.solvers.dual_kernels import (
    CONVERGED,
    FARTHEST,
    FULL_EVDS,
    HALVINGS,
    ITERATIONS,
    dual_gradient,
    dual_value,
    shifted,
)
from kolmogorov.solvers.stopping_kernels import stopped

# Above this size products of matrices pay for the copies they need. By judgement.
_BY_PRODUCTS = 64


@kernel
def hessian_times(gamma, weights, vectors, direction, inner):
    """Apply the generalised Hessian of h to a direction: gamma * diag(V (W o (V^T Diag(d) V)) V^T).

    W vanishes between two non-positive eigenvalues, so only its rows of positive eigenvalues are kept:
    `weights[b]` belongs to the b-th of them, counted from the largest, and holds W twice where its partner
    is not positive, for the two places at which it stands in the sum.
    """
    n = direction.size
    rank = weights.shape[0]
    if n > _BY_PRODUCTS:
        top = largest_first(vectors, rank)
        inner[:, :] = np.dot(np.ascontiguousarray(top.T) * direction, vectors)
        return gamma * np.sum(np.dot(vectors, np.ascontiguousarray((weights * inner).T)) * top, axis=1)
    inner[:, :] = 0.0
    for i in range(n):
        line = vectors[i]
        for b in range(rank):
            c = direction[i] * line[n - 1 - b]
            row = inner[b]
            for k in range(n):
                row[k] += c * line[k]
    out = np.empty(n)
    for i in range(n):
        line = vectors[i]
        total = 0.0
        for b in range(rank):
            part = 0.0
            for k in range(n):
                part += weights[b, k] * inner[b, k] * line[k]
            total += line[n - 1 - b] * part
        out[i] = gamma * total
    return out


@kernel
def hessian_diagonal(gamma, weights, vectors):
    """Return the diagonal of the generalised Hessian; arguments as in `hessian_times`."""
    n = vectors.shape[0]
    rank = weights.shape[0]
    if n > _BY_PRODUCTS:
        top = largest_first(vectors, rank)
        return gamma * np.sum(np.dot(vectors * vectors, np.ascontiguousarray(weights.T)) * top * top, axis=1)
    diagonal = np.empty(n)
    for i in range(n):
        total = 0.0
        for b in range(rank):
            part = 0.0
            for k in range(n):
                part += weights[b, k] * vectors[i, k] * vectors[i, k]
            total += vectors[i, n - 1 - b] * vectors[i, n - 1 - b] * part
        diagonal[i] = gamma * total
    return diagonal


@kernel
def largest_first(vectors, rank):
    """Return the last `rank` columns, the last one first."""
    n = vectors.shape[0]
    top = np.empty((n, rank))
    for i in range(n):
        for b in range(rank):
            top[i, b] = vectors[i, n - 1 - b]
    return top


@kernel
def hessian_weights(values):
    """Return the rows of W that `hessian_times` wants; W_ab = (max(l_a, 0) - max(l_b, 0)) / (l_a - l_b)."""
    n = values.size
    # Eigenvalues that are positive by rounding alone would make W depend on noise.
    noise = 1e-15 * max(abs(values[0]), abs(values[n - 1]))
    rank = 0
    while rank < n and values[n - 1 - rank] > noise:
        rank += 1
    weights = np.ones((rank, n))
    for b in range(rank):
        top = values[n - 1 - b]
        for k in range(n - rank):
            weights[b, k] = 2.0 * top / (top - min(values[k], 0.0))
    return weights


@kernel
def newton_direction(gamma, values, vectors, gradient, accuracy, stop):
    """Solve Hessian * d = -gradient by conjugate gradients with the diagonal as preconditioner.

    The Hessian may be singular, for instance where a variable is coupled to nothing; a ridge that vanishes with the
    gradient keeps the step finite and the convergence quadratic.
    """
    n = gradient.size
    ridge = gamma * min(1e-6, 1e-3 * np.sqrt(np.sum(gradient * gradient)))
    weights = hessian_weights(values)
    rank = weights.shape[0]
    inner = np.empty((rank, n))
    diagonal = hessian_diagonal(gamma, weights, vectors) + ridge
    d = np.zeros(n)
    r = -gradient
    z = r / diagonal
    p = z.copy()
    rz = np.sum(r * z)
    limit = accuracy * np.sqrt(np.sum(r * r))
    for _ in range(2 * n):
        if stopped(stop):
            break
        hp = hessian_times(gamma, weights, vectors, p, inner) + ridge * p
        curvature = np.sum(p * hp)
        # The comparison also fails for the NaN that residuals below the smallest number would give.
        if not curvature > 0.0:
            break
        alpha = rz / curvature
        d += alpha * p
        r -= alpha * hp
        if np.sqrt(np.sum(r * r)) <= limit:
            break
        z = r / diagonal
        new = np.sum(r * z)
        if not new > 0.0:
            break
        p = z + (new / rz) * p
        rz = new
    return d


@kernel
def newton_dual(lifted, gamma, tol, max_iter, dual, counts, trace, points, stop):
    """Semismooth Newton on h (Qi and Sun 2006; Borsdorf and Higham 2010) to a gradient norm of `tol`.

    `dual` holds the start and then the end, which is where it is when `stop` is set; returns the eigenpairs there.
    """
    values, vectors = np.linalg.eigh(shifted(lifted, dual))
    counts[FULL_EVDS] += 1
    h = dual_value(dual, gamma, values)
    gradient = np.empty(dual.size)
    gradient_new = np.empty(dual.size)
    dual_gradient(gamma, values, vectors, gradient)
    norm = np.sqrt(np.sum(gradient * gradient))
    for iteration in range(max_iter):
        if trace.size > 0:
            trace[iteration] = h
            copy_to(points[iteration], dual)
        if norm <= tol or stopped(stop):
            break
        direction = newton_direction(gamma, values, vectors, gradient, max(min(0.1, 0.1 * norm), 1e-6), stop)
        slope = np.sum(gradient * direction)
        # Not a direction of descent, or not a number.
        steepest = not slope < 0.0 or not np.all(np.isfinite(direction))
        moved = False
        while not moved:
            if steepest:
                direction = -gradient
                slope = -norm * norm
            t = 1.0
            for _ in range(HALVINGS):
                if stopped(stop):
                    break
                trial = dual + t * direction
                if not np.max(np.abs(trial)) <= FARTHEST:
                    t *= 0.5
                    continue
                values_new, vectors_new = np.linalg.eigh(shifted(lifted, trial))
                counts[FULL_EVDS] += 1
                h_new = dual_value(trial, gamma, values_new)
                dual_gradient(gamma, values_new, vectors_new, gradient_new)
                norm_new = np.sqrt(np.sum(gradient_new * gradient_new))
                # Near the end h no longer changes within rounding; then the gradient decides.
                flat = abs(t * slope) <= 1e-13 * (1.0 + abs(h))
                if h_new <= h + 1e-4 * t * slope or (flat and norm_new < norm):
                    moved = True
                    break
                t *= 0.5
            if steepest:
                break
            steepest = True
        counts[ITERATIONS] += 1
        if not moved:
            break
        copy_to(dual, trial)
        copy_to(gradient, gradient_new)
        h, norm, values, vectors = h_new, norm_new, values_new, vectors_new
    counts[CONVERGED] = 1 if norm <= tol else 0
    if trace.size > 0:
        trace[counts[ITERATIONS]] = h
        copy_to(points[counts[ITERATIONS]], dual)
    return values, vectors
