"""How often items go together: the Gram matrix of a sparse table, row by row."""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def gram_rows(by_users, by_items, first, last, out):
    """Write sum over users of x_ui x_uj, for the items i from `first` to `last` and all j, to `out`.

    `by_users` and `by_items` are (indptr, indices, values) of the same table in either order; `out` is
    float64[last - first, n_items]. An item's row is added up in the order of its users, whoever computes it.
    """
    indptr, partners, values = by_users
    starts, owners, own = by_items
    for item in range(first, last):
        row = out[item - first]
        row[:] = 0.0
        for place in range(starts[item], starts[item + 1]):
            user, value = owners[place], own[place]
            for other in range(indptr[user], indptr[user + 1]):
                row[partners[other]] += value * values[other]
