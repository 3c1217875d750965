"""The companion of soft values: it predicts, and the hard model beside it stays what it was."""

import numpy as np
import pytest

import naive
from forgery import forged
from kolmogorov import KolmogorovModel, NonnegativeModel, Observations, bagged, load, metrics
from kolmogorov.errors import ConvergenceWarning, FileFormatError, UnknownIdWarning
from kolmogorov.model import relaxation
from kolmogorov.sampling.grid import FINE_STEPS, on_grid
from kolmogorov.surface.comparison import guess_errors


def stars(seed=0):
    """Ratings from 1 to 5: biases, two tastes, noise."""
    rng = np.random.default_rng(seed)
    score = 3 + rng.normal(0, 0.5, (150, 1)) + rng.normal(0, 0.5, (1, 60))
    score = score + rng.normal(size=(150, 2)) @ rng.normal(0, 0.7, (2, 60)) + rng.normal(0, 0.7, (150, 60))
    users, items = np.nonzero(rng.random((150, 60)) < 0.35)
    return Observations.from_arrays(users, items, np.clip(np.rint(score), 1, 5)[users, items], maximum=5)


def clicks(seed=0):
    """Yes and no by tastes."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(150, 2)) @ rng.normal(0, 1.5, (2, 60)) + rng.normal(0, 0.5, (1, 60))
    users, items = np.nonzero(rng.random((150, 60)) < 0.35)
    yes = rng.random((150, 60)) < 1 / (1 + np.exp(-score))
    return Observations.from_arrays(users, items, yes[users, items].astype(float))


@pytest.fixture(scope="module")
def model(zoo):
    return KolmogorovModel(4, random_state=0).fit(zoo)


def pairs_of(model):
    users, items = model.users_.ids, model.items_.ids
    return np.repeat(users, len(items)).tolist(), np.tile(items, len(users)).tolist()


@pytest.mark.parametrize("table", ["stars", "clicks", "zoo"])
def test_predictions_beat_biases_and_the_hard_model_is_kept(table, zoo):
    observations = {"stars": stars, "clicks": clicks}[table]() if table != "zoo" else zoo
    train, test = observations.split(test_size=0.2, random_state=0)
    soft = KolmogorovModel(random_state=0).fit(train)
    hard = KolmogorovModel(user_reg=10.0, item_reg=0.0, random_state=0).fit(train)
    guess = metrics.simple_guesses(train, test.user_rows(), test.item_rows())["user and item biases"]
    biases = metrics.evaluate(test.values, guess, test.weights, test.scale.span)["rmse"]
    assert soft.evaluate(test)["rmse"] < biases
    # What can be read is the hard model's, to the last bit.
    assert np.array_equal(soft.theta_, hard.theta_)
    assert np.array_equal(soft.psi_, hard.psi_)
    assert soft.psi_.dtype == bool
    assert [sweep.objective for sweep in soft.history_] == [sweep.objective for sweep in hard.history_]
    assert np.array_equal(soft.relations().implications, hard.relations().implications)
    assert [event.items for event in soft.events()] == [event.items for event in hard.events()]


def test_the_same_bits_on_any_number_of_threads(zoo, model):
    for n_jobs in (1, 2, 3):
        again = KolmogorovModel(4, random_state=0, n_jobs=n_jobs).fit(zoo)
        for name in ("theta", "psi", "centre", "ridges"):
            assert np.array_equal(getattr(again.fitted_.soft, name), getattr(model.fitted_.soft, name))
    other = KolmogorovModel(4, random_state=1).fit(zoo)
    assert not np.array_equal(other.fitted_.soft.theta, model.fitted_.soft.theta)


def test_a_model_predicts_with_soft_values(model):
    soft = model.fitted_.soft
    expected = np.clip(soft.theta @ soft.psi.T, 0, 1)
    assert model.predict(*pairs_of(model)) == pytest.approx(expected.ravel(), abs=1e-12)
    assert np.abs(expected - model.theta_ @ model.psi_.T).max() > 0.01
    user = model.users_.ids[3]
    found = model.recommend(user, n=5, exclude_seen=False, min_count=1)
    assert found["probability"].tolist() == pytest.approx(np.sort(expected[3])[::-1][:5], abs=1e-12)


@pytest.mark.parametrize("settings", [{"user_reg": 10.0}, {"item_reg": 0.0}, {"levels": 2}, {"prior": "uniform"}])
def test_no_soft_values_where_something_is_settled(zoo, settings):
    fitted = KolmogorovModel(3, max_iter=3, random_state=0, **settings).fit(zoo)
    assert not fitted.softens
    assert fitted.fitted_.soft is None
    expected = fitted.theta_ @ fitted.psi_.T
    assert fitted.predict(*pairs_of(fitted)) == pytest.approx(expected.ravel(), abs=1e-12)
    assert NonnegativeModel(3, max_iter=3, random_state=0).fit(zoo).fitted_.soft is None


def test_explanations_sum_to_predictions(model):
    for user, item in (("bear", "milk"), ("gull", "eggs"), ("bear", "feathers")):
        why = model.explain(user, item)
        assert why.probability == pytest.approx(model.predict(user, item), abs=1e-12)
        assert np.clip(why.contributions.sum(), 0, 1) == pytest.approx(why.probability, abs=1e-12)


def test_fold_in_is_of_the_hard_model_and_guests_are_of_the_soft_one(zoo, model):
    hard = KolmogorovModel(4, user_reg=10.0, item_reg=0.0, random_state=0).fit(zoo)
    guest = Observations.from_arrays(["g"] * 3, ["milk", "hair", "eggs"], [1.0, 1.0, 0.0])
    assert np.array_equal(model.fold_in(guest), hard.fold_in(guest))
    assert np.array_equal(model.transform(zoo), hard.transform(zoo))
    found = model.recommend(guest, n=4, min_count=1)
    assert found["item"].tolist() != []
    assert not set(found["item"]) & {"milk", "hair", "eggs"}
    # Someone who said what a user said is expected to go on as that user does.
    rows = slice(*zoo.rows.indptr[[3, 4]])
    said = {zoo.items.ids[k]: v for k, v in zip(zoo.rows.indices[rows], zoo.rows.values[rows], strict=True)}
    twin = model.recommend(guest=said, n=15, exclude_seen=False, min_count=1)
    chances = dict(zip(twin["item"], twin["probability"], strict=True))
    user = zoo.users.ids[3]
    assert [chances[i] for i in said] == pytest.approx([model.predict(user, i) for i in said], abs=0.15)
    plain = hard.recommend(guest=said, n=15, exclude_seen=False, min_count=1)
    assert sorted(plain["probability"]) != pytest.approx(sorted(twin["probability"]), abs=1e-3)


def test_the_unseen_are_the_average(zoo):
    train = zoo.split(test_size=0.2, random_state=0)[0]
    extended = Observations.from_arrays(
        train.users.ids[train.user_rows()], train.items.ids[train.item_rows()], train.values
    )
    model = KolmogorovModel(4, random_state=0).fit(extended)
    soft = model.fitted_.soft
    with pytest.warns(UnknownIdWarning):
        found = model.predict(["nobody", "nobody", "bear"], ["milk", "nothing", "nothing"])
    milk, bear = (names.encode([name], "id")[0] for names, name in ((model.items_, "milk"), (model.users_, "bear")))
    theta, psi = soft.theta.mean(axis=0), soft.psi.mean(axis=0)
    assert found == pytest.approx([theta @ soft.psi[milk], theta @ psi, soft.theta[bear] @ psi], abs=1e-9)


def test_saved_and_loaded_exactly(zoo, model, tmp_path):
    bag = bagged(zoo, 3, model=KolmogorovModel(3), random_state=0)
    for number, fitted in enumerate((model, bag)):
        path = tmp_path / f"{number}.km"
        fitted.save(path)
        same = load(path)
        assert np.array_equal(same.predict(zoo), fitted.predict(zoo))
        for name in ("theta", "psi", "centre", "ridges"):
            assert np.array_equal(getattr(same.fitted_.soft, name), getattr(fitted.fitted_.soft, name))
        same.save(tmp_path / "again.km")
        assert (tmp_path / "again.km").read_bytes() == path.read_bytes()
        assert same.recommend(guest={"milk": 1}, n=3).equals(fitted.recommend(guest={"milk": 1}, n=3))


def _with(name, change):
    def altered(meta, arrays):
        arrays[name] = change(arrays[name])

    return altered


def _first(number):
    def value(array):
        array.flat[0] = number
        return array

    return value


@pytest.mark.parametrize(
    "change",
    [
        _with("soft_theta", _first(np.nan)),
        _with("soft_theta", _first(-0.5)),
        _with("soft_theta", lambda a: a + np.float32(0.1)),
        _with("soft_theta", lambda a: a[:-1].copy()),
        _with("soft_theta", lambda a: a.astype(np.float64)),
        _with("soft_psi", _first(np.nan)),
        _with("soft_psi", _first(1e30)),
        _with("soft_psi", lambda a: a[:, :-1].copy()),
        _with("soft_psi", lambda a: a[None].copy()),
        _with("soft_centre", lambda a: 2 * a),
        _with("soft_centre", lambda a: a[:-1].copy()),
        _with("soft_ridges", _first(-1.0)),
        _with("soft_ridges", _first(np.inf)),
        _with("soft_ridges", lambda a: a[:1].copy()),
        lambda meta, arrays: arrays.pop("soft_psi"),
        lambda meta, arrays: arrays.pop("soft_ridges"),
    ],
)
def test_hostile_files_are_refused(model, tmp_path, change):
    path = tmp_path / "m.km"
    model.save(path)
    content = path.read_bytes()
    path.write_bytes(forged(content, lambda meta, arrays: None))
    assert load(path).fitted_.soft is not None
    path.write_bytes(forged(content, change))
    with pytest.raises(FileFormatError):
        load(path)


def test_a_bag_averages_soft_values_too(zoo):
    bag = bagged(zoo, 3, model=KolmogorovModel(3), random_state=0)
    soft = bag.fitted_.soft
    assert soft.theta.shape == bag.theta_.shape == (zoo.n_users, 9)
    assert np.array_equal(soft.theta, on_grid(soft.theta, FINE_STEPS))
    assert soft.n_members == 3
    np.testing.assert_allclose(soft.theta.reshape(zoo.n_users, 3, 3).sum(axis=2), 1 / 3, atol=1e-4)
    expected = np.clip(soft.theta @ soft.psi.T, 0, 1)[zoo.user_rows(), zoo.item_rows()]
    np.testing.assert_allclose(bag.predict(zoo), expected, atol=1e-12)
    assert bag.explain("bear", "milk").probability == pytest.approx(bag.predict("bear", "milk"), abs=1e-12)


def test_an_interrupt_while_averaging(zoo, monkeypatch):
    from kolmogorov.model import kolmogorov

    averaged = kolmogorov.averaged

    def interrupted(*arguments):
        run = averaged(*arguments)
        object.__setattr__(run, "interrupted", True)
        return run

    monkeypatch.setattr(kolmogorov, "averaged", interrupted)
    with pytest.warns(ConvergenceWarning, match="soft values"):
        model = KolmogorovModel(2, random_state=0).fit(zoo)
    assert model.interrupted_
    assert model.fitted_.soft is not None
    with pytest.raises(KeyboardInterrupt):
        KolmogorovModel(2, random_state=0).fit(zoo, keep_interrupted=False)


# --- where the unobserved counts as a no ----------------------------------------------------------------------------


def visits(seed=0):
    """Only yes is recorded, of what tastes lead to."""
    rng = np.random.default_rng(seed)
    theta, psi = rng.dirichlet(np.full(5, 0.2), 200), rng.random((90, 5)) < 0.2
    users, items = np.nonzero(rng.random((200, 90)) < 0.6 * theta @ psi.T)
    return Observations.from_arrays(users, items, np.ones(users.size))


@pytest.fixture(scope="module")
def halves():
    return visits().split(0.2, random_state=0, by="user")


@pytest.fixture(scope="module")
def visitors(halves):
    return KolmogorovModel(6, unobserved="auto", random_state=0, n_jobs=1).fit(halves[0])


def test_soft_values_of_only_yes_make_better_lists(halves, visitors):
    hard = KolmogorovModel(6, unobserved="auto", user_reg=10.0, item_reg=0.0, random_state=0).fit(halves[0])
    np.testing.assert_array_equal(visitors.psi_, hard.psi_)
    assert hard.fitted_.soft is None
    scores = [model.evaluate(halves[1], ranking=True)["ndcg"] for model in (hard, visitors)]
    assert scores[0] < scores[1]


def test_soft_thetas_of_only_yes_are_best_for_their_values(halves, visitors):
    train, values_and_weights = halves[0], naive.full_table(halves[0], visitors.unobserved_)
    alone = KolmogorovModel(6, unobserved="auto", n_soft=1, random_state=0).fit(train).fitted_.soft
    rng = np.random.default_rng(0)
    for soft in (alone, visitors.fitted_.soft.member(0), visitors.fitted_.soft.member(15)):
        for user in range(20):
            said, weights = (part[user] for part in values_and_weights)

            def cost(theta, soft=soft, said=said, weights=weights):
                distance = ((theta - soft.centre) ** 2).sum()
                return weights @ (soft.psi @ theta - said) ** 2 + soft.ridges[0] * distance

            others = 0.8 * soft.theta[user] + 0.2 * rng.dirichlet(np.ones(soft.n_events), 30)
            best = cost(soft.theta[user])
            # The centre moved once more after the last sweep.
            assert min(cost(theta) for theta in others) > best - 1e-2 * best


def test_an_average_is_that_of_its_members(halves, visitors):
    alone = KolmogorovModel(6, unobserved="auto", n_soft=1, random_state=0).fit(halves[0])
    assert (alone.fitted_.soft.n_members, visitors.fitted_.soft.n_members) == (1, 16)
    assert tuple(visitors.fitted_.soft.ridges) in relaxation._TRIED
    members = [visitors.fitted_.soft.member(number) for number in range(16)]
    together = np.mean([member.theta @ member.psi.T for member in members], axis=0)
    found = visitors.fitted_.soft.theta @ visitors.fitted_.soft.psi.T
    np.testing.assert_allclose(found, together, atol=1e-9)
    assert np.std([member.psi.sum() for member in members]) > 0.1


def test_an_average_is_explained_in_the_events_of_the_model(halves, visitors):
    train = halves[0]
    for user, item in ((0, 3), (7, 30), (150, 59)):
        why = visitors.explain(train.users.ids[user], train.items.ids[item])
        assert len(why.events) == visitors.n_events
        assert np.clip(why.contributions.sum(), 0, 1) == pytest.approx(why.probability, abs=1e-12)
        expected = visitors.predict(train.users.ids[user], train.items.ids[item])
        assert why.probability == pytest.approx(expected, abs=1e-9)
        assert sum(part.theta for part in why.events) == pytest.approx(1.0, abs=1e-6)


def test_large_tables_average_fewer(halves, monkeypatch):
    table = halves[0]
    work = len(table) + relaxation._ROW * (table.n_users + table.n_items)
    for most, expected in ((16, 16), (15.9, 8), (7, 4), (3.9, 2), (0.1, 2)):
        monkeypatch.setattr(relaxation, "_WORK", most * work)
        assert relaxation.usual_members(table) == expected


def test_a_callback_hears_of_the_descents_and_ends_them(halves):
    heard = []

    def told(sweep):
        heard.append(sweep.sweep)
        return len(heard) == 40

    model = KolmogorovModel(4, unobserved="auto", n_soft=4, max_iter=5, tol=0.0, random_state=0, callback=told)
    model.fit(halves[0])
    # Five of the model, six of each of the four ridges that are tried, and one whole descent.
    assert heard == list(range(1, 41))
    assert model.fitted_.soft.n_members == 1 + (40 - 5 - 24 - 6) // 6
    assert model.recommend(halves[0].users.ids[0], n=3)["item"].tolist() != []


@pytest.mark.parametrize("at", [8, 5 + 24 + 9])
def test_an_interrupt_keeps_what_is_whole(halves, at):
    def told(sweep):
        if sweep.sweep == at:
            raise KeyboardInterrupt

    model = KolmogorovModel(4, unobserved="auto", n_soft=4, max_iter=5, tol=0.0, random_state=0, callback=told)
    with pytest.warns(ConvergenceWarning):
        model.fit(halves[0])
    assert model.interrupted_
    assert model.predict(halves[0]).shape == (len(halves[0]),)
    with pytest.raises(KeyboardInterrupt):
        model.fit(halves[0], keep_interrupted=False)


@pytest.mark.parametrize("count", [5, 0, "16", 15])
def test_files_that_count_their_models_wrong_are_refused(visitors, tmp_path, count):
    path = tmp_path / "m.km"
    visitors.save(path)
    path.write_bytes(forged(path.read_bytes(), lambda meta, arrays: meta.update(n_members=count)))
    with pytest.raises(FileFormatError):
        load(path)


def test_soft_values_of_only_yes_have_the_same_bits_on_threads_and_from_a_file(halves, visitors, tmp_path):
    again = KolmogorovModel(6, unobserved="auto", random_state=0, n_jobs=3).fit(halves[0])
    np.testing.assert_array_equal(again.fitted_.soft.theta, visitors.fitted_.soft.theta)
    np.testing.assert_array_equal(again.fitted_.soft.psi, visitors.fitted_.soft.psi)
    visitors.save(tmp_path / "model.km")
    loaded = load(tmp_path / "model.km")
    np.testing.assert_array_equal(loaded.fitted_.soft.psi, visitors.fitted_.soft.psi)
    np.testing.assert_array_equal(loaded.predict(*pairs_of(visitors)), visitors.predict(*pairs_of(visitors)))


def test_guests_of_only_yes_get_the_lists_of_users_like_them(halves, visitors):
    train = halves[0]
    user = int(train.rows.counts.argmax())
    seen = train.items.ids[train.rows.indices[train.rows.indptr[user] : train.rows.indptr[user + 1]]]
    mine = visitors.recommendations(train.users.ids[user], n=5)["item"].tolist()
    theirs = visitors.recommendations(guest=dict.fromkeys(seen.tolist(), 1), n=5)["item"].tolist()
    assert len({*mine} & {*theirs}) >= 4


def test_few_answers_of_a_user_are_averaged_with_normal_noise(monkeypatch):
    """Yes and no of three factors, six answers a user: events cannot be told, but how much of a yes each side is."""
    rng = np.random.default_rng(1)
    signal = 0.5 * rng.standard_normal((1000, 3)) @ rng.standard_normal((3, 200)) + rng.standard_normal(200)
    users, items = np.divmod(np.flatnonzero(rng.random(signal.size) < 0.03), 200)
    answers = (signal[users, items] + rng.standard_normal(users.size) > 0.0).astype(float)
    train, test = Observations.from_arrays(users, items, answers).split(0.2, random_state=0)
    found = KolmogorovModel(random_state=0).fit(train).evaluate(test)["rmse"]
    monkeypatch.setattr("kolmogorov.model.kolmogorov._FEW_ANSWERS", 0)
    assert found < KolmogorovModel(random_state=0).fit(train).evaluate(test)["rmse"]
    rows = np.arange(train.n_users), np.arange(train.n_items)
    assert found < guess_errors(train, test, *rows)["user and item biases"]["rmse"]


def test_small_tables_are_not_left_in_a_poor_mode():
    # Two kinds of users and of items: from the descent's end every second chain makes all users alike.
    rng = np.random.default_rng(0)
    kind, taste = rng.random(12) < 0.5, rng.random(40) < 0.5
    stars = np.where(taste[:, None] == kind, 4.5, 1.5) + 0.3 * rng.standard_normal((40, 12))
    stars[rng.random(stars.shape) < 0.5] = np.nan
    ratings = Observations.from_dense(np.clip(stars, 1, 5), minimum=1, maximum=5)
    for seed in range(6):
        train, test = ratings.split(0.2, random_state=seed)
        assert KolmogorovModel(random_state=seed).fit(train).evaluate(test)["rmse"] < 0.2


def test_rules_of_only_yes_count_blanks_as_no(halves):
    train, _ = halves
    model = KolmogorovModel(4, unobserved="auto", random_state=0).fit(train)
    rules, filled = (model.relations(min_ratings=5).rules(*given, max_rules=5) for given in ((), (train.filled(),)))
    assert len(rules)
    assert (rules.base_rate < 0.9).all()
    np.testing.assert_array_equal(rules.support, filled.support)
