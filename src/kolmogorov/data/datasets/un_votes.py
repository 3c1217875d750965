"""Votes of the United Nations' General Assembly since 2000. Bundled; source and licence are beside the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.typing import Floats
from kolmogorov.data.datasets.bundled import rows_of
from kolmogorov.data.reading.provenance import Provenance, TableLayout
from kolmogorov.data.table.observations import Observations

_RATINGS = {"n": 0.0, "a": 0.5, "y": 1.0}
_LAYOUT = TableLayout("arrays", {})
_WORDS = {"yes": 1.0, "abstain": 0.5, "no": 0.0}


def load_un_votes(since: int = 2000) -> Observations:
    """Return votes of 193 countries (users) on 1,862 motions (items): yes is 1, abstain 0.5 and no 0.

    Times are years, and the part of a year that had passed. Motions without a title on record go by their ids.

    Parameters
    ----------
    since : int
        First year of the motions.

    Examples
    --------
    >>> votes = load_un_votes(since=2015)
    >>> votes.n_users, votes.n_items, votes.items.name(2)
    (193, 507, 'Basic Principles on Sovereign Debt Restructuring Processes (2015)')
    >>> train, test = votes.split(by="time")
    """
    countries, motions, cells = _table(since)
    rows, columns = np.nonzero(cells != "-")
    ratings = [_RATINGS[letter] for letter in cells[rows, columns]]
    names = [motion for motion, *_ in motions]
    votes = Observations.from_arrays(countries[columns], np.array(names)[rows], ratings, maximum=1)
    when = _dates(motions)[np.argsort(votes.items.encode(names))]
    worded = Observations(votes.users, votes.items, votes.rows, votes.scale, Provenance(_LAYOUT, words=_WORDS))
    dated = worded.with_times(when[votes.item_rows()])
    return dated.with_titles(items={motion: title or motion for motion, _, title, _ in motions})


def _dates(motions: list[list[str]]) -> Floats:
    """Return when motions were voted on, as a year and the part of it that had passed."""
    days = np.array([date for _, date, _, _ in motions], dtype="datetime64[D]")
    years = days.astype("datetime64[Y]")
    return np.asarray(1970.0 + years.astype(np.int64) + (days - years).astype(np.float64) / 366.0)


def _table(since: int) -> tuple[NDArray[Any], list[list[str]], NDArray[Any]]:
    """Return the countries, the motions, and the letters of both, a row for each motion."""
    header, *motions = rows_of("un-votes.csv.xz")
    motions = [row for row in motions if int(row[1][:4]) >= since]
    return np.array(header[3].split("|")), motions, np.array([list(row[3]) for row in motions])
