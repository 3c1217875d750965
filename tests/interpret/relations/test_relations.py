"""Relations are what the supports say, counted as by hand, and streamed within limits."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from helpers.strategies import tables
from kolmogorov import KolmogorovModel, Observations
from kolmogorov.data.datasets import planted
from kolmogorov.errors import DataError, ParameterError, UnknownIdError
from kolmogorov.interpret.supports import Supports


@st.composite
def psis(draw):
    n_items, n_events = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 3, 5, 64, 65, 130]))
    seed, density = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.1, 0.5, 0.9, 0.98]))
    return np.random.default_rng(seed).random((n_items, n_events)) < density


@pytest.fixture(scope="module")
def model(zoo):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)


def items_of(pairs):
    return set(zip(pairs["antecedent"].tolist(), pairs["consequent"].tolist(), strict=True))


@given(psis())
def test_supports_against_sets(psi):
    supports = Supports(psi, np.arange(len(psi)))
    sets = [frozenset(np.flatnonzero(row)) for row in psi]
    assert {frozenset(supports.members_of(c).tolist()) for c in range(len(supports))} == {
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
        found = [
            pair for left, right in supports.pairs(kind) for pair in zip(left.tolist(), right.tolist(), strict=True)
        ]
        assert len(found) == len(set(found)) == supports.count(kind)
        expected = {(j, i) for j, i in itertools.permutations(range(len(sets)), 2) if test(sets[j], sets[i])}
        assert set(found) | (set() if kind == "implication" else {(i, j) for j, i in found}) == expected


@given(psis())
def test_the_hasse_diagram_is_the_transitive_reduction(psi):
    networkx = pytest.importorskip("networkx", reason="the independent check needs networkx")
    supports = Supports(psi, np.arange(len(psi)))
    sets = [frozenset(np.flatnonzero(psi[supports.members_of(c)[0]])) for c in range(len(supports))]
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(sets)))
    graph.add_edges_from((a, b) for a, b in itertools.permutations(range(len(sets)), 2) if sets[a] < sets[b])
    assert set(map(tuple, supports.covers.tolist())) == set(networkx.transitive_reduction(graph).edges)


@given(tables(weighted=False, trainable=True))
def test_relations_are_what_the_supports_say(table):
    model = KolmogorovModel(3, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=4, n_jobs=1).fit(table)
    relations = model.relations()
    seen = set(table.item_rows().tolist())
    supports = {i: set(np.flatnonzero(row)) for i, row in enumerate(model.psi_) if i in seen}
    proper = {i: s for i, s in supports.items() if 0 < len(s) < 3}
    pairs = list(itertools.permutations(proper, 2))
    assert items_of(relations.implications()) == {(j, i) for j, i in pairs if proper[j] < proper[i]}
    assert items_of(relations.equivalences()) == {(j, i) for j, i in pairs if j < i and proper[j] == proper[i]}
    assert items_of(relations.exclusions()) == {(j, i) for j, i in pairs if j < i and not proper[j] & proper[i]}
    whole = {(j, i) for j, i in pairs if j < i and proper[j] | proper[i] == {0, 1, 2}}
    assert items_of(relations.coverages()) == whole
    everything = model.relations(trivial=True)
    every = [(j, i) for j, i in itertools.permutations(supports, 2) if j < i]
    assert items_of(everything.coverages()) == {(j, i) for j, i in every if supports[j] | supports[i] == {0, 1, 2}}
    assert items_of(everything.exclusions()) == {(j, i) for j, i in every if not supports[j] & supports[i]}
    assert {kind: len(getattr(everything, f"{kind}s")()) for kind in everything.counts} == everything.counts
    assert set(relations.always) == {i for i, s in supports.items() if len(s) == 3}
    assert set(relations.never) == {i for i, s in supports.items() if not s}
    probabilities = model.theta_ @ model.psi_.T
    for j, i in items_of(relations.implications()):
        assert (probabilities[:, j] <= probabilities[:, i] + 1e-12).all()
    matrix = relations.adjacency()
    place = {row: k for k, row in enumerate(relations.rows.tolist())}
    for j, i in itertools.product(proper, repeat=2):
        assert matrix[place[j], place[i]] == (proper[j] <= proper[i])
    for j in proper:
        assert relations.influence[j] == pytest.approx(matrix[place[j]].mean())


@given(tables(weighted=False, trainable=True), st.sampled_from([0.3, 0.6, 1.0]))
def test_counts_agree_with_the_slow_twin(table, likes):
    model = KolmogorovModel(2, learn_from="ratings", user_reg=0.1, random_state=0, max_iter=3, n_jobs=1).fit(table)
    kinds = ("implication", "equivalence", "exclusion", "coverage")
    rules = model.relations(trivial=True).rules(
        table, likes, kinds=kinds, contrapositives=True, supported=False, min_support=0, max_rules=None
    )
    assert len(rules) == rules.n_found
    assert (rules.p_adjusted >= rules.p_value).all()
    for k in range(len(rules)):
        square = naive.contingency(table, rules.antecedent[k], rules.consequent[k], likes)
        square = square[:: 1 if rules.antecedent_yes[k] else -1, :: 1 if rules.consequent_yes[k] else -1]
        assert rules.support[k] == square[1].sum()
        assert rules.held[k] == square[1, 1]
        said = table.values[table.item_rows() == rules.consequent[k]] >= likes
        assert rules.base_rate[k] == pytest.approx((said == rules.consequent_yes[k]).mean())


def test_the_papers_convention_turns_the_implication(model):
    ours, papers = model.relations(trivial=True), model.relations(convention="paper")
    assert {(i, j) for j, i in items_of(ours.implications())} == items_of(papers.implications())
    assert (papers.adjacency() == ours.adjacency().T).all()
    np.testing.assert_allclose(papers.influence[papers.rows], papers.adjacency().mean(axis=1))


def test_every_exact_rule_of_the_zoo_is_found(zoo, model):
    """D = 5 events hold all biology that is exact in the table and seen ten times."""
    table = np.zeros((zoo.n_users, zoo.n_items), dtype=bool)
    table[zoo.user_rows(), zoo.item_rows()] = zoo.values == 1.0
    often = np.flatnonzero(table.sum(axis=0) >= 10)
    exact = {(j, i) for j in often for i in range(zoo.n_items) if i != j and table[table[:, j], i].all()}
    never = {(j, i) for j, i in itertools.combinations(often, 2) if not (table[:, j] & table[:, i]).any()}
    assert (len(exact), len(never)) == (12, 5)
    relations = model.relations(trivial=True)
    equal = items_of(relations.equivalences())
    assert exact <= items_of(relations.implications()) | equal | {(i, j) for j, i in equal}
    assert never <= items_of(relations.exclusions())


def test_rules_are_a_tidy_frame_by_strength(zoo, model):
    pytest.importorskip("pandas", reason="the default frame is pandas'")
    train, test = zoo.split(test_size=0.3, random_state=1)
    frame = model.relations().rules(test, supported=False).to_frame()
    assert (frame["strength"].diff().dropna() <= 1e-12).all()
    assert ((frame["p_adjusted"] >= frame["p_value"]) & (frame["p_adjusted"] <= 1)).all()
    few = model.relations().rules(test, supported=False, min_support=5, min_lift=1.2, max_rules=4).to_frame()
    assert len(few) <= 4
    assert (few["support"] >= 5).all()
    assert (few["lift"] >= 1.2).all()
    feathers = model.relations().rules(zoo, item="feathers", supported=False, kinds=("implication", "exclusion"))
    named = set(zip(*feathers.names(), strict=True))
    assert ("feathers", "eggs") in named
    assert ("milk", "not feathers") in named
    assert all("feathers" in " ".join(rule) for rule in named)
    chosen = model.relations().rules(train, supported=False, max_rules=5)
    again = chosen.on(zoo)
    assert again.names() == chosen.names()
    assert again.n_judged == 5
    assert (again.support >= chosen.support).all()


def _of_many_items(n_users, n_items):
    table = planted(n_users, n_items, 4, noise=0.1, random_state=0).observations
    return KolmogorovModel(4, learn_from="ratings", max_iter=2, random_state=0).fit(table), table


@pytest.mark.long("large tables")
def test_streaming_keeps_the_strongest():
    """Pairs come in blocks of a million; of a quarter of a million rules the weakest are dropped as they come."""
    model, table = _of_many_items(20, 3000)
    relations = model.relations()
    blocks = list(relations.stream("implication"))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), relations.implications())
    whole = relations.rules(table, kinds=("implication",), supported=False, max_rules=None)
    part = relations.rules(table, kinds=("implication",), supported=False, max_rules=7)
    assert part.names() == whole.strongest(7).names()
    assert part.n_found == len(relations.implications())


def test_unreasonable_requests_are_refused_with_the_number():
    model, table = _of_many_items(5, 30_000)
    relations = model.relations()
    count = relations.counts["implication"]
    assert count > 100_000_000
    with pytest.raises(ParameterError, match=rf"asks for {count:,} rules"):
        relations.rules(table, supported=False, max_rules=None)
    with pytest.raises(ParameterError, match=rf"There are {count:,} pairs of kind implication.*stream"):
        relations.implications()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kinds": ("causation",)}, "one of 'implication'"),
        ({"kinds": "implication"}, "sequence of names"),
        ({"item": "wings"}, "no item 'wings'"),
        ({"max_rules": 0}, "max_rules"),
        ({"likes": 3}, "at most 1, on the probability scale or None, got 3"),
        ({"kinds": None}, "sequence of names"),
        ({"observations": np.eye(3)}, "Observations, got ndarray"),
        ({"contrapositives": 1}, "'contrapositives' must be True or False"),
        ({"min_support": -1}, "'min_support' must be an integer >= 0"),
        ({"min_lift": float("nan")}, "'min_lift' must be a finite number >= 0"),
        ({"max_p": "small"}, "'max_p' must be a finite number >= 0"),
        ({"item": "fether"}, "no item 'fether'. Did you mean 'feathers'"),
    ],
)
def test_wrong_requests_are_told(model, zoo, options, words):
    with pytest.raises(UnknownIdError if "item" in options else (ParameterError, DataError), match=words):
        model.relations().rules(**{"observations": zoo, **options})


def test_items_of_other_data_are_matched_by_id(model, zoo):
    other = Observations.from_arrays(["ant", "ant", "emu"], ["eggs", "feathers", "wings"], [1.0, 1.0, 1.0])
    rules = model.relations().rules(other, supported=False, min_support=0)
    seen = dict(zip(zip(*rules.names(), strict=True), rules.support, strict=True))
    assert seen["feathers", "eggs"] == 1
    assert sum(seen.values()) == 1


def test_the_order_is_drawn(model):
    order = model.relations().order
    assert sorted(row for members in order.classes for row in members) == sorted(model.relations().rows)
    for lower, upper in order.covers:
        assert set(order.events(lower)) < set(order.events(upper))
        assert order.levels[lower] < order.levels[upper]
    source = order.to_graphviz_source()
    assert source.startswith("digraph")
    assert source.count("->") == len(order.covers)
    networkx = pytest.importorskip("networkx", reason="to_networkx needs the extra 'graph'")
    graph = order.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert graph.number_of_nodes() == len(order)


def test_a_hostile_title_stays_a_title():
    table = Observations.from_arrays([1, 1, 2, 2], ['"];evil', "b", '"];evil', "b"], [1.0, 0.0, 0.0, 1.0])
    model = KolmogorovModel(2, random_state=0).fit(table)
    source = model.relations().order.to_graphviz_source()
    assert '\\"];evil' in source


def test_the_limit_on_p_is_the_shown_one(model, zoo):
    for item in zoo.items.ids:
        rules = model.relations().rules(zoo, item=item, supported=False)
        limited = model.relations().rules(zoo, item=item, supported=False, max_p=0.05)
        assert set(zip(*limited.names(), strict=True)) == set(
            zip(*rules[rules.p_adjusted <= 0.05].names(), strict=True)
        )


def test_a_rule_that_never_held_is_not_strong():
    table = Observations.from_dense([[1.0, 0.0, 1.0]] * 11 + [[0.0, 0.0, 1.0]] * 4 + [[1.0, 0.0, 0.0]] * 5)
    rules = (
        KolmogorovModel(3, learn_from="ratings", user_reg=0.1, random_state=0)
        .fit(table)
        .relations(trivial=True)
        .rules(supported=False, min_support=0)
    )
    assert np.isfinite(rules.strength[rules.support > 0]).all()


def test_repeated_kinds_count_once(model, zoo):
    once = model.relations().rules(zoo, kinds=("exclusion",))
    assert model.relations().rules(zoo, kinds=("exclusion", "exclusion")).n_judged == once.n_judged
