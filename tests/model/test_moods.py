"""Moods of users: learned from the times of ratings, and told at others."""

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from helpers.forgery import forged
from kolmogorov.errors import DataError, FileFormatError, ParameterError

SHORT = {"n_chains": 2, "burn_in": 30, "n_samples": 10, "random_state": 0}
HALF_LIFE, DEVIATION = 20.0, 0.15


def planted(seed=0, n_users=60, n_items=50):
    """Ratings of two tastes in sittings, each with a mood; the whole table, with times."""
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.ones(2), n_users), rng.random((n_items, 2))
    sitting = rng.integers(0, 5, (n_users, n_items))
    times = 1000.0 * sitting + rng.uniform(0, 60, sitting.shape)
    chances = theta @ psi.T
    for user in range(n_users):
        gaps = np.abs(np.subtract.outer(times[user], times[user]))
        chances[user] += rng.multivariate_normal(np.zeros(n_items), DEVIATION**2 * 2.0 ** (-gaps / HALF_LIFE))
    values = chances + 0.08 * rng.standard_normal(chances.shape)
    ratings = km.Observations.from_dense(np.clip(5.0 * values, 0.0, 5.0), minimum=0, maximum=5, scaling="minmax")
    return ratings.with_times(times.ravel()).split(test_size=0.3, random_state=seed)


@pytest.fixture(scope="module")
def parts():
    return planted()


@pytest.fixture(scope="module")
def model(parts):
    return km.BayesianKolmogorovModel(3, time="mood", **SHORT).fit(parts[0])


def test_moods_are_learned(parts, model):
    assert 0.5 * HALF_LIFE < model.mood_half_life_ < 2.0 * HALF_LIFE
    assert 0.7 * DEVIATION < model.mood_deviation_ / 5.0 < 1.4 * DEVIATION
    _, test = parts
    plain = km.BayesianKolmogorovModel(3, **SHORT).fit(parts[0]).evaluate(test)
    timed = model.evaluate(test)
    assert timed["rmse"] < 0.85 * plain["rmse"]
    assert timed["log_score"] > plain["log_score"]
    assert timed.keys() == plain.keys()
    assert 0.86 < timed["coverage_90"] < 0.94


def test_times_come_with_observations_or_beside_pairs(parts, model):
    _, test = parts
    pairs = test.users.ids[test.user_rows()], test.items.ids[test.item_rows()]
    np.testing.assert_array_equal(model.predict(test), model.predict(*pairs, times=test.times))
    mean, deviation = model.predict(test, output="rating", return_std=True)
    np.testing.assert_allclose(mean, 5.0 * model.predict(test))
    assert (deviation > 0.0).all()
    for of in ("rating", "probability"):
        low, high = model.predict_interval(test, of=of)
        np.testing.assert_array_equal((low, high), model.predict_interval(*pairs, times=test.times, of=of))
        assert (low <= high).all()
    chances = model.predict_distribution(test)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(chances @ model.rating_values_, 5.0 * model.predict(test), atol=1e-6)
    user, item, when = pairs[0][3], pairs[1][3], float(test.times[3])
    assert model.predict(user, item, times=when) == model.predict(test)[3]
    assert model.predict_distribution(user, item, times=when, as_frame=True).shape == (1, chances.shape[1])


def test_far_from_all_ratings_and_without_a_time_there_is_no_mood(model):
    late = model.predict(4, np.arange(50), times=1e9)
    np.testing.assert_allclose(late, model.predict(4, np.arange(50)), atol=1e-7)
    apart = np.subtract(*model.predict_interval(4, np.arange(50), times=1e9)[::-1])
    unknown = np.subtract(*model.predict_interval(4, np.arange(50))[::-1])
    np.testing.assert_allclose(apart, unknown, rtol=1e-4)
    # In a sitting that is known, it is known better.
    near = np.subtract(*model.predict_interval(4, np.arange(50), times=1030.0)[::-1])
    assert (near < unknown).all()
    stranger = model.predict(777, 3, times=1030.0, unknown="ignore")
    assert stranger == pytest.approx(model.predict(777, 3, unknown="ignore"))


