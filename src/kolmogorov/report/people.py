"""Users of the report: their events, their most probable items, and the rule that leads to each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kolmogorov.data import Vocabulary
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret import Evidence
from kolmogorov.interpret.evidence import says_yes

_TOP = 10
_LIKED = 8
#: Probabilities held at once when users are gone through in blocks.
_BLOCK = 1 << 22


def people(fitted: Fitted, implied: Evidence, likes: float, max_users: int) -> dict[str, Any]:
    """Describe the users with most observations.

    Parameters
    ----------
    fitted : Fitted
    implied : Evidence
        Implications, with their strength on the training data.
    likes : float
    max_users : int
    """
    counts = fitted.user_counts
    rows = np.argsort(-counts, kind="stable")[: min(max_users, int((counts > 0).sum()))]
    rows = np.sort(rows)
    names = shown_names(fitted.users)
    items, chances = _best(fitted, rows)
    liked = _liked(fitted, likes)
    reasons = _reasons(liked[rows], items, implied, len(fitted.items))
    return {
        "n_all": int((counts > 0).sum()),
        "names": [names[row] for row in rows.tolist()],
        "counts": counts[rows].tolist(),
        "theta": np.rint(1000 * fitted.theta[rows]).astype(int).tolist(),
        "items": items.tolist(),
        "chances": np.rint(1000 * chances).astype(int).tolist(),
        "reasons": reasons.tolist(),
        "liked": [_favourites(fitted, row, likes) for row in rows.tolist()],
    }


def shown_names(vocabulary: Vocabulary) -> list[str]:
    """Return every row's name; where several have the same, or none, the id follows."""
    names = [vocabulary.name(row) for row in range(len(vocabulary))]
    often = Counter(names)
    return [
        f"{name} [{identifier}]" if often[name] > 1 or not name.strip() else name
        for name, identifier in zip(names, vocabulary.ids.tolist(), strict=True)
    ]


def _best(fitted: Fitted, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the most probable items that each user was not observed with; ties by observations."""
    n = len(fitted.items)
    popular = fitted.item_counts
    psi = fitted.psi[:, :].astype(np.float64)
    top = min(_TOP, n)
    items = np.empty((len(rows), top), dtype=np.int64)
    chances = np.empty((len(rows), top))
    nudge = popular / (popular.max() + 1.0) * 1e-9
    for first in range(0, len(rows), max(1, _BLOCK // n)):
        part = rows[first : first + max(1, _BLOCK // n)]
        chance = fitted.theta[part] @ psi.T + nudge
        chance[:, popular == 0] = -1.0
        for k, row in enumerate(part.tolist()):
            chance[k, fitted.seen_by(row)] = -1.0
        order = np.argsort(-chance, axis=1, kind="stable")[:, :top]
        items[first : first + len(part)] = order
        chances[first : first + len(part)] = np.take_along_axis(chance, order, axis=1)
    items[chances < 0] = -1
    return items, np.clip(chances, 0.0, 1.0)


def _liked(fitted: Fitted, likes: float) -> Any:
    yes = says_yes(fitted.training.values, likes)
    shape = (len(fitted.users), len(fitted.items))
    rows = fitted.training.rows
    table = csr_array((yes.astype(np.float64), rows.indices.copy(), rows.indptr.copy()), shape=shape)
    table.eliminate_zeros()
    return table


def _reasons(liked: Any, items: NDArray[np.int64], implied: Evidence, n: int) -> NDArray[np.int64]:
    """Find, for each user and item, the liked item that implies it by the strongest rule; -1 where there is none."""
    some = implied.strength > 0  # nan, where nothing was seen, is not
    weights = csr_array((implied.strength[some], (implied.consequent[some], implied.antecedent[some])), shape=(n, n))
    reasons = np.full(items.shape, -1, dtype=np.int64)
    for k in range(items.shape[1]):
        known = np.flatnonzero(items[:, k] >= 0)
        found = liked[known] * weights[items[known, k]]
        best = np.asarray(found.argmax(axis=1)).ravel()
        reasons[known, k] = np.where(found.max(axis=1).toarray().ravel() > 0, best, -1)
    return reasons


def _favourites(fitted: Fitted, row: int, likes: float) -> list[int]:
    values, items = fitted.answers_of(row), fitted.seen_by(row)
    order = np.argsort(-values, kind="stable")[:_LIKED]
    return [int(items[k]) for k in order if says_yes(values[k], likes)]
