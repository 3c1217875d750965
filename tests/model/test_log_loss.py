"""One model says no certainty that it does not have: its log loss is below that of item means."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.data import datasets
from kolmogorov.models.metrics import evaluate, simple_guesses


def yes_no_tables():
    """Return a table of yes and no, and those of more values cut at a like, which people do as well."""
    found = {}
    for name in ("zoo", "food", "digits"):
        table = datasets.load(name)
        if not table.is_binary:
            table = km.Observations.from_arrays(
                table.user_rows(), table.item_rows(), (table.values >= 0.5).astype(float), maximum=1
            )
        found[name] = table
    return found


TABLES = yes_no_tables()


@pytest.mark.parametrize("psi", ["binary", "soft"])
@pytest.mark.parametrize(
    "name",
    ["zoo", *(pytest.param(name, marks=pytest.mark.long("more kinds of models")) for name in ("food", "digits"))],
)
def test_log_loss_is_below_that_of_item_means(name, psi):
    train, test = TABLES[name].split(0.2, random_state=0)
    guess = simple_guesses(train, test.user_rows(), test.item_rows())["item means"]
    means = evaluate(test.values, guess, None, 1.0, binary=True)["log_loss"]
    ours = km.KolmogorovModel(psi=psi, random_state=0).fit(train).evaluate(test)["log_loss"]
    assert np.isfinite(ours)
    assert ours < means
