"""The counter-examples to what the paper says."""

import numpy as np
import pytest

from kolmogorov.paper.printed import EXAMPLE
from kolmogorov.paper.theory.errata import ERRATA


@pytest.mark.parametrize("name", ERRATA)
def test_the_counter_example_works(name):
    assert ERRATA[name].check() is True


def test_the_printed_example_gives_the_printed_numbers():
    p = np.array(EXAMPLE["theta"]) @ np.array(EXAMPLE["psi"]).T
    np.testing.assert_allclose(p, [[0.8, 0.4], [0.7, 0.6]])
