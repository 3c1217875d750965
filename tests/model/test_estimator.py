import io
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, datasets, metrics, tune
from kolmogorov.errors import DataError, FileFormatError, KolmogorovWarning, ParameterError, UnknownIdError
from kolmogorov.solvers import resolve

_WHOLE_ROWS = "predict(X) completes the table and returns a number for each item; the check wants one for each row"


@pytest.mark.long("scikit-learn's checks")
@parametrize_with_checks(
    [
        KolmogorovModel(n_events=3, max_iter=5, n_jobs=1),
        KolmogorovModel(n_events=3, learn_from="ratings", max_iter=5, n_jobs=1),
        BayesianKolmogorovModel(2, n_chains=1, burn_in=3, n_samples=4, random_state=0),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), _WHOLE_ROWS
    ),
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_every_input_gives_the_same_model():
    table = np.where(np.random.default_rng(0).random((12, 9)) < 0.7, np.random.default_rng(1).random((12, 9)), np.nan)
    observed = ~np.isnan(table)
    rows, columns = np.nonzero(observed)
    sparse = sp.coo_array((table[observed], (rows, columns)), shape=table.shape)
    fits = [
        KolmogorovModel(3, random_state=1).fit(X)
        for X in (table, sparse, sp.csr_matrix(sparse), sp.csc_array(sparse), Observations.from_dense(table))
    ]
    for other in fits[1:]:
        assert np.array_equal(fits[0].theta_, other.theta_)
        assert np.array_equal(fits[0].psi_, other.psi_)


def test_ids_without_training_entries_count_as_unknown():
    table = Observations.from_dense([[1.0, 0.0, np.nan], [0.0, 1.0, np.nan], [np.nan, np.nan, np.nan]])
    model = KolmogorovModel(2, learn_from="ratings", user_reg=0.0, item_reg=0.1, random_state=0).fit(table)
    assert model.predict(0, 2) == pytest.approx(model.theta_[0] @ model.psi_[2])
    np.testing.assert_allclose(model.theta_[2], model.theta_[:2].mean(axis=0))
    with pytest.raises(UnknownIdError):
        model.predict(0, 2, unknown="error")
    with pytest.raises(UnknownIdError):
        model.evaluate(Observations.from_dense([[np.nan, np.nan, 1.0]]), unknown="error")
    assert 2 not in model.recommend(0, exclude_seen=False)["item"].tolist()


def test_yes_no_scores_agree_with_scikit_learn(zoo):
    from sklearn.metrics import brier_score_loss, log_loss

    train, test = zoo.split(random_state=0)
    model = KolmogorovModel(4, learn_from="ratings", user_reg=1.0, random_state=0).fit(train)
    scores, p = model.evaluate(test), model.predict(test)
    assert scores["accuracy"] == pytest.approx(((p >= 0.5) == test.values).mean())
    assert scores["log_loss"] == pytest.approx(log_loss(test.values, p))
    assert scores["brier"] == pytest.approx(brier_score_loss(test.values, p))


def test_fold_in_of_new_users_and_items(zoo):
    old = np.arange(zoo.n_users) < 90
    train = zoo.subset(old[zoo.user_rows()])
    model = KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(train)
    names = np.array([f"new {name}" for name in zoo.users.ids[zoo.user_rows()]], dtype=object)
    fresh = ~old[zoo.user_rows()]
    strangers = Observations.from_arrays(names[fresh], zoo.items.ids[zoo.item_rows()][fresh], zoo.values[fresh])
    theta = model.fold_in(strangers)
    assert theta.shape == (11, 5)
    table = model.inverse_transform(theta)
    truth = strangers.values.reshape(11, 15)
    assert ((table >= 0.5) == truth).mean() > 0.8
    likes = Observations.from_arrays(zoo.users.ids[:90], ["new trait"] * 90, train.values.reshape(-1, 15)[:90, 3])
    psi = model.fold_in(likes)
    assert psi.dtype == bool
    assert np.array_equal(psi[0], model.psi_[3])
    both = Observations.from_arrays(["x"], ["y"], [1])
    with pytest.raises(DataError, match="item 'y' and user 'x' are unknown"):
        model.fold_in(both)
    with pytest.raises(DataError, match="1 item.s. are unknown to the model, the first is 'y'"):
        model.fold_in(both, side="users")
    with pytest.raises(ParameterError, match="'side' must be"):
        model.fold_in(zoo, side="rows")
    with pytest.raises(DataError, match="fold_in takes Observations, got ndarray"):
        model.fold_in(np.eye(3))


@pytest.mark.parametrize("psi", ["binary", "soft"])
def test_it_says_no_certainty_that_it_does_not_have(zoo, psi):
    train, test = zoo.split(0.2, random_state=0)
    means = metrics.guess_scores(train, test)["item means"]["log_loss"]
    # Of few bits a rare trait may have none, and then never happens.
    model = KolmogorovModel("auto" if psi == "soft" else 9, psi=psi, random_state=0).fit(train)
    assert model.evaluate(test)["log_loss"] < means


