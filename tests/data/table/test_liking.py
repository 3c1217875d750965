"""What a like is."""

import pytest

from kolmogorov import Observations
from kolmogorov.data.table.liking import least_like


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        ([5, 4, 4, 3, 3, 1], 0.8),
        ([5, 5, 5, 5, 5, 1], 1.0),
        ([0, 0, 0, 0, 0, 0], 1.0),
        ([5, 0, 5, 0, 0, 0], 1.0),
    ],
)
def test_at_most_about_half_of_the_ratings_are_likes(ratings, expected):
    table = Observations.from_arrays(range(6), ["tea"] * 6, ratings, minimum=0, maximum=5)
    assert least_like(table) == expected
