"""`tune`: a grid over folds, and what is taken of it."""

import numpy as np
import pytest

import kolmogorov as km

GRID = {"n_events": (1, 4), "user_reg": (0.3, 30.0), "item_reg": 0.0}


def test_the_best_setting_of_a_grid_is_found_and_refitted(zoo):
    seen = []
    found = km.tune(zoo, **GRID, callback=lambda setting, score, *place: seen.append((setting, score, *place)))
    assert [place for *_, place, total in seen if total == 4] == [1, 2, 3, 4]
    assert sorted(score for _, score, *_ in seen) == found.scores.mean(axis=1).tolist()
    assert found.best == min(seen, key=lambda told: told[1])[0]
    assert found.model.get_params()["user_reg"] == found.best["user_reg"]
    assert found.model.theta_.shape == (101, 4)
    assert found.to_frame()["rmse"].is_monotonic_increasing
    again = km.tune(zoo, **GRID, refit=False)
    assert (again.settings, again.model) == (found.settings, None)
    assert (again.scores == found.scores).all()


def test_scores_are_those_of_fits_on_the_folds(zoo):
    found = km.tune(zoo, n_events=3, user_reg=1.0, item_reg=0.0, folds=4, random_state=5, refit=False)
    expected = [
        km.KolmogorovModel(3, learn_from="ratings", user_reg=1.0, random_state=5).fit(train).evaluate(test)["rmse"]
        for train, test in zoo.folds(4, random_state=5)
    ]
    np.testing.assert_allclose(found.scores, [expected])


def test_an_interrupt_keeps_the_best_so_far(zoo):
    def stop(setting, score, number, total):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.warns(km.errors.ConvergenceWarning, match="Interrupted after 2 of 4 settings"):
        found = km.tune(zoo, **GRID, callback=stop)
    assert len(found.settings) == 2
    assert found.model.n_events == found.best["n_events"]


def test_only_yes_is_tuned_by_lists(visits):
    model = km.KolmogorovModel(unobserved="auto", learn_from="ratings")
    found = km.tune(visits, model=model, n_events=(1, 4), user_reg=1.0, item_reg=0.0)
    assert found.measure == "ndcg"
    assert len({setting["unobserved"] for setting in found.settings}) > 1
    assert found.score == found.scores.mean(axis=1).max()
    assert list(found.guesses) == ["most popular"]
    assert found.model.unobserved == found.best["unobserved"]


def test_draws_are_tuned_as_they_are(zoo):
    model = km.BayesianKolmogorovModel(n_chains=1, burn_in=4, n_samples=3)
    found = km.tune(zoo, model=model, n_events=(1, 3), folds=2)
    assert found.model.n_events == found.best["n_events"]


def test_what_is_learned_is_not_searched_for(zoo):
    train, test = zoo.split(test_size=0.3, random_state=0)
    found = km.tune(train, folds=2)
    assert {*found.best} == {"n_events"}
    assert found.model.learned_from_ == "draws"
    # Whoever gives a ridge is shown what ridges do, of models learned from the ratings.
    given = km.tune(train, folds=2, n_events=4, item_reg=0.0)
    assert len({setting["user_reg"] for setting in given.settings}) > 3
    assert given.model.learned_from_ == "ratings"
    assert found.model.evaluate(test)["rmse"] < 1.02 * given.model.evaluate(test)["rmse"]
