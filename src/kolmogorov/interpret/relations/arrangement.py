"""Where the classes of the order stand beside each other."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csgraph
from scipy.sparse.linalg import ArpackError, eigsh

from kolmogorov.interpret.relations.order import Order

#: Above this the diagram is only ever seen in small parts, and classes stand in the order of their numbers.
_MOST = 20_000
_DENSE = 64


def ranks(order: Order) -> list[int]:
    """Return each class's place from left to right, such that related classes stand near each other.

    The places are those of the spectral ordering: the second eigenvector of the graph's normalised Laplacian keeps the
    squared lengths of the edges small.
    """
    n = len(order)
    if n < 3 or n > _MOST or len(order.covers) == 0:
        return list(range(n))
    lower, upper = order.covers.T
    graph = coo_array((np.ones(len(lower)), (lower, upper)), shape=(n, n))
    laplacian = csgraph.laplacian((graph + graph.T).tocsr(), normed=True)
    vector = np.linalg.eigh(laplacian.toarray())[1][:, 1] if n <= _DENSE else _second(laplacian, n)
    places = np.empty(n, dtype=np.int64)
    places[np.argsort(vector, kind="stable")] = np.arange(n)
    return places.tolist()


def _second(laplacian: object, n: int) -> np.ndarray:
    start = np.random.default_rng(0).standard_normal(n)
    try:
        # Inverting a little below the smallest eigenvalue finds the smallest ones in few steps.
        return np.asarray(eigsh(laplacian, k=2, sigma=-1e-2, v0=start, tol=1e-6)[1][:, 1])
    except ArpackError:
        return np.arange(n, dtype=np.float64)
