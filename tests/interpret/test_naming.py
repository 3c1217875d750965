"""Events are named by what their people like more than everybody does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import kolmogorov as km
import naive
from helpers.strategies import tables
from kolmogorov import KolmogorovModel
from kolmogorov.descent.fitted import Fitted, Pull
from kolmogorov.interpret.events import EventItems
from kolmogorov.interpret.explanation import explain
from kolmogorov.interpret.relations import Relations


def model_of(table, theta):
    """A model whose users are where they are put; of its items half happen in an event."""
    size, theta = theta.shape[1], np.asarray(theta, dtype=float)
    psi = np.add.outer(np.arange(table.n_items), np.arange(size)) % 2 == 0
    pull = Pull.even(np.full(size, 1 / size), 1.0)
    return Fitted(theta, psi, pull, pull, table, (), np.full(table.n_users, 0.1))


@given(tables(weighted=False, trainable=True))
@settings(max_examples=40)
def test_scores_are_those_of_the_twin(table):
    fitted = model_of(table, np.random.default_rng(0).dirichlet(np.full(3, 0.5), table.n_users))
    found = EventItems(fitted)
    likes, expected = naive.likes_by_event(fitted)
    np.testing.assert_allclose(found.likes, likes, atol=1e-9)
    np.testing.assert_allclose(found.expected, expected, atol=1e-9)
    # What is expected is only dealt out in another way.
    np.testing.assert_allclose(found.expected.sum(axis=0), found.likes.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.expected.sum(axis=1), found.likes.sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(found.score, naive.telling_scores(fitted), atol=1e-9)
    # Nobody stands out in no event, unless all like the same.
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
    fitted = model_of(table, np.eye(3)[kind])
    named = EventItems(fitted)
    for event in range(3):
        assert sorted(named.best(event, 12).tolist()) == [3 * event, 3 * event + 1, 3 * event + 2]
    learned = km.KolmogorovModel(3, random_state=0).fit(table)
    groups = {tuple(sorted(event.rows)) for event in learned.events(3)}
    assert groups == {(0, 1, 2), (3, 4, 5), (6, 7, 8)}


def test_what_is_rarely_seen_tells_less():
    """One like of two people says less than twenty of forty, though both are of one event alone."""
    kind = np.repeat([0, 1], 40)
    users, items, values = [], [], []
    for user in range(80):
        # Everybody answers the first two; a single person of the first event the third.
        for item, likes in ((0, kind[user] == 0), (1, kind[user] == 1)):
            users.append(user)
            items.append(item)
            values.append(float(likes))
    users.append(0)
    items.append(2)
    values.append(1.0)
    fitted = model_of(km.Observations.from_arrays(users, items, values), np.eye(2)[kind])
    named = EventItems(fitted)
    assert named.best(0, 3).tolist() == [0, 2]
    assert named.score[2, 0] < 0.2 * named.score[0, 0]


def test_of_ratings_those_of_the_upper_half_say_that_something_is_liked():
    rng = np.random.default_rng(0)
    stars = rng.integers(1, 6, (40, 8)).astype(float)
    fitted = model_of(km.Observations.from_dense(stars, maximum=5), np.eye(2)[np.arange(40) % 2])
    liked = fitted.likes - 1e-9
    assert (stars / 5 >= liked).mean() <= 0.6
    assert (stars / 5 >= liked - 0.2).mean() > 0.6
    np.testing.assert_allclose(EventItems(fitted).likes[:, 0], (stars[::2] / 5 >= liked).sum(axis=0))
    skewed = np.where(rng.random((40, 8)) < 0.9, 5.0, 1.0)
    most = model_of(km.Observations.from_dense(skewed, minimum=0, maximum=5), np.eye(2)[np.arange(40) % 2])
    # Where nearly all ratings are the best one, that is what is liked.
    assert most.points.size == 2 or most.likes == pytest.approx(1.0)


def test_names_are_distinct_while_there_are_items(zoo):
    for n_events in (3, 5, 8):
        model = km.KolmogorovModel(n_events, learn_from="ratings", random_state=0).fit(zoo)
        names = EventItems(model.fitted_).names()
        assert len(names) == n_events
        assert len(set(names)) == n_events
        if n_events <= 5:
            items = [item for name in names for item in name.split(" · ")]
            assert len(items) == len(set(items))
        assert [event.name for event in model.events()] == names


def test_titles_are_used_and_cut():
    kind = np.repeat([0, 1], 10)
    values = np.column_stack([kind == 0, kind == 1]).astype(float)
    table = km.Observations.from_dense(values).with_titles(items={0: "A" * 60, 1: "Bambi"})
    named = EventItems(model_of(table, np.eye(2)[kind]))
    assert named.names() == ["A" * 27 + "…", "Bambi"]


def test_titles_that_several_items_have_need_no_ids_in_names():
    kind = np.repeat([0, 1], 10)
    values = np.column_stack([kind == 0, kind == 1, kind == 1]).astype(float)
    table = km.Observations.from_dense(values).with_titles(items={0: "Emma", 1: "Emma", 2: " "})
    assert EventItems(model_of(table, np.eye(2)[kind])).names() == ["Emma", "Emma · 2"]


def test_items_without_a_title_come_last():
    kind = np.repeat([0, 1], 10)
    values = np.column_stack([kind == 0, kind == 0, kind == 1]).astype(float)
    values[:5, 1] = 0.0
    table = km.Observations.from_dense(values)
    theta = np.eye(2)[kind]
    assert EventItems(model_of(table, theta)).best(0, 2).tolist() == [0, 1]
    titled = EventItems(model_of(table.with_titles(items={1: "Bambi", 2: "Alien"}), theta))
    assert titled.best(0, 2).tolist() == [1, 0]
    assert titled.names() == ["Bambi · 0", "Alien"]


def placed(table, theta, psi):
    return replace(model_of(table, np.asarray(theta, dtype=float)), psi=np.asarray(psi))


@pytest.mark.parametrize(("scale", "low", "high"), [(1, "says no", "says yes"), (5, "rates low", "rates high")])
def test_events_whose_people_answer_higher_or_lower_are_called_so(rng, scale, low, high):
    """Whatever happens there to stand out: it is little known."""
    table = km.Observations.from_dense(rng.integers(0, scale + 1, (60, 30)).astype(float), maximum=scale)
    inside = rng.random((30, 4)) < 0.5
    inside[:, 1], inside[:, 2] = True, False
    inside[0, 1], inside[1, 2] = False, True
    theta = rng.dirichlet(np.full(4, 0.3), 60)
    for psi in (inside, np.where(inside, 0.97, 0.2)):
        found = EventItems(placed(table, theta, psi))
        names = found.names()
        assert names[1:3] == [high, low]
        assert not any(name in (low, high) for name in (names[0], names[3]))
        assert [event.is_level for event in found.events()] == [False, True, True, False]
        assert [event.n_items for event in found.events()] == inside.sum(axis=0).tolist()
    inside[:, 3] = True
    twice = EventItems(placed(table, theta, inside)).names()
    assert len(set(twice)) == 4
    assert all(twice[event].startswith(f"{high} · ") for event in (1, 3))


def test_an_event_that_another_sample_does_not_have_is_marked(rng):
    """It is named so wherever it is shown; nothing is said of it, and it carries no rule."""
    table = km.Observations.from_dense((rng.random((60, 12)) < 0.5).astype(float))
    psi = rng.random((12, 3)) < 0.5
    psi[:, 2] = np.arange(12) % 2 == 0
    sure = placed(table, rng.dirichlet(np.full(3, 0.3), 60), psi)
    unsure = replace(sure, stability=np.array([0.95, 0.9, 0.3]))
    kept, marked = EventItems(sure).names(), EventItems(unsure).names()
    assert marked == [*kept[:2], f"{kept[2]} (not found again)"]
    assert [event.stability for event in EventItems(unsure).events()] == [0.95, 0.9, 0.3]
    why = explain(unsure, unsure, 0, 0)
    names = {part.event: part.name for part in why.events}
    assert names[2].endswith("than most of event 2 (not found again)")
    two = placed(table, rng.dirichlet(np.ones(2), 60), psi[:, :2])
    np.testing.assert_array_equal(Relations(unsure).adjacency(), Relations(two).adjacency())


def test_one_item_of_a_name_is_well_known(rng):
    """Of two that set an event apart one is among the fifth with the most answers, where any such does."""
    kind = np.repeat([0, 1], 100)
    values = np.full((200, 20), np.nan)
    # The first kind likes what few have seen, and more often than others what everybody has; the second something else.
    values[:60, :4], values[100:160, :4] = 1.0, 0.0
    values[:, 4:8] = (rng.random((200, 4)) < np.where(kind == 0, 0.7, 0.4)[:, None]).astype(float)
    values[:150, 8:] = (kind[:150, None] == 1).astype(float)
    named = EventItems(model_of(km.Observations.from_dense(values), np.eye(2)[kind]))
    first = named.named_rows[0]
    assert first[0] < 4
    assert 4 <= first[1] < 8


def test_where_only_yes_is_recorded_no_event_is_one_of_little(rng):
    table = km.Observations.from_dense(np.where(rng.random((40, 30)) < 0.3, 1.0, np.nan))
    psi = np.zeros((30, 2), dtype=bool)
    psi[0, 0] = psi[1, 1] = True
    names = EventItems(placed(table, rng.dirichlet(np.ones(2), 40), psi)).names()
    assert not any(name in ("says no", "says yes") for name in names)


def test_events_that_like_all_the_same_have_no_name():
    table = km.Observations.from_dense(np.tile([1.0, 0.0, 1.0], (6, 1)))
    named = EventItems(model_of(table, np.full((6, 2), 0.5)))
    assert named.names() == ["event 0", "event 1"]
    assert named.best(0, 3).size == 0


def test_the_page_the_pictures_and_explanations_use_the_same_names(zoo):
    model = km.KolmogorovModel(4, psi="soft", random_state=0).fit(zoo)
    twin = naive.telling_items(model.fitted_, 5)
    assert [event.rows for event in model.events(5)] == twin
    why = model.explain("dove", "eggs")
    for part in why.events:
        assert part.items == tuple(zoo.items.ids[list(twin[part.event])])


def test_draws_are_named_through_the_model_that_they_are_read_by(zoo):
    drawn = km.BayesianKolmogorovModel(3, n_chains=1, burn_in=10, n_samples=4, random_state=0).fit(zoo)
    read = drawn._one_model
    assert [event.rows for event in drawn.events(4)] == naive.telling_items(read, 4)
    assert read.learned_from == "draws"
    assert read.psi.dtype == np.float64
    assert read is drawn._one_model


def test_an_event_has_those_who_are_most_in_it():
    table = km.Observations.from_arrays(["ann", "bob", "cat"], ["x", "y", "y"], [1, 1, 1])
    theta = np.array([[1.0, 0.0], [0.2, 0.8], [0.0, 1.0]])
    first, second = EventItems(model_of(table, theta)).events(n_users=2)
    assert first.users == ("ann", "bob")
    assert second.users == ("cat", "bob")


def test_events_are_named_by_users_where_titles_are_too_long(rng):
    """Long titles say nothing when cut; numbers are no names."""
    table = (rng.random((12, 8)) < 0.5).astype(float)
    users, items = np.divmod(np.arange(table.size), 8)
    titles = {k: f"A motion about something that takes long to say, number {k}" for k in range(8)}
    people = np.array([f"country {k}" for k in range(12)])
    for who, by_people in ((people, True), (np.arange(12), False)):
        observed = km.Observations.from_arrays(who[users], items, table.ravel()).with_titles(items=titles)
        model = km.KolmogorovModel(3, learn_from="ratings", user_reg=0.1, random_state=0).fit(observed)
        found = EventItems(model.fitted_)
        assert found.by_people == by_people
        assert len(set(found.names())) == 3
        for event in model.events(2):
            share = model.theta_[:, event.number]
            assert event.users[0] == model.users_.name(int(np.argmax(share)))
            if by_people:
                assert set(event.name.split(" · ")) <= set(people)


# --- events and reasons of a learned model -----------------------------------------------------------------------


def test_events_are_described(zoo):
    model = KolmogorovModel(4, learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo)
    events = model.events(n_items=3)
    assert sum(event.share for event in events) == pytest.approx(1.0)
    for event in events:
        assert event.n_items == model.psi_[:, event.number].sum()
        assert event.items == tuple(zoo.items.ids[list(event.rows)])
        assert len(event.items) == 3
    assert [event.rows for event in events] == naive.telling_items(model.fitted_, 3)


def test_reasons_are_supported_rules_from_what_is_liked(zoo):
    model = KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)
    why = model.explain("dove", "eggs")
    assert why.reasons
    supported = model.rules().about("eggs")
    found = [rule for rule in supported if rule.consequent == "eggs"]
    dove = zoo.users.encode(["dove"])[0]
    told = {
        zoo.items.name(i): v for u, i, v in zip(zoo.user_rows(), zoo.item_rows(), zoo.values, strict=True) if u == dove
    }
    for reason in why.reasons:
        assert str(reason) in map(str, found)
        assert reason.p_adjusted <= 0.05
        assert told[reason.antecedent] == reason.value == 1.0
    feathers = next(reason for reason in why.reasons if reason.antecedent == "feathers")
    assert (feathers.support, feathers.held) == (20, 20)
    assert feathers.base_rate == pytest.approx(59 / 101)
    assert "feathers" in str(why)
    # What leads to a yes is no reason for less than everybody would get.
    assert model.explain("bear", "eggs").probability < model.explain("bear", "eggs").base
    assert model.explain("bear", "eggs").reasons == ()
    assert model.explain("a new animal", "eggs", unknown="ignore").reasons == ()
