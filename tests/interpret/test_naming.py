"""Events are named by what their people like more than everybody does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import kolmogorov as km
import naive
from helpers.strategies import tables
from kolmogorov.descent.fitted import Fitted, Pull
from kolmogorov.interpret.events import EventItems
from kolmogorov.interpret.explanation import explain
from kolmogorov.interpret.relations import Relations


def model_of(table, theta, psi=None):
    """A model whose users are where they are put; of its items half happen in an event, or those of `psi`."""
    size, theta = theta.shape[1], np.asarray(theta, dtype=float)
    psi = np.add.outer(np.arange(table.n_items), np.arange(size)) % 2 == 0 if psi is None else psi
    pull = Pull.even(np.full(size, 1 / size), 1.0)
    return Fitted(theta, psi, pull, pull, table, (), np.full(table.n_users, 0.1))


def two_kinds(*columns, n=10, titles=None):
    """The names of two events: the first kind of people answers 1 in columns of the first kind."""
    kind = np.repeat([0, 1], n)
    table = km.Observations.from_dense(np.column_stack([kind == k for k in columns]).astype(float))
    return EventItems(model_of(table.with_titles(items=titles) if titles else table, np.eye(2)[kind]))


@given(tables(weighted=False, trainable=True))
@settings(max_examples=40)
def test_scores_are_those_of_the_twin(table):
    fitted = model_of(table, np.random.default_rng(0).dirichlet(np.full(3, 0.5), table.n_users))
    found = EventItems(fitted)
    likes, expected = naive.likes_by_event(fitted)
    np.testing.assert_allclose(found.likes, likes, atol=1e-9)
    np.testing.assert_allclose(found.expected, expected, atol=1e-9)
    np.testing.assert_allclose(found.score, naive.telling_scores(fitted), atol=1e-9)
    for event in range(3):
        rows = found.best(event, 5)
        assert (np.diff(found.score[rows, event]) <= 1e-12).all()
        assert (found.likes[rows, event] > found.expected[rows, event]).all()


def test_what_one_kind_of_people_likes_names_their_event():
    """Three kinds of people, with three items each that only they like, and three that all like."""
    kind = np.repeat(np.arange(3), 20)
    values = np.zeros((60, 12))
    for k in range(3):
        values[np.ix_(kind == k, np.arange(3 * k, 3 * k + 3))] = 1.0
    values[:, 9:] = 1.0
    table = km.Observations.from_dense(values)
    named = EventItems(model_of(table, np.eye(3)[kind]))
    for event in range(3):
        assert sorted(named.best(event, 12).tolist()) == [3 * event, 3 * event + 1, 3 * event + 2]
    learned = km.KolmogorovModel(3, random_state=0).fit(table)
    assert {tuple(sorted(event.rows)) for event in learned.events(3)} == {(0, 1, 2), (3, 4, 5), (6, 7, 8)}


def test_what_is_rarely_seen_tells_less():
    """One like of a single person says less than forty of forty, though both are of one event alone."""
    kind, user = np.repeat([0, 1], 40), np.arange(80)
    entries = np.append(np.tile(user, 2), 0), np.append(np.repeat([0, 1], 80), 2)
    values = np.concatenate([kind == 0, kind == 1, [True]]).astype(float)
    named = EventItems(model_of(km.Observations.from_arrays(*entries, values), np.eye(2)[kind]))
    assert named.best(0, 3).tolist() == [0, 2]
    assert named.score[2, 0] < 0.2 * named.score[0, 0]


def test_names_are_distinct_and_those_of_a_model(zoo):
    for n_events in (3, 5, 8):
        model = km.KolmogorovModel(n_events, learn_from="ratings", random_state=0).fit(zoo)
        events, names = model.events(3), EventItems(model.fitted_).names()
        assert [event.name for event in events] == names
        assert len(set(names)) == n_events
        assert sum(event.share for event in events) == pytest.approx(1.0)
        assert [event.n_items for event in events] == model.psi_.sum(axis=0).tolist()
        assert [event.rows for event in events] == naive.telling_items(model.fitted_, 3)
        assert all(event.items == tuple(zoo.items.ids[list(event.rows)]) for event in events)
    drawn = km.BayesianKolmogorovModel(3, n_chains=1, burn_in=10, n_samples=4, random_state=0).fit(zoo)
    assert [event.rows for event in drawn.events(4)] == naive.telling_items(drawn._one_model, 4)


@pytest.mark.parametrize(
    ("columns", "titles", "names"),
    [
        ((0, 1), {0: "A" * 60, 1: "Bambi"}, ["A" * 27 + "…", "Bambi"]),
        # Of one title, and of none.
        ((0, 1, 1), {0: "Emma", 1: "Emma", 2: " "}, ["Emma", "Emma · 2"]),
        # An id tells nobody anything where others have titles.
        ((0, 0, 1), {1: "Bambi", 2: "Alien"}, ["Bambi · 0", "Alien"]),
        ((0, 0, 1), None, ["0 · 1", "2"]),
    ],
)
def test_titles_are_used_and_cut(columns, titles, names):
    assert two_kinds(*columns, titles=titles).names() == names


@pytest.mark.parametrize(("scale", "low", "high"), [(1, "says no", "says yes"), (5, "rates low", "rates high")])
def test_events_whose_people_answer_higher_or_lower_are_called_so(rng, scale, low, high):
    """Whatever happens there to stand out: it is little known."""
    table = km.Observations.from_dense(rng.integers(0, scale + 1, (60, 30)).astype(float), maximum=scale)
    inside = rng.random((30, 4)) < 0.5
    inside[:, 1], inside[:, 2] = True, False
    inside[0, 1], inside[1, 2] = False, True
    theta = rng.dirichlet(np.full(4, 0.3), 60)
    for psi in (inside, np.where(inside, 0.97, 0.2)):
        events = EventItems(model_of(table, theta, psi)).events()
        assert [event.name for event in events][1:3] == [high, low]
        assert [event.is_level for event in events] == [False, True, True, False]
        assert [event.n_items for event in events] == inside.sum(axis=0).tolist()
    inside[:, 3] = True
    twice = EventItems(model_of(table, theta, inside)).names()
    assert len(set(twice)) == 4
    assert all(twice[event].startswith(f"{high} · ") for event in (1, 3))
    # Where only yes is recorded, nobody answers lower.
    clicks = km.Observations.from_dense(np.where(rng.random((60, 30)) < 0.3, 1.0, np.nan))
    assert not {"says no", "says yes"} & set(EventItems(model_of(clicks, theta, inside)).names())


def test_an_event_that_another_sample_does_not_have_is_marked(rng):
    """It is named so wherever it is shown; nothing is said of it, and no relation rests on it."""
    table = km.Observations.from_dense((rng.random((60, 12)) < 0.5).astype(float))
    psi, theta = rng.random((12, 3)) < 0.5, rng.dirichlet(np.full(3, 0.3), 60)
    psi[:, 2] = np.arange(12) % 2 == 0
    sure = model_of(table, theta, psi)
    unsure = replace(sure, stability=np.array([0.95, 0.9, 0.3]))
    kept, marked = EventItems(sure).names(), EventItems(unsure).names()
    assert marked == [*kept[:2], f"{kept[2]} (not found again)"]
    names = {part.event: part.name for part in explain(unsure, unsure, 0, 0).events}
    assert names[2].endswith("than most of event 2 (not found again)")
    two = model_of(table, theta[:, :2] / theta[:, :2].sum(axis=1, keepdims=True), psi[:, :2])
    np.testing.assert_array_equal(Relations(unsure).adjacency(), Relations(two).adjacency())


def test_one_item_of_a_name_is_well_known(rng):
    """Of two that set an event apart one is among the fifth with the most answers, where any such does."""
    kind = np.repeat([0, 1], 100)
    values = np.full((200, 20), np.nan)
    # The first kind likes what few have seen, and more often than others what all have; the second something else.
    values[:60, :4], values[100:160, :4] = 1.0, 0.0
    values[:, 4:8] = (rng.random((200, 4)) < np.where(kind == 0, 0.7, 0.4)[:, None]).astype(float)
    values[:150, 8:] = (kind[:150, None] == 1).astype(float)
    first = EventItems(model_of(km.Observations.from_dense(values), np.eye(2)[kind])).named_rows[0]
    assert first[0] < 4 <= first[1] < 8


def test_events_that_like_all_the_same_have_no_name():
    table = km.Observations.from_dense(np.tile([1.0, 0.0, 1.0], (6, 1)))
    named = EventItems(model_of(table, np.full((6, 2), 0.5)))
    assert named.names() == ["event 0", "event 1"]
    assert named.best(0, 3).size == 0


def test_events_are_named_by_users_where_titles_are_too_long(rng):
    """Long titles say nothing when cut; numbers are no names."""
    table = (rng.random((12, 8)) < 0.5).astype(float)
    users, items = np.divmod(np.arange(table.size), 8)
    titles = {k: f"A motion about something that takes long to say, number {k}" for k in range(8)}
    people = np.array([f"country {k}" for k in range(12)])
    theta = rng.dirichlet(np.full(3, 0.3), 12)
    for who, by_people in ((people, True), (np.arange(12), False)):
        observed = km.Observations.from_arrays(who[users], items, table.ravel()).with_titles(items=titles)
        found = EventItems(model_of(observed, theta))
        assert found.by_people == by_people
        assert len(set(found.names())) == 3
        for event in found.events(2):
            assert event.users[0] == observed.users.name(int(np.argmax(theta[:, event.number])))
            assert not by_people or set(event.name.split(" · ")) <= set(people)
