"""The dual of the regularised semidefinite relaxation, and two ways down: gradient descent and Newton.

h(dual) = sum(dual) + gamma/2 * sum(max(l, 0)^2), where l are the eigenvalues of C = -A - Diag(dual). Its gradient is
1 - gamma * diag(V max(l, 0) V^T), and at the minimum X* = gamma * V max(l, 0) V^T has unit diagonal.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.binary.lanczos import ritz_pairs
from kolmogorov.kernels.stopping import stopped

# Columns of the array `counts` that the descents fill in.
ITERATIONS, FULL_EVDS, LANCZOS_EVDS, CONVERGED = 0, 1, 2, 3
# Columns of `phases`.
I_A, I_B, II_A, II_B = 0, 1, 2, 3
_HALVINGS = 60
# Steps beyond this, where squares would overflow, are too long.
FARTHEST = 1e120
# From here on products of matrices pay for the copies they need.
_BY_PRODUCTS = 64


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
def evaluate(lifted, dual, gamma, enhanced, lanczos, a, start, own_values, own_vectors, counts):
    """Return h, the eigenpairs that matter, and the phase at one dual point.

    With `enhanced`, an EVD is made only in phase II-B: while all entries of `dual` are equal, the eigenpairs of
    -A (`own_values`, `own_vectors`) are shifted, and where Weyl's inequality excludes positive eigenvalues
    there is nothing to project.
    """
    n = dual.size
    if enhanced:
        if all_equal(dual):
            values = own_values - dual[0]
            phase = I_B if values[n - 1] > 0.0 else I_A
            return dual_value(dual, gamma, values), values, own_vectors, phase
        if own_values[n - 1] - np.min(dual) <= 0.0:
            none = np.zeros(n)
            return np.sum(dual), none, own_vectors, II_A
    if not np.max(np.abs(dual)) <= FARTHEST:
        return np.inf, np.zeros(n), own_vectors, II_B
    c = shifted(lifted, dual)
    if lanczos and n > 2:
        counts[LANCZOS_EVDS] += 1
        values, vectors = ritz_pairs(c, a, start)
    else:
        counts[FULL_EVDS] += 1
        values, vectors = np.linalg.eigh(c)
    return dual_value(dual, gamma, values), values, vectors, II_B


@kernel
def descend_dual(
    lifted,
    gamma,
    tol,
    max_iter,
    step,
    shrink,
    armijo,
    enhanced,
    initial_step,
    lanczos,
    a,
    start,
    dual,
    counts,
    phases,
    trace,
    points,
    stop,
):
    """Gradient descent with backtracking on h (Algorithms 1 and 2); `dual` holds the start and then the end.

    Algorithms 1 and 2 differ only in `evaluate`, so they visit the same points. The EVD of an accepted trial point
    serves as that point's own. `start` begins every Lanczos run; `stop` ends the descent where it is.
    Returns the eigenpairs at the end.
    """
    n = dual.size
    own_values = np.zeros(n)
    own_vectors = np.zeros((n, n))
    if enhanced:
        own_values, own_vectors = np.linalg.eigh(-lifted)
        counts[FULL_EVDS] += 1
    h, values, vectors, phase = evaluate(
        lifted, dual, gamma, enhanced, lanczos, a, start, own_values, own_vectors, counts
    )
    gradient = np.empty(n)
    for iteration in range(max_iter):
        if trace.size > 0:
            trace[iteration] = h
            points[iteration] = dual
        dual_gradient(gamma, values, vectors, gradient)
        phases[phase] += 1
        slope = np.sum(gradient * gradient)
        t = step
        if initial_step and iteration == 0 and phase == I_A:
            # Just far enough that the largest eigenvalue of C becomes 1 / gamma.
            t = dual[0] - own_values[n - 1] + 1.0 / gamma
        moved = False
        for _ in range(_HALVINGS):
            if stopped(stop):
                break
            trial = dual - t * gradient
            h_new, values_new, vectors_new, phase_new = evaluate(
                lifted, trial, gamma, enhanced, lanczos, a, start, own_values, own_vectors, counts
            )
            moved = h_new <= h - armijo * t * slope
            if moved:
                break
            t *= shrink
        counts[ITERATIONS] += 1
        if not moved:
            break
        dual[:], h, values, vectors = trial, h_new, values_new, vectors_new
        # The phases come in order and never go back.
        phase = max(phase, phase_new)
        if t * np.sqrt(slope) <= tol:
            counts[CONVERGED] = 1
            break
    if trace.size > 0:
        trace[counts[ITERATIONS]] = h
        points[counts[ITERATIONS]] = dual
    return values, vectors


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
            points[iteration] = dual
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
            for _ in range(_HALVINGS):
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
        dual[:] = trial
        h = h_new
        values = values_new
        vectors = vectors_new
        gradient[:] = gradient_new
        norm = norm_new
    counts[CONVERGED] = 1 if norm <= tol else 0
    if trace.size > 0:
        trace[counts[ITERATIONS]] = h
        points[counts[ITERATIONS]] = dual
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
def spectral_bound(lifted, dual, counts):
    """Return a lower bound of s^T A s over signs s: -sum(dual) - n * l_max(C), at any dual point."""
    values = np.linalg.eigvalsh(shifted(lifted, dual))
    counts[FULL_EVDS] += 1
    n = dual.size
    # What rounding may add to the sum and to the eigenvalue.
    size = np.sum(np.abs(dual)) + n * max(abs(values[0]), abs(values[n - 1]))
    return -np.sum(dual) - n * values[n - 1] - 8.0 * n * 2.0**-52 * size
