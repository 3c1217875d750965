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


def test_reasons_are_supported_rules_from_what_is_liked(zoo):
    model = KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)
    why = model.explain("dove", "eggs")
    assert why.reasons
    supported = model.relations().rules(item="eggs")
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
