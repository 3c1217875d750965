"""Pictures: Axes in, Axes out, and what is on them is what the model says."""

import numpy as np
import pytest

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations
from kolmogorov.errors import DataError, MissingExtraError, UnknownIdError
from kolmogorov.interpret.events import GREY, EventItems, colour

matplotlib = pytest.importorskip("matplotlib", reason="plots need the extra 'plot'")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def split(zoo):
    return zoo.split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def model(split):
    return KolmogorovModel(5, learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(split[0])


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def texts(labels):
    return [label.get_text() for label in labels]


def test_events_are_bars_by_name(model):
    ax = model.plot.events()
    share = model.fitted_.theta_or_population[-1]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(sorted(share))
    assert set(texts(ax.get_yticklabels())) == set(EventItems(model.fitted_).names())


def test_axes_in_axes_out(model, split):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    plots = (
        model.plot.users,
        model.plot.events,
        model.plot.matrix,
        model.plot.order,
        model.plot.history,
        model.plot.calibration,
        model.relations().rules(split[0]).plot,
        model.explain("dove", "eggs").plot,
    )
    for draw in plots:
        _, ax = pyplot.subplots()
        assert draw(ax=ax) is ax
        ax.figure.canvas.draw()
        assert draw().figure is not ax.figure


def test_the_matrix_shows_supports(model):
    ax = model.plot.matrix()
    classes = {tuple(row) for row in model.psi_.tolist()}
    assert len(ax.get_yticks()) == len(classes)
    assert len(model.plot.matrix(max_rows=3).get_yticks()) == 3


def test_users_are_made_of_events(model):
    ax = model.plot.users(["dove", "bear", "bass"])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert sorted(names) == ["bass", "bear", "dove"]
    widths = np.array([[bar.get_width() for bar in bars] for bars in ax.containers])
    theta = model.theta_[model.users_.encode(names)]
    assert np.allclose(widths.T, theta)
    assert (np.diff(theta.argmax(axis=1)) >= 0).all()
    assert len(model.plot.users(max_rows=4).get_yticks()) == 4
    with pytest.raises(UnknownIdError):
        model.plot.users(["unicorn"])


def test_the_order_shows_covers(model):
    order = model.relations().order
    ax = model.plot.order()
    assert len(ax.lines) == len(order.covers)
    assert len(ax.texts) == len(order)
    assert len(model.plot.order(max_classes=4).texts) == 4


def test_curves_are_those_of_the_fit(model, split, zoo):
    (line,) = model.plot.history().lines
    assert line.get_ydata().tolist() == [sweep.rmse for sweep in model.history_]
    assert len(model.plot.calibration(zoo).collections) == 1
    with pytest.raises(DataError, match="trained on all of these"):
        model.plot.calibration(split[0])


def test_rules_and_explanations(model, split):
    rules = model.relations().rules(split[0], kinds=("implication", "exclusion"))
    ax = rules.plot(n_labels=2)
    assert len(ax.texts) == 2
    assert texts(ax.get_legend().get_texts()) == ["implication", "exclusion"]
    assert sum(len(dots.get_offsets()) for dots in ax.collections) == int((rules.support > 0).sum())
    why = model.explain("dove", "eggs")
    widths = [bar.get_width() for bar in why.plot().patches]
    assert widths[0] == pytest.approx(why.base)
    assert sum(widths) == pytest.approx(why.probability)


def test_draws_have_pictures_too(zoo):
    drawn = BayesianKolmogorovModel(4, n_chains=1, burn_in=10, n_samples=4, random_state=0).fit(zoo)
    for draw in (drawn.plot.events, drawn.plot.matrix, drawn.plot.order, drawn.plot.calibration):
        draw().figure.canvas.draw()
    # Of draws, the descent by which the one model was learned that they are read by.
    (line,) = drawn.plot.history().lines
    assert line.get_ydata().tolist() == [sweep.rmse for sweep in drawn._one_model.history]


def test_names_are_no_formulas(model):
    ax = model.explain("dove", "eggs").plot()
    ax.set_title("")
    from kolmogorov.interpret.plot import short

    assert short("a$b$c") == r"a\$b\$c"
    assert short("x" * 99, 10) == "x" * 9 + "…"


def test_colours_differ():
    assert len({colour(event) for event in range(36)}) == 36


def test_without_matplotlib_the_command_is_told(model, monkeypatch):
    monkeypatch.setattr("kolmogorov._support.optional.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[plot\]'"):
        model.plot.events()


@pytest.mark.parametrize("kind", ["chances", "stars", "draws"])
def test_an_explanation_is_a_waterfall_that_ends_at_the_prediction(zoo, model, kind):
    if kind == "stars":
        rng = np.random.default_rng(0)
        stars = np.clip(np.rint(3 + 1.3 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))), 1, 5)
        rated = Observations.from_dense(stars, minimum=0, maximum=5)
        why = KolmogorovModel(4, psi="soft", random_state=0).fit(rated).explain(3, 4)
    elif kind == "draws":
        why = (
            BayesianKolmogorovModel(4, n_chains=1, burn_in=10, n_samples=4, random_state=0)
            .fit(zoo)
            .explain("dove", "eggs")
        )
    else:
        why = model.explain("dove", "eggs")
    ax = why.plot()
    assert len(ax.patches) == len(why.steps) > 2
    reached = 0.0
    for bar, (_, amount) in zip(ax.patches, why.steps, strict=True):
        assert bar.get_x() == pytest.approx(reached, abs=1e-9)
        assert bar.get_width() == pytest.approx(amount, abs=1e-9)
        reached += amount
    unit, read = (why.scale.span, why.rating) if kind == "stars" else (1.0, why.probability)
    assert reached == pytest.approx(read, abs=1e-3 * unit)
    assert ax.get_xlabel() == f"prediction {reached:.2f}"
    labels = texts(ax.get_yticklabels())
    assert labels[0] == "everybody"
    assert (labels[-1] == "what the draws say beyond") == (kind == "draws")
    assert texts(ax.texts)[0] == f"{why.steps[0][1]:.2f}"
    assert texts(ax.texts)[1] == f"{why.steps[1][1]:+.2f}"
    # An event has its colour here as everywhere; where the way begins is grey.
    assert matplotlib.colors.same_color(ax.patches[1].get_facecolor(), colour(why.events[0].event))
    assert matplotlib.colors.same_color(ax.patches[0].get_facecolor(), GREY)
