"""What every half-step does to rows, whatever solves them: normal equations, values, and the better of two points.

Row u of a sparse table with observed partners i, values p_ui and partner factors f_i has the problem of minimising
x^T gram x - 2 x^T moment: the paper's LCQP with Q_u and w_u for a user, its BQP with S_i and v_i for an item.
"""

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def normal_equations(indptr, indices, values, weights, factors, first, last, ridge, centre, gram, moment):
    """Fill `gram` and `moment` for the rows `first` to `last` of a sparse table (`weights` may be empty: all one).

    For a row with observed partners j, values p_j, weights w_j and partner factors f_j::

        gram   = ridge I        + sum_j w_j f_j f_j^T
        moment = ridge * centre + sum_j w_j p_j f_j
    """
    size = factors.shape[1]
    weighted = weights.size > 0
    for row in range(first, last):
        g, m = gram[row - first], moment[row - first]
        for d in range(size):
            for e in range(size):
                g[d, e] = 0.0
            g[d, d] = ridge
            m[d] = ridge * centre[d]
        begin, end = indptr[row], indptr[row + 1]
        # Four partners at a time: each entry of g is loaded and stored once for four products.
        whole = begin + 4 * ((end - begin) // 4)
        for k in range(begin, whole, 4):
            f0, f1 = factors[indices[k]], factors[indices[k + 1]]
            f2, f3 = factors[indices[k + 2]], factors[indices[k + 3]]
            w0 = w1 = w2 = w3 = 1.0
            if weighted:
                w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
            p0, p1, p2, p3 = values[k], values[k + 1], values[k + 2], values[k + 3]
            for d in range(size):
                a0, a1, a2, a3 = w0 * f0[d], w1 * f1[d], w2 * f2[d], w3 * f3[d]
                m[d] += (a0 * p0 + a1 * p1) + (a2 * p2 + a3 * p3)
                for e in range(size):
                    g[d, e] += (a0 * f0[e] + a1 * f1[e]) + (a2 * f2[e] + a3 * f3[e])
        for k in range(whole, end):
            f, p = factors[indices[k]], values[k]
            w = weights[k] if weighted else 1.0
            for d in range(size):
                a = w * f[d]
                m[d] += a * p
                for e in range(size):
                    g[d, e] += a * f[e]


@kernel
def binary_normal_equations(indptr, indices, values, bits, first, last, ridge, centre, gram, moment):
    """Do the same for partners whose factors are `bits`, at most 64 in a uint64, and observations that weigh one.

    Partners are gone through 64 at a time: a word per factor says which of them have it, and the number of bits that
    two words share is what their factors' products sum to.
    """
    size = moment.shape[1]
    word = np.empty(size, dtype=np.uint64)
    count = np.empty((size, size), dtype=np.int64)
    for row in range(first, last):
        g, m = gram[row - first], moment[row - first]
        for d in range(size):
            m[d] = 0.0
            for e in range(d + 1):
                count[d, e] = 0
        for begin in range(indptr[row], indptr[row + 1], 64):
            end = min(begin + 64, indptr[row + 1])
            for d in range(size):
                word[d] = np.uint64(0)
            for k in range(begin, end):
                b, p, place = bits[indices[k]], values[k], np.uint64(k - begin)
                for d in range(size):
                    bit = (b >> np.uint64(d)) & np.uint64(1)
                    word[d] |= bit << place
                    m[d] += p * float(bit)
            for d in range(size):
                for e in range(d + 1):
                    # The number of bits of a word, added up side by side.
                    w = word[d] & word[e]
                    w = w - ((w >> np.uint64(1)) & np.uint64(0x5555555555555555))
                    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
                    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                    count[d, e] += np.int64((w * np.uint64(0x0101010101010101)) >> np.uint64(56))
        for d in range(size):
            m[d] += ridge * centre[d]
            for e in range(d + 1):
                g[d, e] = g[e, d] = float(count[d, e])
            g[d, d] += ridge


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
def batch_values(gram, moment, x, values):
    """Write the value of every row of `x` to `values`."""
    for row in range(x.shape[0]):
        values[row] = value(gram[row], moment[row], x[row])


@kernel
def keep_better(gram, moment, previous, x, values):
    """Put each row's previous point back where the new one is worse, and record the value that stands.

    This is what makes a sweep unable to harm the fit, whatever the row solver does; Algorithm 4 as printed does not.
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
def pair_products(theta, psi, users, items, out):
    """Write theta[users[k]] . psi[items[k]] to out[k]."""
    size = theta.shape[1]
    for k in range(users.size):
        t, f = theta[users[k]], psi[items[k]]
        total = 0.0
        for d in range(size):
            total += t[d] * f[d]
        out[k] = total


@kernel
def residual_squares(indptr, indices, values, weights, theta, psi, first, last, out):
    """Write the (weighted) sum of squared residuals of the rows `first` to `last` to `out`, a place for every row."""
    size = theta.shape[1]
    for row in range(first, last):
        t = theta[row]
        out[row] = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            f = psi[indices[k]]
            total = values[k]
            for d in range(size):
                total -= t[d] * f[d]
            out[row] += total * total * (weights[k] if weights.size else 1.0)
