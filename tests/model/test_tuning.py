import numpy as np
import pytest
from click.testing import CliRunner

import kolmogorov as km
from kolmogorov.cli import main
from kolmogorov.errors import ParameterError
from kolmogorov.model.tuning.search import shortened


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
    assert found.best == min(found.trials, key=lambda trial: trial.rmse)
    assert found.best.n_events == 4
    assert all(len(trial.scores) == 3 for trial in found.trials)
    assert found.model.get_params()["user_reg"] == found.best.user_reg
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


def test_other_models_and_bad_grids(zoo):
    relaxed = km.KolmogorovModel(levels="chances", learn_from="ratings", max_iter=5)
    found = km.tune(zoo, n_events=2, user_reg=(1.0, 3.0), item_reg=0.0, model=relaxed)
    assert found.model.levels == "chances"
    assert found.model.psi_.dtype == np.float64
    factors = km.tune(zoo, model=km.baselines.MatrixFactorization(), n_factors=(1, 2), reg=1.0, folds=2)
    assert isinstance(factors.model, km.baselines.MatrixFactorization)
    with pytest.raises(ParameterError, match="at least one value"):
        km.tune(zoo, n_events=())


def test_the_verbs(tmp_path):
    runner = CliRunner()
    path = tmp_path / "zoo.csv"
    runner.invoke(main, ["data", "export", "zoo", "-o", str(path)])
    model = tmp_path / "zoo.km"
    result = runner.invoke(
        main, ["tune", str(path), "--events", "2,4", "--user-reg", "0.3,3", "--item-reg", "0", "-o", str(model)]
    )
    assert result.exit_code == 0, result.output
    assert "best first" in result.output
    assert km.load(model).n_events == 4
    result = runner.invoke(main, ["evaluate", str(model), str(path), "--folds", "3"])
    assert result.exit_code == 0, result.output
    assert "fold 3" in result.output
    assert "accuracy" in result.output
    assert runner.invoke(main, ["tune", str(path), "--events", "two"]).exit_code == 2
    assert "Example" in runner.invoke(main, ["tune", "--help"]).output


def test_many_settings_are_thinned_out_by_short_fits(zoo):
    seen = []
    found = km.tune(
        zoo,
        n_events=(1, 2, 4, 6),
        user_reg=(0.3, 1.0, 3.0, 30.0),
        item_reg=(0.0, 0.1),
        callback=lambda trial, number, total: seen.append((trial.effort, number, total)),
    )
    efforts = [effort for effort, _, _ in seen]
    assert len(found.trials) == 32
    assert [efforts.count(effort) for effort in (0.1, 0.3, 1.0)] == [32, 11, 4]
    assert efforts == sorted(efforts)
    assert [(number, total) for _, number, total in seen] == [(k, 47) for k in range(1, 48)]
    whole = [trial for trial in found.trials if trial.effort == 1.0]
    assert found.best == min(whole, key=lambda trial: trial.rmse) == found.ranked[0]
    assert all(len(trial.scores) == (3 if trial.effort == 1.0 else 1) for trial in found.trials)
    # What was thinned out was not much better than what was kept.
    everything = km.tune(zoo, n_events=4, user_reg=(0.3, 1.0, 3.0, 30.0), item_reg=(0.0, 0.1), refit=False)
    assert found.best.rmse < everything.best.rmse + 0.01


def test_guesses_stand_beside(zoo):
    found = km.tune(zoo, n_events=(1, 4), user_reg=0.3, item_reg=0.0, refit=False)
    assert list(found.guesses) == ["overall mean", "item means", "user and item biases"]
    errors = []
    for train, test in zoo.folds(3, random_state=0):
        guess = km.metrics.simple_guesses(train, test.user_rows(), test.item_rows())["item means"]
        errors.append(np.sqrt(np.mean((guess - test.values) ** 2)))
    assert found.guesses["item means"] == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("seconds", [1e-6, 0.3])
