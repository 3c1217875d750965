"""Attributes in words: what somebody is by them, and what they mean for events."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kolmogorov.data.attributes import Attribute
from kolmogorov.descent.attributes import Placing
from kolmogorov.interpret.attributes import by_attributes, event_attributes, telling_attributes

GENRES = Attribute.of("genres", ["Drama|War", "War", "Horror|Drama", "Horror"] * 5)
JOB = Attribute.of("job", ["nurse", "cook"] * 10)
AGE = Attribute.of("age", list(range(20, 40)))
SMOKES = Attribute.of("smokes", [True, False] * 10)


def placing(columns, rng, rows=1, n_events=3):
    """Return what columns say of a model with so many events, and a row of theirs."""
    width = sum(len(column.columns) for column in columns)
    drawn = 0.1 * rng.standard_normal((20, width, n_events)) + 0.2
    slopes = rng.standard_normal((20, 1 + width, n_events)).mean(axis=0)
    effects = np.stack([drawn.mean(axis=0), *np.quantile(drawn, (0.05, 0.95), axis=0)])
    return Placing(columns, slopes, np.zeros((rows, width)), np.arange(rows), np.eye(n_events), effects)


def model(users=None, items=None, n_events=3):
    """Return as much of a model as is asked: a user and an item, each of row 0."""
    theta, psi = np.full((2, n_events), 1.0 / n_events), np.full((2, n_events), 0.5)
    return SimpleNamespace(
        user_attributes=users, item_attributes=items, theta_or_population=theta, psi_or_average=psi, n_events=n_events
    )


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        (GENRES, "War|Drama", ["Drama (genres)", "War (genres)", "no other genres"]),
        (GENRES, ["Drama", "War", "Horror"], ["Drama (genres)", "Horror (genres)", "War (genres)"]),
        (GENRES, ["Western"], ["no genres"]),
        (GENRES, None, []),
        (JOB, "nurse", ["nurse (job)"]),
        (JOB, "pilot", ["another (job)"]),
        (AGE, 31, ["age 31"]),
        (SMOKES, False, ["not smokes"]),
    ],
)
def test_what_somebody_is_by_attributes(column, cell, words):
    side = placing((column,), np.random.default_rng(0)).with_rows(np.array([0]), column.encode([cell]))
    found = by_attributes(model(users=side), 0, 0, 0.4)
    assert sorted(part.words for part in found.parts) == sorted(words)
    np.testing.assert_allclose(found.base + sum(part.amount for part in found.parts) + found.rest, 0.4)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0))
def test_parts_are_what_each_attribute_changes(seed, probability):
    rng = np.random.default_rng(seed)
    columns = (GENRES, JOB, AGE)
    values = np.hstack([column.encode([cell]) for column, cell in zip(columns, ("War", "cook", 25), strict=True)])
    side = placing(columns, rng).with_rows(np.array([0]), values)
    read = model(items=side)
    found = by_attributes(read, 0, 0, probability)
    without = values.copy()
    without[:, 3:5] = 0.0
    job = (side.said(values) - side.said(without))[0] @ read.theta_or_population[0]
    (part,) = (part for part in found.parts if part.attribute == "job")
    np.testing.assert_allclose(part.amount, job, atol=1e-12)
    np.testing.assert_allclose(found.base, side.slopes[0] @ read.theta_or_population[0])
    assert by_attributes(model(), 0, 0, probability) is None
    assert by_attributes(read, 0, 1, probability) is None


@given(st.integers(0, 2**32 - 1))
def test_neither_side_comes_first_where_both_are_new(seed):
    """Parts are the means over both orders, and add up to what attributes say of the pair."""
    rng = np.random.default_rng(seed)
    values = np.hstack([GENRES.encode(["War"]), AGE.encode([25])]), np.hstack([JOB.encode(["cook"]), AGE.encode([40])])
    items = placing((GENRES, AGE), rng).with_rows(np.array([0]), values[0])
    users = placing((JOB, AGE), rng).with_rows(np.array([0]), values[1])
    theta, psi = users.said(values[1]), items.said(values[0])
    read = model(users=users, items=items)
    read.theta_or_population[:1], read.psi_or_average[:1] = theta, psi
    found = by_attributes(read, 0, 0, float(theta[0] @ psi[0]))
    np.testing.assert_allclose(found.rest, 0.0, atol=1e-9)
    first, last = users.slopes[0], items.slopes[0]
    job = values[1][0, : len(JOB.columns)] @ users.slopes[1 : 1 + len(JOB.columns)]
    (part,) = (part for part in found.parts if part.attribute == "job")
    np.testing.assert_allclose(part.amount, (job @ last + job @ psi[0]) / 2.0, atol=1e-12)
    genres = values[0][0, : len(GENRES.columns)] @ items.slopes[1 : 1 + len(GENRES.columns)]
    told = sum(part.amount for part in found.parts if part.attribute == "genres")
    np.testing.assert_allclose(told, (genres @ first + genres @ theta[0]) / 2.0, atol=1e-12)


def test_events_are_told_what_draws_agree_on():
    rng = np.random.default_rng(0)
    side = placing((JOB, AGE), rng)
    side.effects[:, :2] = np.array([0.1, 0.05, 0.2])[:, None, None] * np.array([[1.0], [-1.0]])
    side.effects[:, 2] = np.array([-0.1, -0.3, 0.01])[:, None]
    side.effects[1:, 1] = side.effects[2:0:-1, 1]
    read = model(users=side)
    told = telling_attributes(read)
    assert [[one.words for one in event] for event in told] == [["more cook (job)"]] * 3
    assert told[0][0].low == pytest.approx(0.05 / JOB.scale)
    by_name = {(one.event, one.attribute): one for one in event_attributes(read)}
    assert not by_name[0, "age"].is_sure
    assert by_name[0, "age"].words == "lower age"
    assert by_name[2, "job: nurse"].words == "fewer nurse (job)"
    # Having it or not, not one standard deviation of it.
    assert by_name[0, "job: cook"].effect == pytest.approx(0.1 / JOB.scale)
    assert by_name[0, "age"].effect == pytest.approx(-0.1)