def test_it_works_in_a_pipeline_and_a_grid_search(zoo):
    table = zoo.values.reshape(101, 15)
    theta = make_pipeline(KolmogorovModel(3, random_state=0)).fit_transform(table)
    assert theta.shape == (101, 3)
    search = GridSearchCV(
        KolmogorovModel(learn_from="ratings", random_state=0, n_jobs=1),
        {"n_events": [1, 4], "item_solver": ["auto", resolve("binary", "local_search")]},
        scoring=lambda model, X, y=None: -((model.predict(X) - X) ** 2).mean(),
        cv=3,
    ).fit(table)
    assert search.best_params_["n_events"] == 4
    assert clone(search.best_estimator_).get_params()["n_events"] == 4


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_events": 0}, "'n_events'"),
        ({"n_events": 2.5}, "'n_events'"),
        ({"user_reg": -1}, "'user_reg'"),
        ({"item_reg": np.inf}, "'item_reg'"),
        ({"prior": "flat"}, "'mean', 'uniform', got 'flat'"),
        ({"item_solver": "exhaustive", "n_events": 31}, "30"),
        ({"user_solver": "pairwize"}, "'pairwise'"),
        ({"max_iter": True}, "'max_iter'"),
        ({"tol": "small"}, "'tol'"),
        ({"callback": 3}, "'callback'"),
        ({"learn_from": "hearsay"}, "'draws', 'ratings', got 'hearsay'"),
        ({"n_init": 0}, "'n_init'"),
        ({"item_solver": "coordinate", "psi": "binary"}, "'coordinate'"),
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"random_state": -4}, "'random_state'"),
    ],
)
def test_bad_parameters_are_named(zoo, options, named):
    with pytest.raises(ValueError, match=named):
        KolmogorovModel(**options).fit(zoo)


def test_bad_tables_are_named(zoo):
    with pytest.raises(ValueError, match="Negative values"):
        KolmogorovModel(2).fit([[1.0, -1.0]])
    model = KolmogorovModel(2, random_state=0).fit([[0.0, 1.0]])
    with pytest.raises(DataError, match=r"cell \(0, 1\): value must be at most the maximum 1, got 3"):
        model.transform([[0.0, 3.0]])
    with pytest.raises(DataError, match=r"shape \(n, 2\), got \(1, 1\)"):
        model.inverse_transform([[1.0]])
    with pytest.raises(DataError, match="Read files with kolmogorov.read_ratings"):
        model.fit("ratings.csv")
    with pytest.raises(ValueError, match="read-only"):
        model.theta_[0] = 0
    with pytest.raises(DataError, match="Expected a table of numbers"):
        BayesianKolmogorovModel(3).fit({"a": 1})


def test_callback_history_and_early_stop(zoo):
    seen = []

    def stop_at_three(sweep):
        seen.append(sweep)
        return sweep.sweep == 3

    model = KolmogorovModel(4, learn_from="ratings", tol=0, max_iter=10, random_state=0, callback=stop_at_three).fit(
        zoo
    )
    assert model.n_iter_ == 3
    assert seen == model.history_
    first = model.history_[0]
    assert first.user_seconds >= 0


@pytest.fixture
def python_handles_sigint():
    """A process started in the background of a shell ignores SIGINT, and its children do."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handles_sigint")
def test_a_real_sigint_in_the_middle_of_a_sweep():
    table = datasets.load("planted", n_users=3000, n_items=400, n_events=6, n_observations=200_000, noise=0.1)

    def interrupt_soon(sweep):
        if sweep.sweep == 1:
            threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()

    options = {"learn_from": "ratings", "tol": 0, "random_state": 0, "n_jobs": 2}
    model = KolmogorovModel(20, max_iter=100_000, callback=interrupt_soon, **options).fit(table)
    assert 1 <= model.n_iter_ < 100_000
    again = KolmogorovModel(20, max_iter=model.n_iter_, **options).fit(table)
    assert np.array_equal(model.theta_, again.theta_)


KILLED_FIT = """
    import os, signal, sys
    from kolmogorov import KolmogorovModel, datasets

    def kill(sweep):
        kill.count += 1
        if kill.count == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

    kill.count = 0
    table = datasets.load("planted", n_users=60, n_items=40, noise=0.2)
    KolmogorovModel(
        18, learn_from="ratings", n_init=2, max_iter=8, tol=1e-7, random_state=4, checkpoint=sys.argv[1],
        callback=kill, n_jobs=1
    ).fit(table)