@pytest.mark.long("more kinds of models")
def test_a_budget_ends_the_search_with_the_best_so_far(zoo, seconds):
    found = km.tune(zoo, max_seconds=seconds)
    assert 1 <= len(found.trials) <= 36
    assert found.best == found.ranked[0]
    assert found.model.n_events == found.best.n_events
    assert found.model.callback is None
    with pytest.raises(ParameterError, match="'max_seconds' must be a finite number > 0 or None"):
        km.tune(zoo, max_seconds=0)


def test_an_interrupt_keeps_the_best_so_far(zoo):
    def stop(trial, number, total):
        if number == 2:
            raise KeyboardInterrupt

    with pytest.warns(km.errors.ConvergenceWarning, match="Interrupted after 2 of 4 trials"):
        found = km.tune(zoo, n_events=(1, 4), user_reg=(0.3, 3.0), item_reg=0.0, callback=stop)
    assert len(found.trials) == 2
    assert found.model.n_events == found.best.n_events


def test_only_yes_is_tuned_by_lists(visits):
    found = km.tune(visits, model=km.KolmogorovModel(unobserved="auto"), n_events=(1, 4), user_reg=1.0, item_reg=0.0)
    assert found.best.measure == "ndcg"
    assert found.best.ndcg == found.best.score
    assert sorted({trial.unobserved for trial in found.trials}) == sorted({t.unobserved for t in found.ranked})
    assert found.best.score == max(trial.score for trial in found.trials)
    assert list(found.guesses) == ["most popular"]
    assert found.model.unobserved == found.best.unobserved
    with pytest.raises(AttributeError, match="no 'rmse'"):
        _ = found.best.rmse


def test_draws_are_tuned_by_shorter_chains(zoo):
    model = km.BayesianKolmogorovModel(n_chains=1, burn_in=4, n_samples=3)
    found = km.tune(zoo, model=model, n_events=(1, 3), folds=2)
    assert found.model.n_events == found.best.n_events


def test_grids_follow_the_table(zoo):
    from kolmogorov.model.tuning.grids import usual_values

    assert usual_values(km.KolmogorovModel(), zoo) == {"n_events": (2, 4, 8)}
    dense = usual_values(km.KolmogorovModel(), zoo, given=("item_reg",))
    sparse = usual_values(km.KolmogorovModel(unobserved="auto"), zoo.subset(zoo.item_rows() < 2), given=("user_reg",))
    assert min(dense["user_reg"]) < min(sparse["user_reg"]) == 1.0
    assert "unobserved" not in dense
    # No weight is above 1, and none is tried twice.
    assert sparse["unobserved"] == (0.3, 1.0)
    assert {*usual_values(km.KolmogorovModel(unobserved="auto"), zoo)} == {"n_events", "unobserved"}
    assert usual_values(km.baselines.MatrixFactorization(), zoo)["n_factors"] == (5, 10, 20)


def test_what_is_learned_is_not_searched_for(zoo):
    train, test = zoo.split(test_size=0.3, random_state=0)
    found = km.tune(train, folds=2)
    assert {*found.best.parameters} == {"n_events"}
    assert found.model.learned_from_ == "draws"
    # Whoever gives a ridge is shown what ridges do, of models learned from the ratings.
    given = km.tune(train, folds=2, n_events=4, item_reg=0.0)
    assert len({trial.user_reg for trial in given.trials}) > 3
    assert given.model.learned_from_ == "ratings"
    assert found.model.evaluate(test)["rmse"] < 1.02 * given.model.evaluate(test)["rmse"]


def test_the_models_own_callback_is_still_called(zoo):
    seen = []
    model = km.KolmogorovModel(callback=lambda sweep: seen.append(sweep.sweep))
    km.tune(zoo, model=model, n_events=2, user_reg=1.0, item_reg=0.0, folds=2, max_seconds=60)
    assert len(seen) > 4


def test_sizes_that_suit_the_table_are_shortened_too():
    short = shortened(km.BayesianKolmogorovModel(), 0.1)
    assert (short.burn_in, short.n_samples) == (15, 4)
    assert shortened(km.BayesianKolmogorovModel(), 1.0).burn_in == "auto"