@pytest.fixture(scope="module")
def acquainted(parts):
    """Return a model that knows moods and attributes, fitted to dates."""
    train, _ = parts
    start = np.datetime64("2024-05-01T00:00:00")
    dated = train.with_times(start + (1e3 * train.times).astype("timedelta64[ms]"))
    people = pd.DataFrame({"user": range(60), "age": np.arange(60.0) % 7})
    films = pd.DataFrame({"item": range(50), "year": np.arange(50.0) % 9})
    short = SHORT | {"burn_in": 8, "n_samples": 4}
    return km.BayesianKolmogorovModel(3, time="mood", **short).fit(dated, users=people, items=films)


def test_new_users_and_items_are_asked_of_at_a_time(acquainted):
    when = np.datetime64("2024-05-01T00:17:00")
    film = pd.DataFrame({"item": [900, 901], "year": [3.0, 8.0]})
    somebody = pd.DataFrame({"user": [700], "age": [5.0]})
    known = acquainted.introduce(users=somebody, items=film)
    for users, items, ids in (
        (4, film, (4, [900, 901])),
        (somebody, 3, (700, 3)),
        (somebody, film, (700, [900, 901])),
    ):
        for verb, options in (
            ("predict", {"output": "rating"}),
            ("predict", {"return_std": True}),
            ("predict_interval", {"level": 0.8}),
            ("predict_distribution", {}),
            ("predict_distribution", {"as_frame": True}),
        ):
            found = getattr(acquainted, verb)(users, items, times=when, **options)
            expected = getattr(known, verb)(*ids, times=when, **options)
            np.testing.assert_array_equal(np.squeeze(found), np.squeeze(expected))
    # Of somebody new no mood is known; of others it is the same for what is new.
    np.testing.assert_allclose(acquainted.predict(somebody, film, times=when), acquainted.predict(somebody, film))
    moods = known.predict(4, [900, 901, 7], times=when) - known.predict(4, [900, 901, 7])
    np.testing.assert_allclose(moods, moods[0], atol=1e-9)
    assert abs(moods[0]) > 1e-6


def test_dates_are_seconds_where_the_training_data_have_dates(parts, model, acquainted, tmp_path):
    train, _ = parts
    assert acquainted.fitted_.training.dated
    dates = [np.datetime64("2024-05-01T00:17"), pd.Timestamp("2024-05-01T00:17"), "2024-05-01T02:17+02:00"]
    seconds = pd.Timestamp("2024-05-01T00:17").timestamp()
    expected = acquainted.predict(4, 7, times=seconds)
    assert expected != acquainted.predict(4, 7)
    acquainted.save(tmp_path / "m.km")
    for one in (acquainted, km.load(tmp_path / "m.km")):
        assert [one.predict(4, 7, times=date) for date in dates] == [expected] * 3
        np.testing.assert_array_equal(one.predict([4, 4], [7, 7], times=pd.Series(dates[:1] * 2)), [expected] * 2)
    with pytest.raises(DataError, match=r"must be numbers in the unit of the training data, such as .*, got dates"):
        model.predict(4, 7, times=dates[0])
    with pytest.raises(DataError, match="got dates"):
        model.evaluate(train.with_times(np.full(len(train), dates[0])))


def test_the_same_bits_on_any_number_of_threads_and_from_a_file(parts, model, tmp_path):
    train, test = parts
    other = km.BayesianKolmogorovModel(3, time="mood", n_jobs=1, **SHORT).fit(train)
    np.testing.assert_array_equal(other.predict(test), model.predict(test))
    model.save(tmp_path / "m.km")
    loaded = km.load(tmp_path / "m.km")
    np.testing.assert_array_equal(loaded.predict(test), model.predict(test))
    assert loaded.mood_half_life_ == model.mood_half_life_


def test_without_asking_times_change_nothing(parts):
    train, test = parts
    bare = km.Observations(train.users, train.items, train.rows, train.scale)
    short = SHORT | {"burn_in": 5, "n_samples": 3}
    one, two = (km.BayesianKolmogorovModel(3, **short).fit(table) for table in (train, bare))
    np.testing.assert_array_equal(one.posterior_.theta, two.posterior_.theta)
    np.testing.assert_array_equal(one.predict(test), two.predict(test))
    assert one.evaluate(test) == two.evaluate(test)


