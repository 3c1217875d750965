"""One model: what is read is what predicts, in whatever way it is asked and however it was learned."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
import naive
from kolmogorov.descent.problem import usual_weight

LEVELS = {"two": "binary", "chances": "soft"}
LEARNED = ("draws", "ratings", "as_model", "unobserved")
CHAINS = {"n_chains": 2, "burn_in": 12, "n_samples": 6}
SLACK = 1e-9


def ratings(values=lambda stars: stars, maximum=5):
    """Ratings from 1 to 5 of two tastes. The last user and the last item stand in the vocabulary alone."""
    rng = np.random.default_rng(3)
    stars = np.clip(np.rint(3 + 1.2 * rng.normal(size=(22, 2)) @ rng.normal(size=(2, 11))), 1, 5)
    stars[rng.random(stars.shape) < 0.3] = np.nan
    users, items = np.nonzero(~np.isnan(stars))
    names = np.array([f"item {k:02d}" for k in range(11)], dtype=object)
    table = km.Observations.from_arrays(users + 100, names[items], values(stars[users, items]), maximum=maximum)
    return table.subset((table.user_rows() != 21) & (table.item_rows() != 10))


def answers():
    """The same, above 3 or not."""
    return ratings(lambda stars: (stars > 3).astype(float), maximum=1)


def likes():
    """The same where only yes is recorded; some users then have nothing."""
    yes = answers()
    return yes.subset(yes.values > 0.5)


@cache
def learned(levels, how, n_jobs=1):
    """Return a model, and the table it was learned from."""
    options = {"psi": LEVELS[levels], "random_state": 0, "n_jobs": n_jobs}
    if how == "unobserved":
        table = likes()
        return km.KolmogorovModel(3, unobserved="auto", **options).fit(table), table
    table = ratings()
    if how == "as_model":
        drawn = km.BayesianKolmogorovModel(4, **CHAINS, random_state=0, n_jobs=n_jobs).fit(table)
        return drawn.as_model(3, LEVELS[levels]), table
    options["learn_from"] = "ratings" if how == "ratings" else "draws"
    return km.KolmogorovModel(3, **options).fit(table), table


def pairs_of(model):
    users, items = model.users_.ids, model.items_.ids
    return np.repeat(users, len(items)), np.tile(items, len(users))


every = pytest.mark.parametrize("how", LEARNED)
any_levels = pytest.mark.parametrize("levels", LEVELS)


# --- known people ----------------------------------------------------------------------------------------------------


def by_pairs(model, tmp_path):
    return model.predict(*pairs_of(model), output="probability")


def by_single_pairs(model, tmp_path):
    return [model.predict(*pair, output="probability") for pair in zip(*pairs_of(model), strict=True)]


def by_frame(model, tmp_path):
    users, items = pairs_of(model)
    return model.predict(pd.DataFrame({"user": users, "item": items}), output="probability")


def by_observations(model, tmp_path):
    users, items = pairs_of(model)
    asked = km.Observations.from_arrays(users, items, np.arange(len(users)) % 2)
    entries = asked.users.ids[asked.user_rows()], asked.items.ids[asked.item_rows()]
    found = dict(zip(zip(*entries, strict=True), model.predict(asked, output="probability"), strict=True))
    return [found[pair] for pair in zip(users, items, strict=True)]


def by_explanations(model, tmp_path):
    found = []
    for user, item in zip(*pairs_of(model), strict=True):
        why = model.explain(user, item, unknown="ignore")
        found.append(why.base + sum(part.amount for part in why.events) + why.rest)
        assert why.base + why.contributions.sum() + why.rest == pytest.approx(why.probability, abs=1e-12)
        assert sum(why.columns()["amount"]) == pytest.approx(why.probability, abs=1e-12)
    return found


def by_lists(model, tmp_path):
    """Of all users, with all items; one without observations is on no list."""
    users, items = pairs_of(model)
    frame = model.recommend(
        model.users_.ids, n=len(model.items_), exclude_seen=False, min_count=1, rank="probability", unknown="ignore"
    )
    found = dict(zip(zip(frame["user"], frame["item"], strict=True), frame["probability"], strict=True))
    unseen = set(model.items_.ids[~model.fitted_.item_seen].tolist())
    assert {item for _, item in found} == set(items.tolist()) - unseen
    return [found.get(pair, np.nan) for pair in zip(users.tolist(), items.tolist(), strict=True)]


def by_a_file(model, tmp_path):
    model.save(tmp_path / "m.km")
    again = km.load(tmp_path / "m.km")
    np.testing.assert_array_equal(again.theta_, model.theta_)
    np.testing.assert_array_equal(again.psi_, model.psi_)
    assert again.psi_.dtype == model.psi_.dtype
    np.testing.assert_array_equal(by_pairs(again, tmp_path), by_pairs(model, tmp_path))
    return by_pairs(again, tmp_path)


def by_distributions(model, tmp_path):
    """The mean of the distribution, where it is inside the ratings."""
    whole, low, high = model.predict_distribution(*pairs_of(model)), *model.rating_values_[[0, -1]]
    mean, said = whole @ model.rating_values_, model.predict(*pairs_of(model))
    inside = (said >= low) & (said <= high)
    assert (np.abs(mean - np.clip(said, low, high)) < 1e-9).all()
    return np.where(inside, model.scale_.probability(mean), np.nan)


WAYS = {
    "pairs": by_pairs,
    "single pairs": by_single_pairs,
    "a frame": by_frame,
    "observations": by_observations,
    "explanations": by_explanations,
    "lists": by_lists,
    "a file": by_a_file,
    "distributions": by_distributions,
}


@pytest.mark.parametrize("way", WAYS)
@every
@any_levels
def test_what_is_read_is_what_predicts(levels, how, way, tmp_path):
    model, _ = learned(levels, how)
    expected = np.clip(model.theta_ @ model.psi_.T, 0.0, 1.0).ravel()
    found = np.array(WAYS[way](model, tmp_path), dtype=float)
    told = ~np.isnan(found)
    assert told.mean() > 0.6
    np.testing.assert_allclose(found[told], expected[told], rtol=0, atol=SLACK)


@every
@any_levels
def test_the_same_bits_on_one_thread_and_two(levels, how):
    one, two = (learned(levels, how, n_jobs)[0] for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.theta_, two.theta_)
    np.testing.assert_array_equal(one.psi_, two.psi_)
    np.testing.assert_array_equal(by_pairs(one, None), by_pairs(two, None))
    assert [sweep.objective for sweep in one.history_] == [sweep.objective for sweep in two.history_]


@every
@any_levels
def test_the_unseen_are_the_population_and_an_average_item(levels, how):
    model, _ = learned(levels, how)
    seen, items = model.fitted_.user_seen, model.fitted_.item_seen
    assert not seen.all()
    assert not items.all()
    population = model.theta_[seen].mean(axis=0)
    # All of whom nothing is known are the same.
    assert np.ptp(model.theta_[~seen], axis=0).max() < 1e-12
    np.testing.assert_allclose(model.theta_[~seen][0], population, atol=1e-9)
    assert len(np.unique(model.psi_[~items], axis=0)) == 1
    average = model.psi_[items].mean(axis=0)
    known = model.items_.ids[0]
    with pytest.warns(km.errors.UnknownIdWarning):
        strangers = model.predict([999, 999, 100], [known, "nothing", "nothing"], output="probability")
    expected = [population @ model.psi_[0], population @ average, model.theta_[0] @ average]
    np.testing.assert_allclose(strangers, np.clip(expected, 0, 1), atol=SLACK)


# --- new people ------------------------------------------------------------------------------------------------------


@cache
def drawn(kind):
    """Draws, of every likelihood."""
    table = ratings() if kind == "gaussian" else answers()
    likelihood = "bernoulli" if kind == "chances" else kind
    model = km.BayesianKolmogorovModel(3, likelihood=likelihood, **CHAINS, random_state=0)
    return model.fit(table), table


#: Models, and what makes them.
ASKED = {f"{levels}, {how}": (learned, levels, how) for levels in LEVELS for how in LEARNED}
ASKED |= {f"draws, {kind}": (drawn, kind) for kind in ("gaussian", "chances")}


def strangers_of(table):
    """Some rows that the model was not fitted to, in rating units."""
    rng = np.random.default_rng(5)
    rows = rng.choice(np.unique(table.scale.rating(table.values)), size=(4, table.n_items))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    rows[3] = np.nan
    return rows


@pytest.mark.parametrize("case", ASKED)
def test_rows_without_ids_are_new_people(case):
    make, *arguments = ASKED[case]
    model, table = make(*arguments)
    rows = strangers_of(table)
    theta = model.transform(rows)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-6)
    expected = model.predict(rows, output="probability")
    if isinstance(model, km.KolmogorovModel):
        np.testing.assert_allclose(expected, np.clip(theta @ model.psi_.T, 0.0, 1.0), atol=SLACK)
        np.testing.assert_allclose(model.predict(rows), model.inverse_transform(theta), atol=5 * SLACK)
    np.testing.assert_allclose(model.predict(rows), model.scale_.rating(expected), atol=5 * SLACK)

    users, items = np.nonzero(~np.isnan(rows))
    ids, scale = model.items_.ids, {"minimum": table.scale.minimum, "maximum": table.scale.maximum}
    people = km.Observations.from_arrays([f"new {u}" for u in users], ids[items], rows[users, items], **scale)
    np.testing.assert_allclose(model.fold_in(people, side="users"), theta[:3], atol=SLACK)

    options = {"n": len(ids), "exclude_seen": False, "min_count": 1}
    row_of = {name: row for row, name in enumerate(ids.tolist())}
    by_people = model.recommend(people, **options)
    for number in range(3):
        said = {ids[i]: rows[number, i] for i in range(len(ids)) if not np.isnan(rows[number, i])}
        for frame in (model.recommend(guest=said, **options), by_people[by_people["user"] == f"new {number}"]):
            assert set(frame["item"]) == set(ids[model.fitted_.item_seen].tolist())
            places = [row_of[item] for item in frame["item"]]
            np.testing.assert_allclose(frame["probability"], expected[number, places], atol=SLACK)


@every
@any_levels
def test_new_rows_are_placed_by_the_formula(levels, how):
    """Least squares over their own ratings, and the pull, over the simplex."""
    model, table = learned(levels, how)
    rows, pull = strangers_of(table)[:3], model.fitted_.user_pull
    values = table.scale.probability(rows)
    # Of a weight that is settled by the table, just below those of what was observed.
    weight = usual_weight(len(table), table.n_users * table.n_items) if how == "unobserved" else 0.0
    assert model.unobserved_ == weight
    for theta, row in zip(model.transform(rows), values, strict=True):
        entries = {i: (p, 1.0) for i, p in enumerate(row) if not np.isnan(p)}
        gram, moment = naive.placed_row(entries, model.psi_.astype(float), pull.centre, pull.strength, weight)
        best = naive.value(gram, moment, naive.best_on_simplex(gram, moment))
        assert naive.value(gram, moment, theta) == pytest.approx(best, abs=1e-6)
