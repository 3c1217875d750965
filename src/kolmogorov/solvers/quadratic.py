"""Values of x^T gram x - 2 x^T moment over a batch of rows."""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def value(gram, moment, x):
    """Return x^T gram x - 2 x^T moment of one row."""
    total = 0.0
    for d in range(x.size):
        line = 0.0
        for e in range(x.size):
            line += gram[d, e] * x[e]
        total += x[d] * (line - 2.0 * moment[d])
    return total


@kernel
def keep_better(gram, moment, previous, x, values):
    """Put each row's previous point back where the new one is worse, and record the value that stands.

    This is what makes a sweep unable to harm the fit, whatever the row solver does.
    """
    for row in range(x.shape[0]):
        new = value(gram[row], moment[row], x[row])
        old = value(gram[row], moment[row], previous[row])
        if new > old:
            for d in range(x.shape[1]):
                x[row, d] = previous[row, d]
            new = old
        values[row] = new


@kernel
def batch_values(gram, moment, x, values):
    """Write the value of every row of `x` to `values`."""
    for row in range(x.shape[0]):
        values[row] = value(gram[row], moment[row], x[row])


@kernel
def certify(gram, moment, x, tol, gaps, bounds, converged):
    """Turn the gaps of convex problems into bounds, and tell which are below `tol` times the largest square."""
    for row in range(x.shape[0]):
        scale = 1e-300
        for d in range(x.shape[1]):
            scale = max(scale, gram[row, d, d])
        converged[row] = gaps[row] <= tol * scale
        bounds[row] = value(gram[row], moment[row], x[row]) - 2.0 * gaps[row]


@kernel
def rounding_allowances(gram, moment, out):
    """Write to `out` what rounding may change in x^T gram x - 2 x^T moment over {0,1}^D, row by row."""
    size = moment.shape[1]
    for row in range(moment.shape[0]):
        total = 0.0
        for d in range(size):
            total += 2.0 * abs(moment[row, d])
            for e in range(size):
                total += abs(gram[row, d, e])
        out[row] = 4.0 * 2.0**-52 * total
