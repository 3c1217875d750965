"""Relations of soft psi and of draws of ratings: an item happens where it is nearer to a like than to less."""

import numpy as np
import pytest

import kolmogorov as km
import naive
from kolmogorov.draws.plan import nearest
from kolmogorov.draws.posterior import Posterior
from kolmogorov.interpret import Relations

LEVELS = np.arange(-2, 8) / 5
KINDS = ("implication", "equivalence", "exclusion", "coverage")


@pytest.fixture(scope="module")
def films():
    """Ratings of 1 to 5 by three kinds of people; some items are better than others for all of them."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 3, 120)
    merit = np.array([[5, 3, 1], [5, 4, 2], [3, 3, 4], [1, 2, 5], [2, 3, 5], [4, 4, 4], [1, 1, 3], [5, 5, 2]])
    ratings = np.clip(merit[:, kind].T + rng.integers(-1, 2, (120, 8)) * (rng.random((120, 8)) < 0.3), 1, 5).astype(
        float
    )
    ratings[rng.random(ratings.shape) < 0.25] = np.nan
    names = np.array(["Alien", "Aliens", "Annie", "Babe", "Bambi", "Casablanca", "Cats", "Predator"], dtype=object)
    users, items = np.nonzero(~np.isnan(ratings))
    return km.Observations.from_arrays(users, names[items], ratings[users, items], maximum=5)


@pytest.fixture(scope="module")
def parts(films):
    return films.split(test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(parts):
    model = km.KolmogorovModel(3, psi="soft", learn_from="ratings", user_reg=0.3, n_init=5, random_state=0)
    return model.fit(parts[0])


@pytest.mark.parametrize(("likes", "level"), [(None, 0.7), (0.8, 0.7), (0.6, 0.5), (1.0, 0.9), (0.7, 0.7)])
def test_relations_are_read_off_the_values(model, likes, level):
    assert model.fitted_.likes == pytest.approx(0.8)
    relations = model.relations(likes=likes)
    assert relations.level == pytest.approx(level)
    for kind in KINDS:
        expected = naive.related_pairs(model.psi_, relations.rows.tolist(), level, kind)
        assert sorted(relations.pairs(kind).tolist()) == sorted(expected)
        assert relations.counts[kind] == len(expected)
    frame = relations.to_frame()
    assert len(frame) == sum(relations.counts.values())
    for lower, upper in relations.order.covers.tolist():
        below, above = (model.psi_[relations.order.classes[k][0]] >= level for k in (lower, upper))
        assert (above | ~below).all()
        assert (above != below).any()


def test_rules_are_counted_like_the_twin_on_any_data(model, parts):
    train, test = parts
    every = {"kinds": KINDS, "supported": False, "min_support": 0, "max_rules": None}
    rules = model.relations().rules(train, **every, contrapositives=True)
    held = rules.on(test)
    assert len(held) == len(rules) == 2 * sum(model.relations().counts.values()) > 0
    for k in range(len(held)):
        square = naive.contingency(test, rules.antecedent[k], rules.consequent[k], 0.8 - 1e-9)
        square = square[:: 1 if rules.antecedent_yes[k] else -1, :: 1 if rules.consequent_yes[k] else -1]
        assert (held.support[k], held.held[k]) == (square[1].sum(), square[1, 1])
    low = model.relations().rules(train, likes=0.6, **every)
    assert low.names() == model.relations(likes=0.6).rules(train, **every).names()
    assert len(model.relations(min_ratings=10**6).rules(parts[0])) == 0


def test_a_rule_says_its_threshold_in_rating_units(model, parts):
    every = {"kinds": KINDS, "contrapositives": True, "supported": False, "min_support": 0, "max_rules": None}
    rules = model.relations().rules(parts[0], **every)
    for rule, *signs in zip(rules, rules.antecedent_yes, rules.consequent_yes, strict=True):
        for side, sign in zip((rule.antecedent, rule.consequent), signs, strict=True):
            name, _, rating = side.rpartition(" >= " if sign else " < ")
            assert name in model.items_.ids.tolist()
            assert rating == "4"
    assert set(rules.columns()["antecedent_at"]) == {4.0}


def test_an_explanation_adds_up_and_names_reasons_of_thresholds(model, parts):
    train, _ = parts
    user, item = train.users.ids[0], "Aliens"
    why = model.explain(user, item)
    assert why.base + why.contributions.sum() + why.rest == pytest.approx(model.predict(user, item), abs=1e-12)
    assert f"{user} is expected to give Aliens a rating of {why.rating:.2f}" in str(why)
    rated = {train.items.ids[i]: p for i, p in zip(*_row(train, 0), strict=True)}
    supported = set(zip(*model.relations().rules(item=item).names(), strict=True))
    like = f">= {5 * model.fitted_.likes:g}"
    for reason in why.reasons:
        assert (reason.antecedent, reason.consequent) in supported
        assert reason.consequent == f"Aliens {like}"
        assert reason.antecedent.endswith(like)
        assert rated[reason.item] >= model.fitted_.likes - 1e-9


def _row(table, user):
    part = slice(table.rows.indptr[user], table.rows.indptr[user + 1])
    return table.rows.indices[part], table.rows.values[part]


def test_events_are_described_by_what_stands_out(model):
    described = model.events(3)
    assert len(described) == 3
    assert sum(event.share for event in described) == pytest.approx(1.0)
    assert [event.rows for event in described] == naive.telling_items(model.fitted_, 3)
    for event in described:
        assert event.items == tuple(model.items_.name(row) for row in event.rows)
        # What tells an event apart most happens in it more than elsewhere.
        first = event.rows[0]
        assert model.psi_[first, event.number] > model.psi_[first] @ model.fitted_.population


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_yes_and_no_have_the_relations_of_one_half(zoo, psi):
    model = km.KolmogorovModel(4, psi=psi, learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo)
    relations = model.relations()
    two = km.KolmogorovModel(4)._adopt(model.fitted_.reaching(0.5)).relations()
    for kind in KINDS:
        assert relations.pairs(kind).tolist() == two.pairs(kind).tolist()
    names = set(zoo.items.ids.tolist())
    rules = relations.rules(kinds=KINDS, contrapositives=True, supported=False, max_rules=None)
    assert all(side.removeprefix("not ") in names for rule in rules for side in (rule.antecedent, rule.consequent))
    np.testing.assert_array_equal(relations.influence, two.influence)
    assert relations.to_frame().equals(two.to_frame())


def test_draws_give_relations_probabilities(films):
    rng = np.random.default_rng(3)
    fits = [
        km.KolmogorovModel(3, psi="soft", learn_from="ratings", user_reg=0.3, random_state=seed, max_iter=4).fit(films)
        for seed in range(6)
    ]
    draws = [LEVELS[nearest(fit.psi_, LEVELS)] for fit in fits]
    draws[0][0] = draws[0][1]
    psi = np.array(draws, dtype=np.float32)
    theta = rng.dirichlet(np.ones(3), (6, films.n_users)).astype(np.float32)
    noise = np.ones((6, films.n_users), dtype=np.float32)
    posterior = Posterior(theta, psi, noise, 1, "gaussian", films, levels=LEVELS)
    read = km.BayesianKolmogorovModel()._adopt(posterior)._one_model
    relations, one = Relations(read, posterior), Relations(read)
    equal = {tuple(pair) for j, i in one.equivalences().tolist() for pair in ((j, i), (i, j))}
    for kind in KINDS:
        candidates = set(one.pairs(kind).tolist()) | (equal if kind == "implication" else set())
        expected = {(j, i): naive.inside_share(psi, j, i, relations.level, kind) for j, i in candidates}
        for least in (0.0, 0.3, 0.6):
            found = relations.pairs(kind, least)
            got = {(j, i): share for j, i, share in found.tolist()}
            assert got == pytest.approx({pair: share for pair, share in expected.items() if share >= least - 1e-9})
            assert (np.diff(found["probability"]) <= 0).all()
    every = {"supported": False, "min_probability": 0.0, "kinds": KINDS, "min_support": 0}
    rules = relations.rules(films, **every, max_rules=10)
    assert len(rules) == 10
    assert " >= " in rules[0].antecedent
    np.testing.assert_array_equal(rules.on(films).probability, rules.probability)
    assert len(relations.rules(films, item="Alien", **every)) > 0
