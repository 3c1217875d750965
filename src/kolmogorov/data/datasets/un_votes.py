"""Votes of the United Nations' General Assembly since 2000. Bundled; source and licence are beside the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.datasets.bundled import rows_of
from kolmogorov.data.table.observations import Observations

_RATINGS = {"n": 0.0, "a": 0.5, "y": 1.0}


def load_un_votes(since: int = 2000) -> Observations:
    """Return votes of 193 countries (users) on 1,862 motions (items): yes is 1, abstain 0.5 and no 0.

    Parameters
    ----------
    since : int
        First year of the motions.

    Examples
    --------
    >>> votes = load_un_votes(since=2015)
    >>> votes.n_users, votes.n_items, votes.items.name(2)
    (193, 507, 'Basic Principles on Sovereign Debt Restructuring Processes (2015)')
    """
    countries, motions, cells = _table(since)
    rows, columns = np.nonzero(cells != "-")
    ratings = [_RATINGS[letter] for letter in cells[rows, columns]]
    votes = Observations.from_arrays(
        countries[columns], np.array([row[0] for row in motions])[rows], ratings, maximum=1
    )
    return votes.with_titles(items={motion: title for motion, _, title, _ in motions})


def vote_dates(since: int = 2000) -> Floats:
    """Return when each vote of `load_un_votes` was cast, as a year and the part of it that had passed, in their order.

    Examples
    --------
    >>> train, test = load_un_votes(2015).split(by="time", times=vote_dates(2015))
    """
    votes, motions = load_un_votes(since), _table(since)[1]
    days = np.array([date for _, date, _, _ in motions], dtype="datetime64[D]")
    years = days.astype("datetime64[Y]")
    when = 1970.0 + years.astype(np.int64) + (days - years).astype(np.float64) / 366.0
    order = votes.items.encode([motion for motion, *_ in motions])
    return when[np.argsort(order)][votes.item_rows()]


def _table(since: int) -> tuple[NDArray[Any], list[list[str]], NDArray[Any]]:
    """Return the countries, the motions, and the letters of both, a row for each motion."""
    header, *motions = rows_of("un-votes.csv.xz")
    motions = [row for row in motions if int(row[1][:4]) >= since]
    return np.array(header[3].split("|")), motions, np.array([list(row[3]) for row in motions])
