"""A prediction taken apart: what everybody would get, a difference for each event, and what is left."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import UnknownIdError, UnknownIdWarning
from kolmogorov.interpret.explanation import LITTLE

DRAWS = {"n_chains": 2, "burn_in": 15, "n_samples": 5, "random_state": 0}
NAMES = [f"{table}, {kind}" for table in ("stars", "yes/no") for kind in ("two", "chances", "draws")]


@pytest.fixture(scope="module")
def models():
    """Models of ratings of 1 to 5, and of which are a yes; item 11 and user 29 are in the vocabulary alone."""
    rng = np.random.default_rng(1)
    values = np.clip(np.rint(3 + 1.3 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))), 1, 5)
    values[rng.random(values.shape) < 0.3] = np.nan
    stars = km.Observations.from_dense(values, minimum=0, maximum=5)
    stars = stars.subset((stars.item_rows() != 11) & (stars.user_rows() != 29))
    stars = stars.with_titles(items={k: f"Film {k}" for k in range(12)})
    yes = km.Observations.from_arrays(stars.user_rows(), stars.item_rows(), (stars.values > 0.6).astype(float))
    found = {}
    for name, table in (("stars", stars), ("yes/no", yes)):
        found[f"{name}, two"] = km.KolmogorovModel(4, random_state=0).fit(table)
        found[f"{name}, chances"] = km.KolmogorovModel(4, psi="soft", random_state=0).fit(table)
        found[f"{name}, draws"] = km.BayesianKolmogorovModel(4, **DRAWS).fit(table)
    return found


def some(model):
    users, items = model.users_.ids[::5].tolist(), model.items_.ids[::3].tolist()
    return [(user, item) for user in users for item in items]


@pytest.mark.parametrize("name", NAMES)
def test_base_differences_and_rest_are_the_prediction(models, name):
    model, binary = models[name], name.startswith("yes/no")
    read = model._one_model
    named = {event.number: event for event in model.events(5)}
    for user, item in some(model):
        why = model.explain(user, item)
        probability = model.predict(user, item, output="probability")
        assert why.base + why.contributions.sum() + why.rest == pytest.approx(probability, abs=1e-12)
        assert why.probability == pytest.approx(probability, abs=1e-12)
        assert why.rating == pytest.approx(model.predict(user, item), abs=1e-9)
        theta, psi = read.theta[model.users_.encode([user])[0]], read.psi[model.items_.encode([item])[0]]
        everybody = read.theta[read.user_seen].mean(axis=0)
        np.testing.assert_allclose(why.contributions, (theta - everybody) * psi, atol=1e-12)
        assert why.base == pytest.approx(everybody @ psi, abs=1e-12)
        if not model._has_draws:
            # Nothing is left but what cutting takes away.
            assert why.rest == pytest.approx(np.clip(theta @ psi, 0, 1) - theta @ psi, abs=1e-12)
        # Who rates high or low is told so before anything else, and then the largest difference.
        order = [(not named[part.event].is_level, -abs(part.amount)) for part in why.events]
        assert order == sorted(order)
        assert all(part.items == named[part.event].items for part in why.events)
        # Steps lead to what people read; what is too little to tell is not told.
        assert why.binary is binary
        unit, reached = (1.0, why.probability) if binary else (why.scale.span, why.rating)
        assert why.steps[0] == ("everybody", pytest.approx(why.base if binary else why.scale.rating(why.base)))
        assert sum(amount for _, amount in why.steps) == pytest.approx(reached, abs=2 * unit * LITTLE)
        rest = model._has_draws and abs(why.rest) > LITTLE
        assert ("what the draws say beyond" in [step for step, _ in why.steps]) == rest
        assert len(why.colours) == len(why.steps)
        assert len(why.to_frame()) == 2 + len(why.events)


def test_ratings_are_worded_as_ratings_and_answers_as_chances(models):
    stars, answers = models["stars, two"].explain(3, 4), models["yes/no, two"].explain(3, 4)
    first, base, *_ = str(stars).splitlines()
    assert first == f"3 is expected to give Film 4 a rating of {stars.rating:.2f}"
    assert base == f"   {stars.scale.rating(stars.base):.2f} everybody"
    assert str(answers).splitlines()[0] == f"3 says yes to 4 with probability {answers.probability:.3f}"
    model = models["stars, draws"]
    why = max((model.explain(*pair) for pair in some(model)), key=lambda found: abs(found.rest))
    assert f"  {5 * why.rest:+.2f} what the draws say beyond" in str(why).splitlines()


def test_events_without_a_name_are_called_by_their_number():
    rated = km.Observations.from_arrays([1, 1, 2, 3], [50, 64, 50, 7], [5, 1, 4, 2])
    model = km.KolmogorovModel(2, learn_from="ratings", user_reg=0.0, random_state=0).fit(rated)
    assert all(event.items == () for event in model.events())
    words = {name.removeprefix("more").removeprefix("less") for name, _ in model.explain(1, 50).steps}
    assert words <= {"everybody", " than most of event 0", " than most of event 1"}


@pytest.mark.parametrize("name", ["stars, two", "stars, draws"])
def test_somebody_of_whom_nothing_is_known_is_everybody(models, name):
    model = models[name]
    with pytest.raises(UnknownIdError, match="no data on user 29"):
        model.explain(29, 3, unknown="error")
    for user in (29, 999):
        why = model.explain(user, 3, unknown="ignore")
        np.testing.assert_allclose(why.contributions, 0.0, atol=1e-9)
        assert why.base + why.rest == pytest.approx(why.probability)
        assert why.reasons == ()
    with pytest.warns(UnknownIdWarning):
        assert model.explain(999, 3).user_name == "999 (unknown)"
    assert model.explain(0, 999, unknown="ignore").item_name == "999 (unknown)"


def test_reasons_are_rules_from_what_is_liked(zoo):
    model = km.KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=10, random_state=0).fit(zoo)
    why = model.explain("dove", "eggs")
    found = [str(rule) for rule in model.rules() if rule.consequent == "eggs"]
    mine = zoo.subset(zoo.user_rows() == zoo.users.encode(["dove"])[0])
    told = dict(zip(zoo.items.ids[mine.item_rows()], mine.values, strict=True))
    assert why.reasons
    for reason in why.reasons:
        assert str(reason) in found
        assert told[reason.item] == reason.value == 1.0
    feathers = next(reason for reason in why.reasons if reason.antecedent == "feathers")
    assert (feathers.support, feathers.held, feathers.base_rate) == (20, 20, pytest.approx(59 / 101))
    assert str(feathers) in str(why)
    # What leads to a yes is no reason for less than everybody would get.
    bear = model.explain("bear", "eggs")
    assert bear.probability < bear.base
    assert bear.reasons == ()
