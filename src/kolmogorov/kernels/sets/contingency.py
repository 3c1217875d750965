"""Many 2 × 2 tables: users counted by what they say to two items, and Fisher's exact test."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel

_HUGE = 1e200


@kernel
def count_tables(left, right, left_at, right_at, place, indptr, indices, reached, room, first, last, out):
    """Count, for the pairs first..last, the users observed with both items by what they say to each.

    An answer is yes where it reaches more than left_at[r] or right_at[r] thresholds. out[r] is (no to both, no to left
    and yes to right, yes to left and no to right, yes to both). Pairs with the same left item should follow each other.
    `room` is zeroed, with one place per user, and is left zeroed.
    """
    marked = -1
    for r in range(first, last):
        j, i = place[left[r]], place[right[r]]
        if j != marked:
            if marked >= 0:
                for e in range(indptr[marked], indptr[marked + 1]):
                    room[indices[e]] = 0
            if j >= 0:
                for e in range(indptr[j], indptr[j + 1]):
                    room[indices[e]] = 1 + reached[e]
            marked = j
        for k in range(4):
            out[r, k] = 0
        if j < 0 or i < 0:
            continue
        for e in range(indptr[i], indptr[i + 1]):
            said = room[indices[e]]
            if said:
                out[r, 2 * int(said - 1 > left_at[r]) + int(reached[e] > right_at[r])] += 1
    if marked >= 0:
        for e in range(indptr[marked], indptr[marked + 1]):
            room[indices[e]] = 0


@kernel
def log_factorials(n):
    """Return log k! for k = 0..n."""
    table = np.zeros(n + 1)
    for k in range(2, n + 1):
        table[k] = table[k - 1] + np.log(k)
    return table


@kernel
def fisher_greater(tables, log_factorial, out):
    """Write the probability of at least tables[r, 3] joint successes, given the margins, if the two were independent.

    A table is (no no, no yes, yes no, yes yes).
    """
    for r in range(tables.shape[0]):
        neither, second, first, both = tables[r, 0], tables[r, 1], tables[r, 2], tables[r, 3]
        first_log = (
            log_factorial[first + both]
            + log_factorial[neither + second]
            + log_factorial[second + both]
            + log_factorial[neither + first]
            - log_factorial[neither + second + first + both]
            - log_factorial[neither]
            - log_factorial[second]
            - log_factorial[first]
            - log_factorial[both]
        )
        # Terms relative to the first, which may be too small for a float while the sum is not.
        term, total = 1.0, 1.0
        # One more joint success moves one from each of the mixed cells.
        while first > 0 and second > 0:
            term *= first * second / ((both + 1.0) * (neither + 1.0))
            total += term
            if total > _HUGE:
                first_log += np.log(_HUGE)
                term, total = term / _HUGE, total / _HUGE
            both, neither, first, second = both + 1, neither + 1, first - 1, second - 1
        out[r] = min(np.exp(first_log + np.log(total)), 1.0)
