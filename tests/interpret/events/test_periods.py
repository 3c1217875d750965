"""A user by period: each is placed as a guest with the answers of that period would be."""

import numpy as np
import pytest

import kolmogorov as km
from kolmogorov.errors import DataError, ParameterError, UnknownIdError


@pytest.fixture(scope="module")
def votes():
    return km.datasets.load("un-votes", since=2017)


@pytest.fixture(scope="module")
def model(votes):
    return km.KolmogorovModel(4, learn_from="ratings", user_reg=1.0, random_state=0).fit(votes)


def alone(votes, country, since, until):
    """Return the votes of one country in some time."""
    own = votes.users.ids[votes.user_rows()] == country
    return votes.subset(own & (votes.times >= since) & (votes.times < until))


def test_each_period_is_folded_in(votes, model):
    found = model.theta_by_period("Brazil", 1)
    assert found.user == "Brazil"
    assert found.labels[0] == "2017"
    row = votes.users.encode(["Brazil"])[0]
    for start, count, theta in zip(found.starts, found.counts, found.theta, strict=True):
        part = alone(votes, "Brazil", start, start + 1)
        assert len(part) == count
        np.testing.assert_allclose(theta, model.fold_in(part, "users")[row], atol=1e-12)
    assert found.counts.sum() == (votes.user_rows() == row).sum()
    whole = model.theta_by_period("Brazil", 10_000)
    np.testing.assert_allclose(whole.theta[0], model.fold_in(alone(votes, "Brazil", 0, 9999), "users")[row], atol=1e-12)


def test_others_than_the_training_data_may_be_given(votes, model):
    train, test = votes.split(random_state=0)
    one = km.KolmogorovModel(4, learn_from="ratings", user_reg=1.0, random_state=0).fit(train)
    found = one.theta_by_period("Brazil", 1.5, test)
    assert found.counts.sum() == (test.users.ids[test.user_rows()] == "Brazil").sum()
    assert (found.theta >= 0).all()
    np.testing.assert_allclose(found.theta.sum(axis=1), 1.0)
    # Motions that the model does not know say nothing.
    early = km.KolmogorovModel(4, learn_from="ratings", random_state=0).fit(km.datasets.load("un-votes", since=2019))
    assert early.theta_by_period("Brazil", 1, votes).labels == ["2019", "2020"]


def test_draws_are_read_by_one_model(votes):
    few = votes.subset(votes.times > 2019.5)
    drawn = km.BayesianKolmogorovModel(3, n_chains=1, burn_in=5, n_samples=3, random_state=0).fit(few)
    found = drawn.theta_by_period("Brazil", 0.25)
    assert found.labels[0] == "2019.75–2020"
    assert found.theta.shape == (len(found.labels), drawn._one_model.n_events)
    frame = found.to_frame("pandas")
    assert frame["answers"].tolist() == found.counts.tolist()
    np.testing.assert_array_equal(frame["event0"], found.theta[:, 0])


def test_the_picture_shows_the_shares(model):
    pytest.importorskip("matplotlib", reason="plots need the extra 'plot'").use("Agg")
    found = model.theta_by_period("Brazil", 1)
    ax = found.plot()
    heights = np.array([bar.get_height() for bar in ax.patches]).reshape(found.theta.shape[1], -1).T
    np.testing.assert_allclose(heights, found.theta)
    assert [label.get_text() for label in ax.get_xticklabels()] == found.labels


def test_after_load_observations_bring_the_times(votes, model, tmp_path):
    model.save(tmp_path / "m.km")
    loaded = km.load(tmp_path / "m.km")
    with pytest.raises(DataError, match="these have no times; the file of a model keeps none.*as observations="):
        loaded.theta_by_period("Brazil", 1)
    expected = model.theta_by_period("Brazil", 1)
    np.testing.assert_array_equal(loaded.theta_by_period("Brazil", 1, observations=votes).theta, expected.theta)
    days = ((votes.times - 1970.0) * 365.25).astype("datetime64[D]")
    found = model.theta_by_period("Brazil", 86_400 * 365.25, votes.with_times(days))
    np.testing.assert_array_equal(found.counts.sum(), expected.counts.sum())
    assert found.labels[0].startswith(str(int(found.labels[0][:4])) + "-")


def test_what_makes_no_periods_is_refused(votes, model):
    for every in (0, -1, float("inf"), "5 years", True):
        with pytest.raises(ParameterError, match="every"):
            model.theta_by_period("Brazil", every)
    with pytest.raises(ParameterError, match="more than 10,000 periods"):
        model.theta_by_period("Brazil", 1e-5)
    with pytest.raises(UnknownIdError):
        model.theta_by_period("Atlantis", 1)
    zoo = km.datasets.load("zoo")
    with pytest.raises(DataError, match="when answers were given"):
        km.KolmogorovModel(3, learn_from="ratings", random_state=0).fit(zoo).theta_by_period("dove", 1)
    with pytest.raises(DataError, match="knows no item"):
        model.theta_by_period("dove", 1, zoo.with_times(np.arange(len(zoo))))
