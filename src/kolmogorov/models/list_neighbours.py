"""Weights between an item and its strongest neighbours: one small ridge regression for every item."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.jit import kernel


@kernel
def _strongest(together, touched, n_touched, squares, item, chosen):
    """Write the items with the largest cosine to `item` to `chosen`, best first, and return how many there are.

    Of equal cosines the smaller number comes first.
    """
    most, held = chosen.size, 0
    best = np.empty(most)
    for place in range(n_touched):
        other = touched[place]
        if other == item or together[other] <= 0.0:
            continue
        cosine = together[other] / np.sqrt(squares[other])
        if held == most and (cosine < best[most - 1] or (cosine == best[most - 1] and other > chosen[most - 1])):
            continue
        at = min(held, most - 1)
        while at > 0 and (best[at - 1] < cosine or (best[at - 1] == cosine and chosen[at - 1] > other)):
            best[at] = best[at - 1]
            chosen[at] = chosen[at - 1]
            at -= 1
        best[at], chosen[at] = cosine, other
        held = min(held + 1, most)
    return held


@kernel
def _gram_among(by_items, chosen, held, slots, members, profiles, gram):
    """Write the Gram matrix of the chosen items to `gram`, from the users who have any of them.

    `slots`, int64[n_users], is all -1 and is left so. `profiles` holds the values of one user at a time by the places
    of his chosen items, `members` who has a slot.
    """
    starts, owners, values = by_items
    n_members = 0
    gram[:held, :held] = 0.0
    for place in range(held):
        for entry in range(starts[chosen[place]], starts[chosen[place] + 1]):
            user = owners[entry]
            if slots[user] < 0:
                slots[user] = n_members
                members[n_members] = user
                profiles[n_members, :] = 0.0
                n_members += 1
            profiles[slots[user], place] = values[entry]
    for member in range(n_members):
        slots[members[member]] = -1
        for left in range(held):
            value = profiles[member, left]
            if value != 0.0:
                for right in range(left + 1):
                    gram[left, right] += value * profiles[member, right]


@kernel
def _solve_in_place(gram, moment, n):
    """Solve gram x = moment by Cholesky, where the lower triangle of gram is given; x replaces moment."""
    for i in range(n):
        for j in range(i + 1):
            total = gram[i, j]
            for k in range(j):
                total -= gram[i, k] * gram[j, k]
            gram[i, j] = np.sqrt(total) if i == j else total / gram[j, j]
    for i in range(n):
        for k in range(i):
            moment[i] -= gram[i, k] * moment[k]
        moment[i] /= gram[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            moment[i] -= gram[k, i] * moment[k]
        moment[i] /= gram[i, i]


@kernel
def neighbour_weights(by_users, by_items, squares, ridge, first, last, items, weights):
    """Regress each item from `first` to `last` on its strongest neighbours.

    Neighbours are those with the largest cosine of their columns; `squares` are the columns' squared lengths, `ridge`
    the ridge of each item. `items`, int32[last - first, K], gets the neighbours, -1 where there are fewer, and
    `weights`, float64[last - first, K], what they weigh.
    """
    indptr, partners, values = by_users
    starts, owners, own = by_items
    n_users, n_items, most = indptr.size - 1, starts.size - 1, items.shape[1]
    together, seen = np.zeros(n_items), np.zeros(n_items, dtype=np.bool_)
    touched, chosen = np.empty(n_items, dtype=np.int64), np.empty(most, dtype=np.int64)
    slots, members = np.full(n_users, -1, dtype=np.int64), np.empty(n_users, dtype=np.int64)
    profiles, gram, moment = np.empty((n_users, most)), np.empty((most, most)), np.empty(most)
    for item in range(first, last):
        n_touched = 0
        for place in range(starts[item], starts[item + 1]):
            user, value = owners[place], own[place]
            for other in range(indptr[user], indptr[user + 1]):
                partner = partners[other]
                if not seen[partner]:
                    seen[partner] = True
                    touched[n_touched] = partner
                    n_touched += 1
                together[partner] += value * values[other]
        held = _strongest(together, touched, n_touched, squares, item, chosen)
        _gram_among(by_items, chosen, held, slots, members, profiles, gram)
        for place in range(held):
            gram[place, place] += ridge[chosen[place]]
            moment[place] = together[chosen[place]]
        _solve_in_place(gram, moment, held)
        items[item - first, :] = -1
        for place in range(held):
            items[item - first, place] = chosen[place]
            weights[item - first, place] = moment[place]
        for place in range(n_touched):
            together[touched[place]] = 0.0
            seen[touched[place]] = False
