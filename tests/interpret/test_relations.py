"""Relations are what the supports say, and counted as by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from helpers.strategies import tables
from kolmogorov import KolmogorovModel, Observations
from kolmogorov.errors import ParameterError
from kolmogorov.interpret.relations import KINDS, Supports


@st.composite
def psis(draw):
    n_items, n_events = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 3, 5, 64, 65, 130]))
    seed, density = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.1, 0.5, 0.9, 0.98]))
    return np.random.default_rng(seed).random((n_items, n_events)) < density


@pytest.fixture(scope="module")
def model(zoo):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)


def items_of(pairs):
    return set(map(tuple, pairs.tolist()))


@given(psis())
def test_supports_against_sets(psi):
    supports = Supports(psi, np.arange(len(psi)))
    sets = [frozenset(np.flatnonzero(row)) for row in psi]
    assert {frozenset(members.tolist()) for members in supports.classes} == {
        frozenset(i for i, s in enumerate(sets) if s == t) for t in sets
    }
    everything = frozenset(range(psi.shape[1]))
    tests = {
        "implication": lambda a, b: a < b,
        "equivalence": lambda a, b: a == b,
        "exclusion": lambda a, b: not a & b,
        "coverage": lambda a, b: a | b == everything,
    }
    for kind, test in tests.items():
        found = list(map(tuple, supports.pairs(kind).tolist()))
        assert len(found) == len(set(found)) == supports.count(kind)
        expected = {(j, i) for j, i in itertools.permutations(range(len(sets)), 2) if test(sets[j], sets[i])}
        assert set(found) == {(j, i) for j, i in expected if kind == "implication" or j < i}


@given(tables(weighted=False, trainable=True))
def test_relations_are_what_the_supports_say(table):
    model = KolmogorovModel(3, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=4, n_jobs=1).fit(table)
    relations = model.relations()
    seen = sorted(set(table.item_rows().tolist()))
    supports = {i: set(np.flatnonzero(row)) for i, row in enumerate(model.psi_) if i in seen}
    proper = {i: s for i, s in supports.items() if 0 < len(s) < 3}
    pairs = list(itertools.permutations(proper, 2))
    assert items_of(relations.pairs()) == {(j, i) for j, i in pairs if proper[j] < proper[i]}
    assert {kind: len(relations.pairs(kind)) for kind in KINDS} == relations.counts
    assert set(relations.always) == {i for i, s in supports.items() if len(s) == 3}
    assert set(relations.never) == {i for i, s in supports.items() if not s}
    probabilities = model.theta_ @ model.psi_.T
    for j, i in items_of(relations.pairs()):
        assert (probabilities[:, j] <= probabilities[:, i] + 1e-12).all()
    # The paper's N: what lies inside an item's support is in its row.
    matrix = relations.adjacency()
    assert matrix.tolist() == [[supports[j] <= supports[i] for j in seen] for i in seen]
    np.testing.assert_allclose(relations.influence[seen], matrix.mean(axis=1))


@given(tables(weighted=False, trainable=True), st.sampled_from([0.3, 0.6, 1.0]), st.booleans())
def test_counts_agree_with_the_slow_twin(table, likes, turned):
    model = KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=3, n_jobs=1).fit(table)
    relations = model.relations(likes=likes)
    for kind, (first, then) in {"implication": (1, 1), "exclusion": (1, -1), "coverage": (-1, 1)}.items():
        rules = relations.counted(table, kind, turned=turned)
        assert len(rules) == relations.counts[kind]
        for k in range(len(rules)):
            square = naive.contingency(table, rules.antecedent[k], rules.consequent[k], likes)[::first, ::then]
            assert (rules.support[k], rules.held[k]) == (square[1].sum(), square[1, 1])
            said = table.values[table.item_rows() == rules.consequent[k]] >= likes
            assert rules.base_rate[k] == pytest.approx((said == (then == 1)).mean())


@pytest.mark.parametrize(("likes", "level"), [(None, 0.7), (0.6, 0.5), (1.0, 0.9), (0.7, 0.7)])
def test_soft_psi_of_ratings_happens_where_it_is_nearer_to_a_like(likes, level):
    rng = np.random.default_rng(7)
    merit = np.array([[5, 3, 1], [5, 4, 2], [3, 3, 4], [1, 2, 5], [2, 3, 5], [4, 4, 4], [1, 1, 3], [5, 5, 2]])
    stars = merit[:, rng.integers(0, 3, 120)].T + rng.integers(-1, 2, (120, 8)) * (rng.random((120, 8)) < 0.3)
    films = Observations.from_dense(np.clip(stars, 1, 5).astype(float), maximum=5)
    model = KolmogorovModel(3, psi="soft", learn_from="ratings", user_reg=0.3, random_state=0, max_iter=5).fit(films)
    relations = model.relations(likes=likes)
    assert model.fitted_.likes == pytest.approx(0.8)
    assert relations.level == pytest.approx(level)
    for kind in KINDS:
        expected = naive.related_pairs(model.psi_, relations.rows.tolist(), level, kind)
        assert items_of(relations.pairs(kind)) == expected
    assert len(relations.counted(films).to_frame()) == relations.counts["implication"]


def test_wrong_requests_are_told(model):
    for wrong in (True, 2.0):
        with pytest.raises(ParameterError, match="on the probability scale"):
            model.relations(likes=wrong)
    with pytest.raises(ParameterError, match="'kind' must be one of"):
        model.relations().pairs("causation")
    with pytest.raises(ParameterError, match="'min_ratings' must be an integer >= 0"):
        model.relations(min_ratings=-1)
