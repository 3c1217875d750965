"""What the items of a user say of all items, by the weights of links."""

from __future__ import annotations

from kolmogorov._support.jit import kernel


@kernel
def dense_link_scores(indptr, indices, values, rows, weights, out):
    """Write sum over the items j of a user of x_uj weights[j, i] to `out`, float64[n, n_items], for all i.

    `weights` is float32[n_items, n_items]. The row past the last user stands for somebody without items.
    """
    n_users = indptr.size - 1
    for place in range(rows.size):
        line = out[place]
        line[:] = 0.0
        if rows[place] >= n_users:
            continue
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            value, source = values[entry], weights[indices[entry]]
            for item in range(line.size):
                line[item] += value * source[item]


@kernel
def sparse_link_scores(indptr, indices, values, rows, links, out):
    """Write the sums of `dense_link_scores` where weights are (indptr, items, weights), those of each item in a row."""
    starts, targets, weights = links
    n_users = indptr.size - 1
    for place in range(rows.size):
        line = out[place]
        line[:] = 0.0
        if rows[place] >= n_users:
            continue
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            value, source = values[entry], indices[entry]
            for link in range(starts[source], starts[source + 1]):
                line[targets[link]] += value * weights[link]


@kernel
def dense_pair_scores(indptr, indices, values, users, items, weights, out):
    """Write sum over the items j of a user of x_uj weights[j, i] to `out` for aligned users and items i.

    Numbers past the last user or item stand for the unknown, of which nothing is said.
    """
    n_users, n_items = indptr.size - 1, weights.shape[0]
    for place in range(users.size):
        total = 0.0
        if users[place] < n_users and items[place] < n_items:
            for entry in range(indptr[users[place]], indptr[users[place] + 1]):
                total += values[entry] * weights[indices[entry], items[place]]
        out[place] = total


@kernel
def sparse_pair_scores(indptr, indices, values, users, items, links, out):
    """Write the sums of `dense_pair_scores` where weights are (indptr, items, weights), each row's items increasing."""
    starts, targets, weights = links
    n_users, n_items = indptr.size - 1, starts.size - 1
    for place in range(users.size):
        total, item = 0.0, items[place]
        if users[place] < n_users and item < n_items:
            for entry in range(indptr[users[place]], indptr[users[place] + 1]):
                low, end = starts[indices[entry]], starts[indices[entry] + 1]
                high = end
                while low < high:
                    middle = (low + high) // 2
                    if targets[middle] < item:
                        low = middle + 1
                    else:
                        high = middle
                if low < end and targets[low] == item:
                    total += values[entry] * weights[low]
        out[place] = total
