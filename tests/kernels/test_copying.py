"""Rows into rows."""

import numpy as np

from kolmogorov.solvers.copying import copy_to


def test_only_the_row_is_written(rng):
    table, x = rng.random((3, 5)), rng.random(5)
    expected = table.copy()
    expected[1] = x
    copy_to(table[1], x)
    np.testing.assert_array_equal(table, expected)
