"""Relations of several thresholds: against slow twins, on held-out data, in words."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov.draws.levels import middles, nearest
from kolmogorov.draws.posterior import Posterior
from kolmogorov.errors import ParameterError
from kolmogorov.interpret import PosteriorRelations, Relations
from kolmogorov.interpret.relations.supports import NestedSupports, Thresholds
from kolmogorov.interpret.rules.counting import pairs_of

LEVELS = np.arange(-2, 8) / 5
STARS = np.arange(1, 6) / 5


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


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 70),
    st.sampled_from([STARS, np.array([0.0, 0.5, 1.0])]),
    st.sampled_from(["implication", "exclusion", "coverage"]),
)
@settings(max_examples=60)
def test_the_relations_are_those_of_the_twin(seed, n_events, points, kind):
    rng = np.random.default_rng(seed)
    # Few values for many events, or nothing would lie in anything.
    psi = rng.choice(rng.choice(LEVELS, 3), (6, min(n_events, 5)))
    psi = np.concatenate([psi, np.repeat(psi[:, :1], n_events - psi.shape[1], axis=1)], axis=1)
    thresholds = Thresholds(middles(points), points[1:])
    supports, n = NestedSupports(thresholds.bits(psi), np.array([0, 1, 2, 4, 5])), len(thresholds)
    blocks = [np.column_stack([left // n, left % n, right // n, right % n]) for left, right in supports.pairs(kind)]
    got = [tuple(pair) for block in blocks for pair in block.tolist()]
    assert sorted(got) == sorted(naive.threshold_pairs(psi, [0, 1, 2, 4, 5], thresholds.levels, kind))
    assert len(got) == len(set(got)) == supports.count(kind)


def test_relations_are_read_off_the_values(model):
    relations = model.relations()
    assert type(relations) is Relations
    levels = relations.thresholds.levels
    for kind, found in (
        ("implication", relations.implications()),
        ("exclusion", relations.exclusions()),
        ("coverage", relations.coverages()),
    ):
        expected = naive.threshold_pairs(model.psi_, relations.rows.tolist(), levels, kind)
        assert sorted(found.tolist()) == sorted(expected)
        assert relations.counts[kind] == len(expected) > 0
        names = relations.named(found)
        assert len(set(names)) == len(expected)
        assert all(">= " in left and ">= " in right for left, right in names)
        frame = relations.to_frame(kinds=(kind,))
        assert len(frame) == len(expected)
        assert set(np.unique(frame["antecedent_at"])) <= {2.0, 3.0, 4.0, 5.0}
    assert len(relations.to_frame()) == sum(relations.counts.values())


def test_equivalences_are_of_equal_supports(model):
    relations = model.relations()
    levels, psi = relations.thresholds.levels, model.psi_
    found = relations.equivalences().tolist()
    assert len(found) == len(set(found)) == relations.counts["equivalence"]
    for j, a, i, b in found:
        assert j < i
        assert ((psi[j] >= levels[a] - 1e-9) == (psi[i] >= levels[b] - 1e-9)).all()
    # The same as the classes of the order say.
    together = {
        tuple(sorted(pair))
        for names in map(relations.order.names, range(len(relations.order)))
        for pair in itertools.combinations(names, 2)
    }
    assert {tuple(sorted(pair)) for pair in relations.named(relations.equivalences())} == together


def test_rules_are_counted_like_the_twin_on_any_data(model, parts):
    train, test = parts
    rules = model.relations().rules(train, supported=False, min_support=0, max_rules=None)
    held = rules.on(test)
    assert len(held) == len(rules) == model.relations().counts["implication"]
    ratings = model.relations().thresholds.ratings
    theirs = {name: row for row, name in enumerate(test.items.ids.tolist())}
    for k in range(0, len(held), 3):
        j, i = (theirs[model.items_.ids[row]] for row in (held.antecedent[k], held.consequent[k]))
        at_j, at_i = ratings[held.antecedent_at[k]], ratings[held.consequent_at[k]]
        table = naive.threshold_contingency(test, j, i, at_j, at_i)
        assert held.support[k] == table[1].sum()
        assert held.held[k] == table[1, 1]
        reached = test.values[test.item_rows() == i] >= at_i - 1e-9
        assert held.base_rate[k] == pytest.approx(reached.mean())


def test_rules_hold_better_than_their_base_rates_on_held_out_ratings(model, parts):
    totals = model.relations().rules(parts[0], supported=False, max_rules=20).on(parts[1]).totals()
    assert totals["lift"] > 1.05


def test_a_rule_says_its_thresholds_in_rating_units(model, parts):
    rules = model.relations().rules(parts[0], contrapositives=True, supported=False, min_support=0, max_rules=None)
    kinds = set(rules.kind.tolist())
    assert kinds == {"implication", "contrapositive"}
    for rule in rules:
        sign = ">=" if rule.kind == "implication" else "<"
        for side in (rule.antecedent, rule.consequent):
            name, _, rating = side.rpartition(f" {sign} ")
            assert name in model.items_.ids.tolist()
            assert rating in {"2", "3", "4", "5"}
        assert " ⇒ " in str(rule)
    columns = rules.columns()
    assert columns["antecedents"][0].endswith(f" {columns['antecedent_at'][0]:g}")
    implication = rules[rules.kind == "implication"]
    turned = rules[rules.kind == "contrapositive"]
    assert len(implication) == len(turned)


def test_rules_can_be_narrowed(model, parts):
    relations = model.relations()
    high = relations.rules(parts[0], 0.8, supported=False, max_rules=None)
    ratings = relations.thresholds.ratings
    assert len(high) > 0
    assert (ratings[high.antecedent_at] >= 0.8 - 1e-9).all()
    assert (ratings[high.consequent_at] >= 0.8 - 1e-9).all()
    about = relations.rules(parts[0], item="Alien", supported=False, max_rules=None)
    assert len(about) > 0
    assert all("Alien >=" in f"{rule.antecedent} {rule.consequent}" for rule in about)
    assert len(model.relations(min_ratings=10**6).rules(parts[0])) == 0
    with pytest.raises(ParameterError, match="threshold"):
        relations.rules(parts[0], 7.0)


def test_the_order_is_of_statements(model):
    relations = model.relations()
    order = relations.order
    names = [set(order.names(number)) for number in range(len(order))]
    flat = [name for group in names for name in group]
    assert len(flat) == len(set(flat)) > 0
    # Whoever is below implies what is above: the same as asking the values.
    psi, items = model.psi_, model.items_.ids.tolist()

    def support(statement):
        item, _, rating = statement.rpartition(" >= ")
        return psi[items.index(item)] >= (float(rating) - 0.5) / 5 - 1e-9

    for lower, upper in order.covers.tolist():
        below, above = support(min(names[lower])), support(min(names[upper]))
        assert (above | ~below).all()
        assert (above != below).any()
    for group in names:
        assert len({support(name).tobytes() for name in group}) == 1
    assert "Alien >=" in order.to_graphviz_source()


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


def test_two_levels_keep_their_relations(parts):
    two = km.KolmogorovModel(3, random_state=0).fit(parts[0])
    rules = two.relations().rules(parts[0], supported=False)
    assert (rules.antecedent_at == 0).all()
    # Stars are said as in the supported rules.
    assert all(" >= 4" in rule.antecedent and " >= 4" in rule.consequent for rule in rules)


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_yes_and_no_has_one_threshold_whatever_the_levels(zoo, psi):
    model = km.KolmogorovModel(4, psi=psi, learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo)
    relations = model.relations()
    assert len(relations.thresholds) == 1
    two = km.KolmogorovModel(4)._adopt(model.fitted_.reaching(0.5)).relations()
    for kind in two.counts:
        assert relations.pairs(kind).tolist() == two.pairs(kind).tolist()
    names = set(zoo.items.ids.tolist())
    assert all(set(pair) <= names for pair in relations.named(relations.implications()))
    rules = relations.rules(kinds=tuple(two.counts), contrapositives=True, supported=False, max_rules=None)
    assert all(side.removeprefix("not ") in names for rule in rules for side in (rule.antecedent, rule.consequent))
    np.testing.assert_array_equal(relations.influence, two.influence)
    assert relations.to_frame().equals(two.to_frame())


def test_options_of_two_levels_are_refused(model):
    with pytest.raises(ParameterError, match="go with models of two levels"):
        model.relations(convention="paper")
    with pytest.raises(ParameterError, match="go with models of two levels"):
        model.relations(trivial=True)


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
    relations = PosteriorRelations(posterior, read)
    for kind in relations.counts:
        expected = naive.threshold_probabilities(draws, relations.thresholds.levels, kind)
        every = pairs_of(*np.array(list(expected))[:, [0, 2, 1, 3]].T)
        assert relations.probabilities(every, kind) == pytest.approx(list(expected.values()))
        candidates = Relations(read).pairs(kind).tolist()
        for least in (0.0, 0.3, 0.6):
            found = relations.pairs(kind, least)
            got = {pair: p for *pair, p in found.tolist() for pair in [tuple(pair)]}
            assert got == pytest.approx({pair: expected[pair] for pair in candidates if expected[pair] >= least - 1e-9})
            assert (np.diff(found["probability"]) <= 0).all()
    rules = relations.rules(films, supported=False, min_probability=0.0, max_rules=10)
    assert len(rules) == 10
    assert " >= " in rules[0].antecedent
    assert rules.on(films).probability is not None
    assert len(relations.rules(films, item="Alien", supported=False, min_probability=0.0)) > 0
