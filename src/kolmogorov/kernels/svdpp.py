"""Stochastic gradient descent for SVD++ (Koren 2008)."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def svdpp_epoch(
    indptr, indices, values, weights, order, mean, rate, reg, user_bias, item_bias, user_factors, item_factors, implicit
):
    """Run once over all ratings, user after user in the given order; return the weighted squared error met on the way.

    The prediction is mean + b_u + b_i + q_i . (p_u + |N(u)|^-1/2 sum_{j in N(u)} y_j). A user's implicit sum is made
    once, followed through that user's ratings, and its gradient handed to the y_j at the end of the user.
    """
    size = user_factors.shape[1]
    weighted = weights.size > 0
    total = np.empty(size)
    change = np.empty(size)
    error = 0.0
    for position in range(order.size):
        u = order[position]
        begin, end = indptr[u], indptr[u + 1]
        if begin == end:
            continue
        norm = 1.0 / np.sqrt(end - begin)
        p = user_factors[u]
        total[:] = 0.0
        change[:] = 0.0
        for k in range(begin, end):
            y = implicit[indices[k]]
            for d in range(size):
                total[d] += y[d]
        for d in range(size):
            total[d] *= norm
        for k in range(begin, end):
            i = indices[k]
            q = item_factors[i]
            guess = mean + user_bias[u] + item_bias[i]
            for d in range(size):
                guess += q[d] * (p[d] + total[d])
            w = weights[k] if weighted else 1.0
            e = values[k] - guess
            error += w * e * e
            step = rate
            if w != 1.0:
                # A weight of n is n steps one after another: each shrinks the error by rate times the squared length of
                # the gradient, so that together they cannot leap over the rating however large n is.
                squares = 2.0
                for d in range(size):
                    squares += 2.0 * q[d] * q[d] + (p[d] + total[d]) * (p[d] + total[d])
                step = -np.expm1(w * np.log1p(-min(rate * squares, 1.0))) / squares
            user_bias[u] += step * (e - reg * user_bias[u])
            item_bias[i] += step * (e - reg * item_bias[i])
            for d in range(size):
                old = q[d]
                q[d] += step * (e * (p[d] + total[d]) - reg * old)
                p[d] += step * (e * old - reg * p[d])
                # The share of this rating in every y_j, applied to the running sum and remembered for the y_j.
                push = step * e * old * norm
                change[d] += push
                total[d] += push / norm
        for k in range(begin, end):
            y = implicit[indices[k]]
            for d in range(size):
                y[d] += change[d] - rate * reg * (end - begin) * y[d]
    return error
