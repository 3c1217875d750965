"""Stage one of both half-steps: the normal equations of every row of a sparse table."""

from __future__ import annotations

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
            f0 = factors[indices[k]]
            f1 = factors[indices[k + 1]]
            f2 = factors[indices[k + 2]]
            f3 = factors[indices[k + 3]]
            w0 = w1 = w2 = w3 = 1.0
            if weighted:
                w0 = weights[k]
                w1 = weights[k + 1]
                w2 = weights[k + 2]
                w3 = weights[k + 3]
            p0 = values[k]
            p1 = values[k + 1]
            p2 = values[k + 2]
            p3 = values[k + 3]
            for d in range(size):
                a0 = w0 * f0[d]
                a1 = w1 * f1[d]
                a2 = w2 * f2[d]
                a3 = w3 * f3[d]
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
