"""Pictures: Axes in, Axes out, and what is on them is what the model says."""

import numpy as np
import pytest

from kolmogorov import KolmogorovModel
from kolmogorov.errors import MissingExtraError, UnknownIdError
from kolmogorov.interpret.events import GREY, EventItems, colour

matplotlib = pytest.importorskip("matplotlib", reason="plots need the extra 'plot'")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model(zoo):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(zoo)


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def texts(labels):
    return [label.get_text() for label in labels]


def test_axes_in_axes_out(model):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for draw in (model.plot.users, model.plot.events, model.plot.matrix, model.explain("dove", "eggs").plot):
        _, ax = pyplot.subplots()
        assert draw(ax=ax) is ax
        ax.figure.canvas.draw()
        assert draw().figure is not ax.figure


def test_events_are_bars_by_name_and_the_matrix_shows_supports(model):
    ax = model.plot.events()
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(sorted(model.fitted_.population))
    assert set(texts(ax.get_yticklabels())) == set(EventItems(model.fitted_).names())
    assert len(model.plot.matrix().get_yticks()) == len({tuple(row) for row in model.psi_.tolist()})
    assert len(model.plot.matrix(max_rows=3).get_yticks()) == 3


def test_users_are_made_of_events(model):
    ax = model.plot.users(["dove", "bear", "bass"])
    names = texts(ax.get_yticklabels())
    assert sorted(names) == ["bass", "bear", "dove"]
    theta = model.theta_[model.users_.encode(names)]
    assert np.allclose(np.array([[bar.get_width() for bar in bars] for bars in ax.containers]).T, theta)
    assert (np.diff(theta.argmax(axis=1)) >= 0).all()
    assert len(model.plot.users(max_rows=4).get_yticks()) == 4
    with pytest.raises(UnknownIdError):
        model.plot.users(["unicorn"])


def test_without_matplotlib_the_command_is_told(model, monkeypatch):
    monkeypatch.setattr("kolmogorov._support.outside.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[plot\]'"):
        model.plot.events()


def test_an_explanation_is_a_waterfall_that_ends_at_the_prediction(model):
    why = model.explain("dove", "eggs")
    ax = why.plot()
    assert len(ax.patches) == len(why.steps) > 2
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx([amount for _, amount in why.steps])
    assert [bar.get_x() for bar in ax.patches] == pytest.approx([0.0, *np.cumsum(widths)[:-1]])
    assert sum(widths) == pytest.approx(why.probability, abs=1e-3)
    assert ax.get_xlabel() == f"prediction {sum(widths):.2f}"
    assert texts(ax.get_yticklabels())[0] == "everybody"
    # An event has its colour here as everywhere; where the way begins is grey.
    assert matplotlib.colors.same_color(ax.patches[1].get_facecolor(), colour(why.events[0].event))
    assert matplotlib.colors.same_color(ax.patches[0].get_facecolor(), GREY)
