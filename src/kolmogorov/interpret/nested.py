"""Nested supports held as bits: of two items, which statement of the one implies which of the other.

An item's statements are numbered so that the later one has the smaller support. Rules begin with the statements whose
supports are `words`, and end with those whose complements are `others`. Of the former the first `full` hold in every
event and those from `empty` on in none; of the latter the first `always` hold in every event.
"""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def lies_inside(words, others, j, a, i, b):
    """Tell whether the support of statement a of item j lies in that of statement b of item i."""
    common = words[j, a, 0] & others[i, b, 0]
    for w in range(1, words.shape[2]):
        common |= words[j, a, w] & others[i, b, w]
    return common == 0


@kernel
def add_rules(words, others, full, empty, always, j, k, out):
    """Write the rules that begin with item j to `out`, from row k on; return the row after the last.

    For every statement a of j the highest b of i is found whose support holds that of a, and the rule is kept where no
    lower a has the same b: the others follow from it. Statements that hold always or never make none. Where `out` has
    no rows, the rules are counted and not written.
    """
    for i in range(words.shape[0]):
        if i == j:
            continue
        b = always[i]
        for a in range(full[j], empty[j]):
            reached = b
            while b < words.shape[1] and lies_inside(words, others, j, a, i, b):
                b += 1
            if b > reached:
                if out.shape[0]:
                    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = j, a, i, b - 1
                k += 1
    return k


@kernel
def count_nested(words, others, full, empty, always, first, last, out):
    """Write to out[j] how many rules begin with item j, for the items first..last."""
    nothing = np.empty((0, 4), dtype=np.int64)
    for j in range(first, last):
        out[j] = add_rules(words, others, full, empty, always, j, 0, nothing)


@kernel
def list_nested(words, others, full, empty, always, ends, first, last, offset, out):
    """Write the rules that begin with the items first..last to out: (item, statement, item, statement).

    The rules of item j end at ends[j] - offset.
    """
    for j in range(first, last):
        add_rules(words, others, full, empty, always, j, ends[j - 1] - offset if j else 0, out)