"""


@pytest.mark.long("processes that are interrupted")
@pytest.mark.parametrize("sweeps", [11])
def test_a_killed_fit_goes_on_to_the_same_bits(tmp_path, sweeps):
    path = tmp_path / "state.ckpt"
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED_FIT), str(path), str(sweeps)], check=False)
    assert killed.returncode == -signal.SIGKILL
    table = datasets.load("planted", n_users=60, n_items=40, noise=0.2)
    options = {"learn_from": "ratings", "n_init": 2, "max_iter": 8, "tol": 1e-7, "random_state": 4}
    count = []
    resumed = KolmogorovModel(18, checkpoint=path, callback=count.append, **options).fit(table)
    whole = KolmogorovModel(18, **options).fit(table)
    assert len(count) < 16
    assert np.array_equal(resumed.theta_, whole.theta_)
    assert np.array_equal(resumed.psi_, whole.psi_)
    assert [s.objective for s in resumed.history_] == [s.objective for s in whole.history_]
    finished = KolmogorovModel(18, checkpoint=path, callback=pytest.fail, **options).fit(table)
    assert np.array_equal(finished.theta_, whole.theta_)
    assert list(tmp_path.iterdir()) == [path]


def test_a_checkpoint_of_another_fit_is_refused(tmp_path, zoo):
    path = tmp_path / "state.ckpt"
    KolmogorovModel(3, learn_from="ratings", random_state=0, checkpoint=path).fit(zoo)
    with pytest.raises(FileFormatError, match="checkpoint of another fit"):
        KolmogorovModel(4, learn_from="ratings", random_state=0, checkpoint=path).fit(zoo)
    with pytest.raises(FileFormatError, match="checkpoint of another fit"):
        KolmogorovModel(3, learn_from="ratings", random_state=0, checkpoint=path).fit(zoo.split(random_state=0)[0])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FileFormatError, match="damaged"):
        KolmogorovModel(3, learn_from="ratings", random_state=0, checkpoint=path).fit(zoo)


def test_a_frame_gives_its_names(zoo):
    table = pd.DataFrame(zoo.values.reshape(101, 15), index=list(zoo.users.ids), columns=list(zoo.items.ids[::-1]))
    model = KolmogorovModel(3, learn_from="ratings", random_state=0).fit(table)
    assert model.items_.ids.tolist() == zoo.items.ids[::-1].tolist()
    assert model.explain("dolphin", "milk").probability == pytest.approx(model.predict("dolphin", "milk"))
    np.testing.assert_allclose(model.transform(table), model.theta_, atol=1e-6)
    model.fit(zoo)
    assert not hasattr(model, "feature_names_in_")
    for labels in (["x", "y", "z"], ["a", "b"]), ([3, 5, 9], [10, 20]):
        frame = pd.DataFrame([[5.0, 1.0], [1.0, 5.0], [np.nan, 5.0]], index=labels[0], columns=labels[1])
        model.fit(frame)
        assert (model.users_.ids.tolist(), model.items_.ids.tolist()) == tuple(list(map(str, side)) for side in labels)
    with pytest.warns(KolmogorovWarning, match="integers out of order"):
        model.fit(pd.DataFrame([[5.0, 1.0], [1.0, 5.0]], index=[7, 3], columns=["a", "b"]))
    assert model.users_.ids.tolist() == ["0", "1"]


# --- what a fit says, and what callbacks answer -----------------------------------------------------------------------


def test_people_see_a_line_that_moves_and_verbose_is_a_line_for_each_chain(zoo, monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    model = BayesianKolmogorovModel(2, n_chains=2, burn_in=2, n_samples=2, random_state=0).fit(zoo)
    moving, said = screen.getvalue().rsplit("\r", 1)
    assert moving.startswith("\rchain 1/2  sweep 1/10")
    assert not moving.rsplit("\r", 1)[1].strip()
    assert said.startswith("kolmogorov: 2 events")
    for watched, options in ((False, {}), (True, {"callback": lambda draw: None})):
        screen = io.StringIO()
        screen.isatty = lambda watched=watched: watched
        monkeypatch.setattr(sys, "stderr", screen)
        model.set_params(**options).fit(zoo)
        assert "\r" not in screen.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    model.set_params(verbose=1, callback=None).fit(zoo)
    assert sys.stderr.getvalue().splitlines() == ["chain 1/2  sweep 10/10", "chain 2/2  sweep 10/10"]


@pytest.mark.parametrize("answer", [True, np.True_])
def test_numpys_true_stops_like_pythons(zoo, answer):
    options = {"learn_from": "ratings", "tol": 0, "random_state": 0, "callback": lambda sweep: answer}
    assert KolmogorovModel(4, max_iter=9, **options).fit(zoo).n_iter_ == 1
    drawn = []
    BayesianKolmogorovModel(
        3, n_chains=2, burn_in=2, n_samples=3, random_state=0, callback=lambda draw: drawn.append(draw) or answer
    ).fit(zoo)
    assert len(drawn) < drawn[0].n_sweeps
    trials = []
    found = tune(
        zoo, n_events=(1, 2), user_reg=(1.0, 3.0), item_reg=0.0, folds=2, callback=lambda *a: trials.append(a) or answer
    )
    assert len(trials) == len(found.settings) == 1
    assert found.model.n_events == 1
