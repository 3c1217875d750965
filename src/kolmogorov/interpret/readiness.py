"""Users' general readiness to say yes: a logistic model of both margins, and how far pairs of answers depart from it.

The chance of a yes is 1 / (1 + exp(-(a_u + b_i))). `r` is a yes (1) or no (0) less its chance p, `v` is p (1 - p), and
V_u the sum of a user's v. The exponential of a sum is a product: where all entries are gone through, exp(-a) and
exp(-b) are computed once for each user and item. Given how often a user says yes in all, two of the user's answers vary
together by -s_A s_B, s = v / sqrt(V_u - v): who says yes to one has one yes less to give to the others. (Exact where a
user is as ready to say yes to one item as to another.)
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel

_TINY = 1e-9
# A Newton step goes no further than this, and takes no curvature for less than that.
_FURTHEST, _FLATTEST = 1.0, 1e-3


@kernel
def chance(x):
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


@kernel
def fit_margins(indptr, indices, wanted, against, first, last, mine, moved):
    """Take a Newton step for the rows first..last towards the sums of yes that are wanted.

    `against` is exp(-x) of the readiness x of their partners. Written is how far it went, in standard errors. Rows
    where nan is wanted stay as they are.
    """
    for row in range(first, last):
        if np.isnan(wanted[row]):
            continue
        total, slope, own = 0.0, 0.0, np.exp(-mine[row])
        for e in range(indptr[row], indptr[row + 1]):
            p = 1.0 / (1.0 + own * against[indices[e]])
            total += p
            slope += p * (1.0 - p)
        step = (wanted[row] - total) / max(slope, _FLATTEST)
        step = min(max(step, -_FURTHEST), _FURTHEST)
        mine[row] += step
        moved[row] = abs(step) * np.sqrt(slope)


@kernel
def sum_variances(indptr, indices, users, items, first, last, out):
    """Write to out[a, b, u] how the yes's of user u to thresholds a and b vary together, summed over the items seen.

    `users` and `items` are exp(-x) of their readiness x.
    """
    n = users.shape[0]
    for u in range(first, last):
        for a in range(n):
            for b in range(a, n):
                total = 0.0
                for e in range(indptr[u], indptr[u + 1]):
                    i = indices[e]
                    # Who reaches the higher threshold reaches the lower.
                    p = 1.0 / (1.0 + users[a, u] * items[a, i])
                    total += (1.0 - p) / (1.0 + users[b, u] * items[b, i])
                out[a, b, u] = out[b, a, u] = max(total, _TINY)


@kernel
def departures(columns, rows, residuals, variances, skews, shares, begin, first, last, sums, spreads, thirds):
    """Sum, over the users seen with both items, by how much their answers go together more than readiness makes them.

    For the item begin + k, k = first..last, and every later item i: sums[k, i] is the sum of r r + s s, spreads[k,
    i] that of its variances v v, and thirds[k, i] that of its third moments w w, w = v (1 - 2 p). `columns` and `rows`
    are (indptr, indices); the other arguments are pairs of what belongs to each entry by columns and by rows: r, v, w
    and s. The outputs come zeroed.
    """
    for k in range(first, last):
        for e in range(columns[0][begin + k], columns[0][begin + k + 1]):
            u = columns[1][e]
            r, v, w, s = residuals[0][e], variances[0][e], skews[0][e], shares[0][e]
            f = rows[0][u + 1] - 1
            while rows[1][f] > begin + k:
                i = rows[1][f]
                sums[k, i] += r * residuals[1][f] + s * shares[1][f]
                spreads[k, i] += v * variances[1][f]
                thirds[k, i] += w * skews[1][f]
                f -= 1


@kernel
def describe_entries(rows, reached, users, items, variance, out):
    """Write r, v, w and s of every entry to out[0..3]; `rows` are (indptr, indices)."""
    indptr, indices = rows
    against = np.exp(-items)
    for u in range(len(indptr) - 1):
        own = np.exp(-users[u])
        for f in range(indptr[u], indptr[u + 1]):
            p = 1.0 / (1.0 + own * against[indices[f]])
            v = p * (1.0 - p)
            out[0, f] = (reached[f] > 0) - p
            out[1, f] = v
            out[2, f] = v * (1.0 - 2.0 * p)
            out[3, f] = v / np.sqrt(max(variance[u] - v, _TINY))


@kernel
def departures_of(chosen, columns, reached, users, items, variance, rows, described, sums, spreads, thirds):
    """Do what `departures` does for some items and all others: sums[k, i] is that of chosen[k] and i.

    `described` is what `describe_entries` says of the entries by rows.
    """
    for k in range(len(chosen)):
        for e in range(columns[0][chosen[k]], columns[0][chosen[k] + 1]):
            u = columns[1][e]
            p = chance(users[u] + items[chosen[k]])
            v = p * (1.0 - p)
            r, w, s = (reached[e] > 0) - p, v * (1.0 - 2.0 * p), v / np.sqrt(max(variance[u] - v, _TINY))
            for f in range(rows[0][u], rows[0][u + 1]):
                i = rows[1][f]
                sums[k, i] += r * described[0, f] + s * described[3, f]
                spreads[k, i] += v * described[1, f]
                thirds[k, i] += w * described[2, f]


@kernel
def compare_pairs(pairs, place, columns, reached, users, items, variance, room, first, last, tables, sums):
    """Count the pairs first..last, and sum what readiness alone would make of them.

    `pairs` are (left, right, threshold of left, threshold of right); an answer is yes where it reaches more thresholds
    than that number. tables[r] is (no to both, no to left and yes to right, yes to left and no to right, yes to both)
    among the users observed with both items. sums[r] is: r r + s s, its variance and third moment (see
    `departures`), the chances of yes to right among those who said no, and yes, to left; those of left among those who
    said no, and yes, to right. `room` is -1 for every user, and is left so. Pairs with the same left item should follow
    each other.
    """
    left, right, left_at, right_at = pairs
    indptr, indices = columns
    marked = -1
    for r in range(first, last):
        j, i, a, b = place[left[r]], place[right[r]], left_at[r], right_at[r]
        if j != marked:
            if marked >= 0:
                for e in range(indptr[marked], indptr[marked + 1]):
                    room[indices[e]] = -1
            if j >= 0:
                for e in range(indptr[j], indptr[j + 1]):
                    room[indices[e]] = e
            marked = j
        tables[r] = 0
        sums[r] = 0.0
        if j < 0 or i < 0:
            continue
        for f in range(indptr[i], indptr[i + 1]):
            u = indices[f]
            e = room[u]
            if e < 0:
                continue
            x, y = int(reached[e] > a), int(reached[f] > b)
            p, q = chance(users[a, u] + items[a, j]), chance(users[b, u] + items[b, i])
            v, w = p * (1.0 - p), q * (1.0 - q)
            own, other = variance[a, a, u], variance[b, b, u]
            # Between different thresholds, as far as the numbers of yes to them go together.
            together = variance[a, b, u] / np.sqrt(own * other)
            together *= v * w / np.sqrt(max(own - v, _TINY) * max(other - w, _TINY))
            tables[r, 2 * x + y] += 1
            sums[r, 0] += (x - p) * (y - q) + together
            sums[r, 1] += v * w
            sums[r, 2] += v * w * (1.0 - 2.0 * p) * (1.0 - 2.0 * q)
            sums[r, 3 + x] += q - together / p if x else q + together / (1.0 - p)
            sums[r, 5 + y] += p - together / q if y else p + together / (1.0 - q)
    if marked >= 0:
        for e in range(indptr[marked], indptr[marked + 1]):
            room[indices[e]] = -1