def test_a_killed_fit_goes_on(parts, tmp_path):
    train, test = parts
    options = {"time": "mood", **SHORT, "burn_in": 4, "n_samples": 3, "n_jobs": 1}
    whole = km.BayesianKolmogorovModel(3, **options).fit(train)

    def stop(draw):
        if draw.chain == 1 and draw.sweep == 2:
            raise KeyboardInterrupt

    path = tmp_path / "chains"
    with pytest.raises(KeyboardInterrupt):
        km.BayesianKolmogorovModel(3, **options, checkpoint=path, callback=stop).fit(train)
    gone_on = km.BayesianKolmogorovModel(3, **options, checkpoint=path).fit(train)
    np.testing.assert_array_equal(gone_on.predict(test), whole.predict(test))
    later = train.with_times(train.times + 1.0 * (train.times > 2000.0))
    with pytest.raises(km.errors.KolmogorovError):
        km.BayesianKolmogorovModel(3, **options, checkpoint=path).fit(later)


def test_guests_and_the_one_model_know_no_time(parts, model):
    train, _ = parts
    guest = train.subset(train.user_rows() == 5)
    theta = model.fold_in(guest, "users")
    assert theta.shape[0] == train.n_users
    one = model.as_model(4)
    assert one.predict(5, 3) == one.predict(5, 3)
    assert model.recommend(5, 3, exclude_seen=False).shape[0] == 3


def test_what_does_not_go_with_moods_is_refused(parts, model, zoo, tmp_path):
    train, _ = parts
    moody = {"time": "mood", **SHORT}
    bare = km.Observations(train.users, train.items, train.rows, train.scale)
    # One that is never asked anything.
    cluster = object.__new__(km.execution.Dask)
    cluster.gpu = False
    with pytest.raises(DataError, match="needs to know when ratings were made"):
        km.BayesianKolmogorovModel(3, **moody).fit(bare)
    with pytest.raises(ParameterError, match="goes with likelihood 'gaussian'"):
        km.BayesianKolmogorovModel(3, **moody).fit(zoo.with_times(np.arange(len(zoo))))
    with pytest.raises(ParameterError, match="goes with likelihood 'gaussian'"):
        km.BayesianKolmogorovModel(3, unobserved="auto", **moody).fit(train)
    with pytest.raises(ParameterError, match="computed on threads"):
        km.BayesianKolmogorovModel(3, execution=cluster, **moody).fit(train)
    with pytest.raises(ParameterError, match="time"):
        km.BayesianKolmogorovModel(3, time="day").fit(train)
    with pytest.raises(DataError, match="fit again"):
        model.update(km.Observations.from_arrays([1], [2], [3], minimum=0, maximum=5, scaling="minmax"))
    plain = km.BayesianKolmogorovModel(3, **SHORT | {"burn_in": 2, "n_samples": 1}).fit(bare)
    with pytest.raises(DataError, match="knows no moods"):
        plain.predict(1, 2, times=3.0)
    with pytest.raises(DataError, match="knows no moods"):
        _ = plain.mood_half_life_
    for wrong in ([1.0, 2.0], [np.nan], "noon"):
        with pytest.raises(DataError, match="'times' must be"):
            model.predict(1, 2, times=wrong)
    model.save(tmp_path / "m.km")
    for change in (
        lambda meta, arrays: arrays.pop("seen_times"),
        lambda meta, arrays: arrays.update(seen_times=arrays["seen_times"][:-1]),
        lambda meta, arrays: arrays.update(seen_times=np.full_like(arrays["seen_times"], np.nan)),
        lambda meta, arrays: arrays.update(seen_times=1e300 * arrays["seen_times"]),
        lambda meta, arrays: arrays.pop("prior_half_life"),
        lambda meta, arrays: arrays.update(prior_mood=-arrays["prior_mood"]),
        lambda meta, arrays: meta["parameters"].update(time=None),
    ):
        (tmp_path / "f.km").write_bytes(forged((tmp_path / "m.km").read_bytes(), change))
        with pytest.raises(FileFormatError):
            km.load(tmp_path / "f.km")
