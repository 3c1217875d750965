"""Logical relations counted over a whole table at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Observations


def influence(psi: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the paper's adjacency matrix N(i, j) = [supp psi_j ⊆ supp psi_i] and its influence scores."""
    real = psi.astype(np.float32)
    common = real @ real.T
    inside = common == psi.sum(axis=1)[None, :]
    return inside, inside.mean(axis=1)


def confidence(rules: NDArray[np.bool_], observations: Observations, likes: float) -> dict[str, float]:
    """Count rules "if j then i" (rules[j, i]) over users observed with both: pairs, confidence, base rate.

    The base rate is what the same consequents have among all who rated them, in the mix in which the rules ask.
    """
    from scipy.sparse import csr_array

    view = observations.rows
    shape = (observations.n_users, observations.n_items)
    yes = csr_array(((view.values >= likes).astype(np.float32), view.indices.copy(), view.indptr.copy()), shape=shape)
    seen = csr_array(
        (np.ones(len(observations), dtype=np.float32), view.indices.copy(), view.indptr.copy()), shape=shape
    )
    asked: Any = (yes.T @ seen).toarray()
    held: Any = (yes.T @ yes).toarray()
    rate = np.asarray(yes.sum(axis=0)).ravel() / np.maximum(np.asarray(seen.sum(axis=0)).ravel(), 1)
    total = float(asked[rules].sum())
    base = float((asked * rules * rate[None, :]).sum() / max(total, 1.0))
    return {"pairs": total, "confidence": float(held[rules].sum()) / max(total, 1.0), "base rate": base}
