"""FiveThirtyEight's survey on the cuisines of 40 countries. Bundled; source and licence are beside the file."""

from __future__ import annotations

from kolmogorov.data.datasets.bundled import rows_of
from kolmogorov.data.table.observations import Observations

_ABOUT_PEOPLE = ("respondent", "knowledge", "interest", "gender", "age", "income", "education", "region")


def load_food() -> Observations:
    """Return how much respondents (users) like the cuisines of 40 countries (items), from 1 (hate) to 5 (love).

    Of 1,373 respondents 97 knew none of them.

    Examples
    --------
    >>> load_food()
    Observations: 23,943 of 1,276 users × 40 items (46.9% observed), p = r / 5
    """
    header, *people = rows_of("food.csv.xz")
    cuisines = [column for column, name in enumerate(header) if name not in _ABOUT_PEOPLE]
    cells = [(row[0], header[column], float(row[column])) for row in people for column in cuisines if row[column]]
    users, items, ratings = zip(*cells, strict=True)
    return Observations.from_arrays(users, items, ratings, maximum=5)
