"""Bayesian factorisation machines (myfm) with what draws know: ids, and who rated what in the training part."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import sparse

from kolmogorov import Observations
from kolmogorov.descent.fitted import entry_rows

os.environ.setdefault("TQDM_DISABLE", "1")  # myfm's progress
#: Iterations, and how many of the last are averaged.
ITERATIONS, KEPT = 500, 400


def predicted(train: Observations, test: Observations, rank: int, seed: int, *, pattern: bool, ordered: bool) -> Any:
    """Return ratings of the test part; `ordered` learns an ordered probit model of them instead of a regression.

    With yes and no they are probabilities, of a probit model.
    """
    from myfm import MyFMClassifier, MyFMOrderedProbit, MyFMRegressor

    known, asked, sizes = blocks(train, test, pattern=pattern)
    nothing = sparse.csr_matrix((len(train), 0)), sparse.csr_matrix((len(test), 0))
    options: dict[str, Any] = {"n_iter": ITERATIONS, "n_kept_samples": KEPT, "group_shapes": sizes, "X_rel": known}
    answers = train.scale.rating(train.values)
    if train.is_binary:
        model = MyFMClassifier(rank=rank, random_seed=seed).fit(nothing[0], train.values > 0.5, **options)
        return model.predict_proba(nothing[1], X_rel=asked)
    if ordered:
        points, codes = np.unique(answers, return_inverse=True)
        machine = MyFMOrderedProbit(rank=rank, random_seed=seed).fit(nothing[0], codes, **options)
        return machine.predict_proba(nothing[1], X_rel=asked) @ points
    found = MyFMRegressor(rank=rank, random_seed=seed).fit(nothing[0], answers, **options)
    return np.clip(found.predict(nothing[1], X_rel=asked), train.scale.minimum, train.scale.maximum)


def blocks(train: Observations, test: Observations, *, pattern: bool) -> tuple[list[Any], list[Any], list[int]]:
    """Return what is known of users and of items, for both parts, and the sizes of the groups of columns.

    A user is known by an id and by the items rated, an item by an id and by its raters, each 1 / sqrt(how many). The
    last row is of those that the training part does not know.
    """
    from myfm import RelationBlock

    rated = sparse.csr_matrix(
        (np.ones(len(train)), (train.user_rows(), train.item_rows())), shape=(train.n_users, train.n_items)
    )
    sides, sizes = [], []
    for table in (rated, rated.T.tocsr()):
        counts = np.maximum(np.asarray(table.sum(axis=1)).ravel(), 1.0)
        parts = [sparse.identity(table.shape[0], format="csr")]
        if pattern:
            parts.append(sparse.diags(counts**-0.5) @ table)
        sizes += [part.shape[1] for part in parts]
        unknown = sparse.csr_matrix((1, sum(part.shape[1] for part in parts)))
        sides.append(sparse.vstack([sparse.hstack(parts), unknown]).tocsr())
    known, asked = [], []
    for found, places in ((known, (train.user_rows(), train.item_rows())), (asked, entry_rows(train, test))):
        for rows, side in zip(places, sides, strict=True):
            found.append(RelationBlock(np.where(rows < 0, side.shape[0] - 1, rows), side))
    return known, asked, sizes
