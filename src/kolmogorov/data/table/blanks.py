"""Tables in which only yes is recorded, with their noes: a blank is one."""

from __future__ import annotations

import numpy as np

from kolmogorov.data.table.observations import Observations

#: Cells of a table that is filled to count in it, at most: some hundred megabytes. By judgement.
_MOST_CELLS = 20_000_000


def has_only_yes(table: Observations) -> bool:
    """Tell whether a table records nothing but yes."""
    return bool((table.values == 1.0).all())


def with_noes(observations: Observations, training: Observations) -> Observations | None:
    """Return a table with its blanks as noes; None where it has too many cells.

    Users without any yes in the table are left out: nobody knows that they were asked. So are blanks for which the
    training data have a yes.

    Examples
    --------
    >>> yes = Observations.from_arrays(["ann", "ann", "bob"], ["tea", "rum", "rum"], [1, 1, 1])
    >>> with_noes(yes.subset(yes.user_rows() == 1), yes).values.tolist()
    [1.0, 0.0]
    >>> with_noes(yes.subset(np.array([True, False, False])), yes).values.tolist()
    [1.0]
    """
    n_users, n_items = observations.n_users, observations.n_items
    if n_users * n_items > _MOST_CELLS:
        return None
    kept = np.zeros((n_users, n_items), dtype=bool)
    kept[observations.rows.counts > 0] = True
    if training is not observations:
        users, items = (
            np.append(there.translate(here), -1)
            for there, here in ((observations.users, training.users), (observations.items, training.items))
        )
        rows, columns = users[training.user_rows()], items[training.item_rows()]
        both = (rows >= 0) & (columns >= 0)
        kept[rows[both], columns[both]] = False
        kept[observations.user_rows(), observations.item_rows()] = True
    return observations.filled().subset(kept.ravel())
