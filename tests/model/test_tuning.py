import numpy as np
import pytest

import kolmogorov as km


def test_the_best_setting_of_a_grid_is_found_and_refitted(zoo):
    seen = []
    found = km.tune(
        zoo,
        n_events=(1, 4),
        user_reg=(0.3, 30.0),
        item_reg=(0.0, 0.1),
        callback=lambda trial, number, total: seen.append((number, total)),
    )
    assert len(found.trials) == 8
    assert seen == [(k, 8) for k in range(1, 9)]
    assert found.best == min(found.trials, key=lambda trial: trial.score)
    assert found.best.parameters["n_events"] == 4
    assert all(len(trial.scores) == 3 for trial in found.trials)
    assert found.model.get_params()["user_reg"] == found.best.parameters["user_reg"]
    assert found.model.theta_.shape == (101, 4)
    frame = found.to_frame()
    assert frame["rmse"].is_monotonic_increasing
    again = km.tune(zoo, n_events=(1, 4), user_reg=(0.3, 30.0), item_reg=(0.0, 0.1), refit=False)
    assert again.trials == found.trials
    assert again.model is None


def test_scores_are_those_of_fits_on_the_folds(zoo):
    found = km.tune(zoo, n_events=3, user_reg=1.0, item_reg=0.0, folds=4, random_state=5, refit=False)
    expected = [
        km.KolmogorovModel(3, learn_from="ratings", user_reg=1.0, random_state=5).fit(train).evaluate(test)["rmse"]
        for train, test in zoo.folds(4, random_state=5)
    ]
    np.testing.assert_allclose(found.best.scores, expected)


def test_an_interrupt_keeps_the_best_so_far(zoo):
    def stop(trial, number, total):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.warns(km.errors.ConvergenceWarning, match="Interrupted after 2 of 4 trials"):
        found = km.tune(zoo, n_events=(1, 4), user_reg=(0.3, 3.0), item_reg=0.0, callback=stop)
    assert len(found.trials) == 2
    assert found.model.n_events == found.best.parameters["n_events"]


def test_only_yes_is_tuned_by_lists(visits):
    found = km.tune(
        visits,
        model=km.KolmogorovModel(unobserved="auto", learn_from="ratings"),
        n_events=(1, 4),
        user_reg=1.0,
        item_reg=0.0,
    )
    assert found.best.measure == "ndcg"
    assert len({trial.parameters["unobserved"] for trial in found.trials}) > 1
    assert found.best.score == max(trial.score for trial in found.trials)
    assert list(found.guesses) == ["most popular"]
    assert found.model.unobserved == found.best.parameters["unobserved"]


def test_draws_are_tuned_by_shorter_chains(zoo):
    model = km.BayesianKolmogorovModel(n_chains=1, burn_in=4, n_samples=3)
    found = km.tune(zoo, model=model, n_events=(1, 3), folds=2)
    assert found.model.n_events == found.best.parameters["n_events"]


def test_what_is_learned_is_not_searched_for(zoo):
    train, test = zoo.split(test_size=0.3, random_state=0)
    found = km.tune(train, folds=2)
    assert {*found.best.parameters} == {"n_events"}
    assert found.model.learned_from_ == "draws"
    # Whoever gives a ridge is shown what ridges do, of models learned from the ratings.
    given = km.tune(train, folds=2, n_events=4, item_reg=0.0)
    assert len({trial.parameters["user_reg"] for trial in given.trials}) > 3
    assert given.model.learned_from_ == "ratings"
    assert found.model.evaluate(test)["rmse"] < 1.02 * given.model.evaluate(test)["rmse"]
