import pytest

import naive
from kolmogorov import KolmogorovModel


def test_events_are_described(zoo):
    model = KolmogorovModel(4, learn_from="ratings", user_reg=0.3, random_state=0).fit(zoo)
    events = model.events(n_items=3)
    assert sum(event.share for event in events) == pytest.approx(1.0)
    for event in events:
        assert event.n_items == model.psi_[:, event.number].sum()
        assert event.items == tuple(zoo.items.ids[list(event.rows)])
        assert len(event.items) == 3
    assert [event.rows for event in events] == naive.telling_items(model.fitted_, 3)


def test_reasons_are_liked_items_inside_the_support(zoo):
    model = KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)
    why = model.explain("dove", "eggs")
    assert why.reasons
    item = model.psi_[zoo.items.encode(["eggs"])[0]]
    dove = zoo.users.encode(["dove"])[0]
    told = {
        zoo.items.name(i): v for u, i, v in zip(zoo.user_rows(), zoo.item_rows(), zoo.values, strict=True) if u == dove
    }
    for reason in why.reasons:
        support = model.psi_[zoo.items.encode([reason.item])[0]]
        assert not (support & ~item).any()
        assert told[reason.antecedent] == reason.value == 1.0
    feathers = next(reason for reason in why.reasons if reason.antecedent == "feathers")
    assert (feathers.support, feathers.held) == (20, 20)
    assert feathers.base_rate == pytest.approx(59 / 101)
    assert "feathers" in str(why)
    assert model.explain("a new animal", "eggs", unknown="ignore").reasons == ()
