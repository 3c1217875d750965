"""A prediction taken apart: what everybody would get, a difference for each event, and what is left."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import UnknownIdError, UnknownIdWarning
from kolmogorov.interpret.explanation import LITTLE

DRAWS = {"n_chains": 2, "burn_in": 15, "n_samples": 5, "random_state": 0}


def ratings():
    """Ratings of 1 to 5; item 11 and user 29 are in the vocabulary alone."""
    rng = np.random.default_rng(1)
    stars = np.clip(np.rint(3 + 1.3 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))), 1, 5)
    stars[rng.random(stars.shape) < 0.3] = np.nan
    table = km.Observations.from_dense(stars, minimum=0, maximum=5)
    table = table.subset((table.item_rows() != 11) & (table.user_rows() != 29))
    return table.with_titles(items={k: f"Film {k}" for k in range(12)})


@pytest.fixture(scope="module")
def models():
    stars = ratings()
    yes = km.Observations.from_arrays(stars.user_rows(), stars.item_rows(), (stars.values > 0.6).astype(float))
    found = {}
    for name, table in (("stars", stars), ("yes/no", yes)):
        found |= {
            f"{name}, two": km.KolmogorovModel(4, random_state=0).fit(table),
            f"{name}, chances": km.KolmogorovModel(4, psi="soft", random_state=0).fit(table),
            f"{name}, draws": km.BayesianKolmogorovModel(4, **DRAWS).fit(table),
        }
    return found


NAMES = [f"{table}, {kind}" for table in ("stars", "yes/no") for kind in ("two", "chances", "draws")]
every = pytest.mark.parametrize("name", NAMES)


def some(model):
    users, items = model.users_.ids[::5].tolist(), model.items_.ids[::3].tolist()
    return [(user, item) for user in users for item in items]


@every
def test_base_differences_and_rest_are_the_prediction(models, name):
    model = models[name]
    read = model._one_model
    for user, item in some(model):
        why = model.explain(user, item)
        expected = model.predict(user, item, output="probability")
        assert why.base + why.contributions.sum() + why.rest == pytest.approx(expected, abs=1e-12)
        assert why.probability == pytest.approx(expected, abs=1e-12)
        assert why.rating == pytest.approx(model.predict(user, item), abs=1e-9)
        theta, psi = read.theta[model.users_.encode([user])[0]], read.psi[model.items_.encode([item])[0]]
        everybody = read.theta[read.user_seen].mean(axis=0)
        np.testing.assert_allclose(why.contributions, (theta - everybody) * psi, atol=1e-12)
        assert why.base == pytest.approx(everybody @ psi, abs=1e-12)
        bare = float(theta @ psi)
        if not model._has_draws:
            # Nothing is left but what cutting takes away.
            assert why.rest == pytest.approx(np.clip(bare, 0, 1) - bare, abs=1e-12)
            if name.endswith(("two", "chances")):
                assert abs(why.rest) < 1e-9


@every
def test_parts_are_told_largest_first_and_named_by_their_events(models, name):
    model = models[name]
    why = model.explain(*some(model)[4])
    named = {event.number: event for event in model.events(5)}
    # Who rates high or low is told so before anything else.
    order = [(not named[part.event].is_level, -abs(part.amount)) for part in why.events]
    assert order == sorted(order)
    assert {part.event for part in why.events} == set(named)
    for part in why.events:
        assert part.items == named[part.event].items
        assert part.share == pytest.approx(named[part.event].share)
        assert part.amount == pytest.approx((part.theta - part.share) * part.psi, abs=1e-12)
    assert sum(part.theta for part in why.events) == pytest.approx(1.0)
    assert sum(part.share for part in why.events) == pytest.approx(1.0)


@every
def test_steps_lead_to_what_people_read(models, name):
    model = models[name]
    for user, item in some(model):
        why = model.explain(user, item)
        binary = name.startswith("yes/no")
        assert why.binary is binary
        unit, reached = (1.0, why.probability) if binary else (why.scale.span, why.rating)
        assert why.steps[0][0] == "everybody"
        assert why.steps[0][1] == pytest.approx(why.base if binary else why.scale.rating(why.base))
        # What is too little to tell is not told.
        assert sum(amount for _, amount in why.steps) == pytest.approx(reached, abs=2 * unit * LITTLE)
        words = [step for step, _ in why.steps]
        assert ("what the draws say beyond" in words) == (model._has_draws and abs(why.rest) > LITTLE)


def test_ratings_are_worded_as_ratings_and_answers_as_chances(models):
    stars, answers = models["stars, two"].explain(3, 4), models["yes/no, two"].explain(3, 4)
    first, base, *_ = str(stars).splitlines()
    assert first == f"3 is expected to give Film 4 a rating of {stars.rating:.2f}"
    assert base == f"   {stars.scale.rating(stars.base):.2f} everybody"
    assert str(answers).splitlines()[0] == f"3 says yes to 4 with probability {answers.probability:.3f}"


def test_the_rest_of_draws_is_their_last_line(models):
    model = models["stars, draws"]
    why = max((model.explain(*pair) for pair in some(model)), key=lambda found: abs(found.rest))
    assert abs(why.rest) > LITTLE
    assert f"  {5 * why.rest:+.2f} what the draws say beyond" in str(why).splitlines()
    assert why.steps[-1][0] == "what the draws say beyond"


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
        assert model.explain(999, 3, unknown="average").user_name == "999 (unknown)"
    assert model.explain(0, 999, unknown="ignore").item_name == "999 (unknown)"
