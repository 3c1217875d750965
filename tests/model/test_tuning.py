import numpy as np
import pytest
from click.testing import CliRunner

import kolmogorov as km
from kolmogorov.cli import main
from kolmogorov.errors import ParameterError


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
        km.KolmogorovModel(3, user_reg=1.0, random_state=5).fit(train).evaluate(test)["rmse"]
        for train, test in zoo.folds(4, random_state=5)
    ]
    np.testing.assert_allclose(found.best.scores, expected)


def test_other_models_and_bad_grids(zoo):
    found = km.tune(zoo, n_events=2, user_reg=(1.0, 3.0), item_reg=0.0, model=km.NonnegativeModel(max_iter=5))
    assert isinstance(found.model, km.NonnegativeModel)
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
