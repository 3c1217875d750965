"""Stage one of both half-steps: the normal equations of every row of a sparse table."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def normal_equations(indptr, indices, values, weights, factors, first, last, ridge, centre, gram, moment):
    """Fill `gram` and `moment` for the rows `first` to `last` of a sparse table.

    For a row with observed partners j, values p_j, weights w_j and partner factors f_j::

        gram   = ridge I        + sum_j w_j f_j f_j^T
        moment = ridge * centre + sum_j w_j p_j f_j

    Parameters
    ----------
    indptr, indices, values : int64[n_rows + 1], int32[nnz], float64[nnz]
        The table by rows.
    weights : float64[nnz] or float64[0]
        Empty where every observation weighs one.
    factors : float64[n_partners, D]
    ridge : float
    centre : float64[D]
        What the ridge shrinks to.
    gram, moment : float64[>= last - first, D, D], float64[>= last - first, D]
        Output, overwritten.
    """
    size = factors.shape[1]
    weighted = weights.size > 0
    for row in range(first, last):
        g = gram[row - first]
        m = moment[row - first]
        for d in range(size):
            for e in range(size):
                g[d, e] = 0.0
            g[d, d] = ridge
            m[d] = ridge * centre[d]
        begin = indptr[row]
        end = indptr[row + 1]
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
            f = factors[indices[k]]
            w = weights[k] if weighted else 1.0
            p = values[k]
            for d in range(size):
                a = w * f[d]
                m[d] += a * p
                for e in range(size):
                    g[d, e] += a * f[e]


@kernel
def population(word):
    """Count the bits of a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def binary_normal_equations(indptr, indices, values, bits, first, last, ridge, centre, gram, moment):
    """Fill `gram` and `moment` as `normal_equations` does, for partners that are bits and observations that weigh one.

    Partners are gone through 64 at a time: a word per factor says which of them have it, and the number of bits that
    two words share is what their factors' products sum to.

    Parameters
    ----------
    bits : uint64[n_partners]
        The partners' factors, at most 64.
    """
    size = moment.shape[1]
    word = np.empty(size, dtype=np.uint64)
    count = np.empty((size, size), dtype=np.int64)
    for row in range(first, last):
        g = gram[row - first]
        m = moment[row - first]
        for d in range(size):
            m[d] = 0.0
            for e in range(d + 1):
                count[d, e] = 0
        for begin in range(indptr[row], indptr[row + 1], 64):
            end = min(begin + 64, indptr[row + 1])
            for d in range(size):
                word[d] = np.uint64(0)
            for k in range(begin, end):
                b = bits[indices[k]]
                p = values[k]
                place = np.uint64(k - begin)
                for d in range(size):
                    bit = (b >> np.uint64(d)) & np.uint64(1)
                    word[d] |= bit << place
                    m[d] += p * float(bit)
            for d in range(size):
                for e in range(d + 1):
                    count[d, e] += np.int64(population(word[d] & word[e]))
        for d in range(size):
            m[d] += ridge * centre[d]
            for e in range(d + 1):
                g[d, e] = g[e, d] = float(count[d, e])
            g[d, d] += ridge
