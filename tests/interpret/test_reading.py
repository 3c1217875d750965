import itertools

import numpy as np
import pytest
from hypothesis import given

from kolmogorov import KolmogorovModel
from strategies import tables


@given(tables(weighted=False))
def test_relations_are_what_the_supports_say(table):
    model = KolmogorovModel(3, user_reg=0.1, random_state=0, max_iter=4, n_jobs=1).fit(table)
    relations = model.relations()
    seen = set(table.item_rows().tolist())
    supports = {i: set(np.flatnonzero(row)) for i, row in enumerate(model.psi_) if i in seen}
    proper = {i: s for i, s in supports.items() if 0 < len(s) < 3}
    pairs = list(itertools.permutations(proper, 2))
    assert set(map(tuple, relations.implications)) == {(j, i) for j, i in pairs if proper[j] < proper[i]}
    assert set(map(tuple, relations.equivalences)) == {(j, i) for j, i in pairs if j < i and proper[j] == proper[i]}
    assert set(map(tuple, relations.exclusions)) == {(j, i) for j, i in pairs if j < i and not proper[j] & proper[i]}
    probabilities = model.theta_ @ model.psi_.T
    for j, i in relations.implications:
        assert (probabilities[:, j] <= probabilities[:, i] + 1e-12).all()


def test_evidence_counts_cases(zoo):
    model = KolmogorovModel(5, user_reg=0.3, n_init=5, random_state=0).fit(zoo)
    relations = model.relations()
    feathers, eggs = zoo.items.encode(["feathers", "eggs"])
    (rule,) = relations.evidence(np.array([[feathers, eggs]]), zoo)
    assert str(rule) == "feathers ⇒ eggs"
    assert (rule.seen, rule.held) == (20, 20)
    assert rule.confidence == 1.0
    assert rule.base_rate == pytest.approx(59 / 101)
    assert rule.lift == pytest.approx(101 / 59)
    frame = relations.to_frame()
    assert set(frame["kind"]) <= {"implication", "equivalence", "exclusion"}
    assert (frame["kind"] == "implication").sum() == len(relations.implications)


def test_events_are_described(zoo):
    model = KolmogorovModel(4, user_reg=0.3, random_state=0).fit(zoo)
    events = model.events(n_items=3)
    assert sum(event.share for event in events) == pytest.approx(1.0)
    for event in events:
        inside = set(zoo.items.ids[model.psi_[:, event.number]])
        assert event.n_items == len(inside)
        assert set(event.items) <= inside
        assert len(event.items) == min(3, len(inside))
