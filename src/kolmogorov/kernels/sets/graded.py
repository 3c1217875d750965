"""Nested supports held as bits: of two items, which threshold of the one implies which of the other.

The support of statement t of an item holds the events in which its value reaches threshold t; the higher the threshold,
the smaller the support. The first `full` of an item's statements hold in every event, those from `empty` on in none.
"""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def lies_inside(words, others, j, a, i, b):
    """Tell whether the support of statement a of item j lies in that of statement b of item i; `others` complement."""
    common = words[j, a, 0] & others[i, b, 0]
    for w in range(1, words.shape[2]):
        common |= words[j, a, w] & others[i, b, w]
    return common == 0


@kernel
def count_graded(words, others, full, empty, first, last, out):
    """Write to out[j] how many rules begin with item j, for the items first..last."""
    n, n_grades = words.shape[0], words.shape[1]
    for j in range(first, last):
        total = 0
        for i in range(n):
            if i == j:
                continue
            b = full[i]
            for a in range(full[j], empty[j]):
                reached = b
                while b < n_grades and lies_inside(words, others, j, a, i, b):
                    b += 1
                if b > reached:
                    total += 1
        out[j] = total


@kernel
def list_graded(words, others, full, empty, ends, first, last, offset, out):
    """Write the rules that begin with the items first..last to out: (item, statement, item, statement).

    For every statement a of j the highest b of i is found whose support holds that of a, and the rule is kept where no
    lower a has the same b: the others follow from it. Statements that hold always or never make none. The rules of item
    j end at ends[j] - offset.
    """
    n, n_grades = words.shape[0], words.shape[1]
    for j in range(first, last):
        k = ends[j - 1] - offset if j else 0
        for i in range(n):
            if i == j:
                continue
            b = full[i]
            for a in range(full[j], empty[j]):
                reached = b
                while b < n_grades and lies_inside(words, others, j, a, i, b):
                    b += 1
                if b > reached:
                    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = j, a, i, b - 1
                    k += 1
