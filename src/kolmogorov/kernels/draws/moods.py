"""Moods: an Ornstein-Uhlenbeck process for every user over time, drawn and told by Kalman filters.

A user's answers in the order of their times are mood + noise. The mood has the mean 0 and one variance; between two
moments its correlation is 2 ** (-gap / half_life). All costs grow with the number of answers.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel
from kolmogorov.kernels.randomness import fill_normal

#: Variances whose logarithms are taken together: their product must be a number. By judgement.
_AT_ONCE = 8


@kernel
def remaining(indptr, indices, values, weights, theta, psi, moments, heavy, first, last, out):
    """Add up what models leave of the answers of some rows: the (weighted) mean at each moment, whose weight is heavy.

    `moments` are the places in `out` of all answers, and `out` begins with zeros.
    """
    size = theta.shape[1]
    for row in range(first, last):
        for k in range(indptr[row], indptr[row + 1]):
            total = values[k]
            for d in range(size):
                total -= theta[row, d] * psi[indices[k], d]
            out[moments[k]] += total * ((weights[k] if weights.size else 1.0) / heavy[moments[k]])


@kernel
def _filtered(answers, times, weights, noise, variance, half_life, mean, spread, decay):
    """Write a row's mood after each answer, mean and variance given those up to it, and how it decayed before."""
    rate = np.log(2.0) / half_life
    m, p = 0.0, variance
    for k in range(answers.size):
        decay[k] = 1.0
        if k and times[k] != times[k - 1]:
            d = np.exp(-rate * abs(times[k] - times[k - 1]))
            decay[k] = d
            m = d * m
            p = variance + d * d * (p - variance)
        s = noise
        if weights.size:
            s /= weights[k]
        gain = p / (p + s)
        m += gain * (answers[k] - m)
        p = gain * s
        mean[k], spread[k] = m, p


@kernel
def mood_densities(indptr, answers, times, weights, noise, variance, half_life, first, last, out):
    """Write the logarithm of the density of each row's answers, its mood summed out and its constant left out."""
    rate = np.log(2.0) / half_life
    for row in range(first, last):
        squares, logs, product = 0.0, 0.0, 1.0
        m, p = 0.0, variance
        begin, end = indptr[row], indptr[row + 1]
        for k in range(begin, end):
            if k > begin and times[k] != times[k - 1]:
                d = np.exp(-rate * (times[k] - times[k - 1]))
                m = d * m
                p = variance + d * d * (p - variance)
            s = noise[row]
            if weights.size:
                s /= weights[k]
            whole, miss = p + s, answers[k] - m
            inverse = 1.0 / whole
            squares += miss * miss * inverse
            # One logarithm for several: it takes longer than all the rest.
            product *= whole
            if (k - begin) % _AT_ONCE == _AT_ONCE - 1:
                logs += np.log(product)
                product = 1.0
            p *= inverse
            m += p * miss
            p *= s
        out[row] = -0.5 * (squares + logs + np.log(product))


@kernel
def draw_moods(indptr, answers, times, weights, noise, variance, half_life, seeds, first, last, out):
    """Draw the mood of some rows at each answer: a filter forwards, then draws backwards, each given the next."""
    widest = 0
    for row in range(first, last):
        widest = max(widest, indptr[row + 1] - indptr[row])
    mean, spread, decay, z = np.empty(widest), np.empty(widest), np.empty(widest), np.empty(widest)
    for row in range(first, last):
        begin, end = indptr[row], indptr[row + 1]
        n = end - begin
        if n == 0:
            continue
        heavy = weights[begin:end] if weights.size else weights
        _filtered(
            answers[begin:end],
            times[begin:end],
            heavy,
            noise[row],
            variance,
            half_life,
            mean[:n],
            spread[:n],
            decay[:n],
        )
        fill_normal(seeds[row - first], z[:n])
        drawn = mean[n - 1] + np.sqrt(spread[n - 1]) * z[n - 1]
        out[end - 1] = drawn
        for k in range(n - 2, -1, -1):
            # At the same moment the mood is the same.
            if times[begin + k + 1] != times[begin + k]:
                d = decay[k + 1]
                gain = d * spread[k] / (variance + d * d * (spread[k] - variance))
                drawn = mean[k] + gain * (drawn - d * mean[k])
                drawn += np.sqrt(max(spread[k] * (1.0 - gain * d), 0.0)) * z[k]
            out[begin + k] = drawn


@kernel
def _towards(mean, spread, gap, variance, half_life):
    """Return mean and variance of a mood a while away from where they are known."""
    decay = np.exp(-np.log(2.0) / half_life * gap)
    return decay * mean, variance + decay * decay * (spread - variance)


@kernel
def tell_moods(answers, times, weights, noise, variance, half_life, asked, mean, spread):
    """Write mean and variance of one row's mood at the moments `asked`, which increase, given all of its answers.

    Answers before and after a moment are told by two filters; each of them knows the prior, which counts once.
    """
    n = answers.size
    before, before_spread, after, after_spread = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    decay = np.empty(n)
    _filtered(answers, times, weights, noise, variance, half_life, before, before_spread, decay)
    _filtered(answers[::-1], times[::-1], weights[::-1], noise, variance, half_life, after, after_spread, decay)
    next_ = 0
    for q in range(asked.size):
        while next_ < n and times[next_] <= asked[q]:
            next_ += 1
        a, p, b, s = 0.0, variance, 0.0, variance
        if next_ > 0:
            gap = asked[q] - times[next_ - 1]
            a, p = _towards(before[next_ - 1], before_spread[next_ - 1], gap, variance, half_life)
        if next_ < n:
            gap = times[next_] - asked[q]
            b, s = _towards(after[n - 1 - next_], after_spread[n - 1 - next_], gap, variance, half_life)
        # Never less sure than the prior, whatever rounding makes of it.
        spread[q] = 1.0 / max(1.0 / p + 1.0 / s - 1.0 / variance, 1.0 / variance)
        mean[q] = spread[q] * (a / p + b / s)


@kernel
def moods_at(table, drawn, users, places, asked, first, last, mean, spread):
    """Write mean and variance of moods in every draw, [n_asked, n_draws], for the rows users[first:last].

    The `table` has its entries in the order of times within each row, `drawn` are the numbers of all draws. What is
    asked of users[j] lies at places[j] to places[j + 1] of `asked`, in the order of times too.
    """
    indptr, indices, answers, times, weights = table
    theta, psi, noise, variance, half_life = drawn
    size = theta.shape[2]
    for j in range(first, last):
        row = users[j]
        begin, end = indptr[row], indptr[row + 1]
        part = slice(places[j], places[j + 1])
        n_asked = places[j + 1] - places[j]
        left, when = np.empty(end - begin), times[begin:end]
        heavy = weights[begin:end] if weights.size else weights
        told, sure = np.empty(n_asked), np.empty(n_asked)
        for k in range(theta.shape[0]):
            for n in range(end - begin):
                total = answers[begin + n]
                for d in range(size):
                    total -= theta[k, row, d] * psi[k, indices[begin + n], d]
                left[n] = total
            tell_moods(left, when, heavy, noise[k, row], variance[k], half_life[k], asked[part], told, sure)
            for n in range(n_asked):
                mean[places[j] + n, k] = told[n]
                spread[places[j] + n, k] = sure[n]
