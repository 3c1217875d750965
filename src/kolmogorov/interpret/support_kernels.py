"""Pairs of supports held as bits: which lie inside which, apart, or cover everything.

Each of these says that two sets are disjoint: a ⊆ b that a and b's complement are, "apart" that a and b are, "covering"
that their complements are. So the kernels take `x` and `y`, the sets or their complements, and test x[a] & y[b] == 0.
Classes of equal supports come sorted by size, so that a support can only lie inside a later one.
"""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def disjoint(x, y, a, b):
    """Tell whether x[a] and y[b] have no bit in common."""
    common = x[a, 0] & y[b, 0]
    for w in range(1, x.shape[1]):
        common |= x[a, w] & y[b, w]
    return common == 0


@kernel
def add_disjoint(x, y, left, right, mutual, out):
    """Add 1 to out[r] where x[left[r]] and y[right[r]] have no bit in common and, if mutual, x[right] and y[left]."""
    for r in range(left.size):
        if disjoint(x, y, left[r], right[r]) and (not mutual or disjoint(x, y, right[r], left[r])):
            out[r] += 1


@kernel
def count_related(x, y, weight, first, last, out):
    """Write to out[a] how many items lie in later classes that class `a` is related to."""
    for a in range(first, last):
        n = 0
        for b in range(a + 1, x.shape[0]):
            if disjoint(x, y, a, b):
                n += weight[b]
        out[a] = n


@kernel
def list_related(x, y, class_of, indptr, items, ends, first, last, offset, left, right):
    """Write all pairs (item, related item) for the items first..last of `items`, which are sorted by class.

    The pairs of an item end at ends[item] - offset.
    """
    for place in range(first, last):
        a = class_of[place]
        n = ends[place - 1] - offset if place else 0
        for b in range(a + 1, x.shape[0]):
            if disjoint(x, y, a, b):
                for other in range(indptr[b], indptr[b + 1]):
                    left[n], right[n] = items[place], items[other]
                    n += 1


@kernel
def list_covers(words, others, a, out):
    """Write the classes that cover class `a` in the order by inclusion; return their number.

    `others` are the complements. The classes that contain `a` come by size, so one that contains no cover found so
    far is itself a cover.
    """
    n = 0
    for b in range(a + 1, words.shape[0]):
        if not disjoint(words, others, a, b):
            continue
        minimal = True
        for c in range(n):
            if disjoint(words, others, out[c], b):
                minimal = False
                break
        if minimal:
            out[n] = b
            n += 1
    return n


@kernel
def reduce_order(words, others, first, last, lower, upper, room):
    """Write the pairs (class, class that covers it) for the classes from `first` on.

    Returns their number and the class to go on with: `last`, or the first whose pairs might not fit.
    """
    n = 0
    for a in range(first, last):
        if n + words.shape[0] > lower.shape[0] and a > first:
            return n, a
        for k in range(list_covers(words, others, a, room)):
            lower[n], upper[n] = a, room[k]
            n += 1
    return n, last


@kernel
def chain_levels(lower, upper, out):
    """Write each class's longest chain from a minimal class; the pairs come sorted by the lower class."""
    for k in range(lower.shape[0]):
        out[upper[k]] = max(out[upper[k]], out[lower[k]] + 1)
