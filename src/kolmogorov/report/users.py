"""Users of the report: their events, their most probable items, and the rule that leads to each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Vocabulary
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.interpret.answers import reaching
from kolmogorov.interpret.reasons import reasons_for

_TOP = 10
_LIKED = 8
#: Probabilities held at once when users are gone through in blocks.
_BLOCK = 1 << 22


def users(fitted: Fitted, likes: float, max_users: int) -> dict[str, Any]:
    """Describe the users with most observations."""
    counts = fitted.user_counts
    rows = np.argsort(-counts, kind="stable")[: min(max_users, int((counts > 0).sum()))]
    rows = np.sort(rows)
    names = shown_names(fitted.users)
    items, chances = _best(fitted, rows)
    reasons = _reasons(fitted, rows, items, likes)
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


def _reasons(fitted: Fitted, rows: NDArray[np.int64], items: NDArray[np.int64], likes: float) -> NDArray[np.int64]:
    """Find, for each user and item, the liked item that implies it by the strongest rule; -1 where there is none."""
    reasons = np.full(items.shape, -1, dtype=np.int64)
    some = np.flatnonzero(items >= 0)
    users = np.repeat(rows, items.shape[1])[some]
    for found in reasons_for(fitted, users, items.ravel()[some], likes):
        met = found.rules.strength > 0  # nan, where nothing was seen, is not
        places, best = np.unique(found.place[met], return_index=True)
        reasons.flat[some[places]] = found.rules.antecedent[met][best]
    return reasons


def _favourites(fitted: Fitted, row: int, likes: float) -> list[int]:
    values, items = fitted.answers_of(row), fitted.seen_by(row)
    order = np.argsort(-values, kind="stable")[:_LIKED]
    return [int(items[k]) for k in order if reaching(values[k], likes)]
