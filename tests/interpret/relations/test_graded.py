"""Graded rules of many-valued models: against slow twins, on held-out data, in words."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import kolmogorov as km
import naive
from kolmogorov.cli import main
from kolmogorov.errors import ParameterError
from kolmogorov.fitted.posterior import Posterior
from kolmogorov.interpret import GradedPosteriorRelations, GradedRelations, Relations
from kolmogorov.interpret.relations.thresholds import GradedSupports, Grades

LEVELS = np.arange(-2, 8) / 5
STARS = np.arange(1, 6) / 5


@pytest.fixture(scope="module")
def films():
    """Ratings of 1 to 5 by three kinds of people; some items are better than others for all of them."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 3, 120)
    merit = np.array([[5, 3, 1], [5, 4, 2], [3, 3, 4], [1, 2, 5], [2, 3, 5], [4, 4, 4], [1, 1, 3], [5, 5, 2]])
    ratings = np.clip(merit[:, kind].T + rng.integers(-1, 2, (120, 8)) * (rng.random((120, 8)) < 0.3), 1, 5).astype(
        float
    )
    ratings[rng.random(ratings.shape) < 0.25] = np.nan
    names = np.array(["Alien", "Aliens", "Annie", "Babe", "Bambi", "Casablanca", "Cats", "Predator"], dtype=object)
    users, items = np.nonzero(~np.isnan(ratings))
    return km.Observations.from_arrays(users, names[items], ratings[users, items], maximum=5)


@pytest.fixture(scope="module")
def parts(films):
    return films.split(test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(parts):
    return km.KolmogorovModel(3, levels="auto", learn_from="ratings", user_reg=0.3, n_init=5, random_state=0).fit(
        parts[0]
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.sampled_from([STARS, np.array([0.0, 0.5, 1.0])]))
@settings(max_examples=40)
def test_the_rules_are_those_of_the_twin(seed, n_events, points):
    rng = np.random.default_rng(seed)
    # Few values for many events, or nothing would lie in anything.
    psi = rng.choice(rng.choice(LEVELS, 3), (6, min(n_events, 5)))
    psi = np.concatenate([psi, np.repeat(psi[:, :1], n_events - psi.shape[1], axis=1)], axis=1)
    grades = Grades.between(LEVELS, points)
    supports = GradedSupports(psi, grades)
    got = [tuple(rule) for block in supports.rules() for rule in block.tolist()]
    assert sorted(got) == sorted(naive.graded_rules(psi, range(6), grades.cuts))
    assert len(got) == len(set(got)) == (supports.ends[-1] if len(supports.ends) else 0)


@pytest.mark.parametrize(
    ("levels", "points", "cuts", "marks"),
    [
        (LEVELS, STARS, [0.4, 0.6, 0.8, 1.0], [0.4, 0.6, 0.8, 1.0]),
        ([0.0, 0.5, 1.0], STARS, [0.5, 1.0], [0.6, 1.0]),
        ([0.02, 0.15, 0.3, 0.5, 0.7, 0.85, 0.98], [0.0, 1.0], [0.5], [1.0]),
        ([0.1, 0.2], [0.5, 1.0], [], []),
        ([0.1, 0.2], [0.0, 1.0], [0.2], [1.0]),
    ],
)
def test_thresholds_are_levels_that_tell_ratings_apart(levels, points, cuts, marks):
    grades = Grades.between(np.array(levels), np.array(points))
    assert grades.cuts == pytest.approx(cuts)
    assert grades.marks == pytest.approx(marks)


def test_relations_are_read_off_the_values(model):
    relations = model.relations()
    assert isinstance(relations, GradedRelations)
    expected = naive.graded_rules(model.psi_, relations.rows.tolist(), relations.grades.cuts)
    assert sorted(map(tuple, relations.implications.tolist())) == sorted(expected)
    assert relations.counts == {"implication": len(expected)}
    names = relations.named(relations.implications)
    assert len(set(names)) == len(expected) > 0
    assert all(">= " in left and ">= " in right for left, right in names)
    frame = relations.to_frame()
    assert len(frame) == len(expected)
    assert set(np.unique(frame["antecedent_at"])) <= {2.0, 3.0, 4.0, 5.0}


def test_rules_are_counted_like_the_twin_on_any_data(model, parts):
    train, test = parts
    rules = model.relations().rules(train, max_rules=None)
    held = rules.on(test)
    assert len(held) == len(rules) == model.relations().counts["implication"]
    marks = model.relations().grades.marks
    theirs = {name: row for row, name in enumerate(test.items.ids.tolist())}
    for k in range(0, len(held), 3):
        j, i = (theirs[model.items_.ids[row]] for row in (held.antecedent[k], held.consequent[k]))
        at_j, at_i = marks[held.antecedent_at[k] - 1], marks[held.consequent_at[k] - 1]
        table = naive.graded_contingency(test, j, i, at_j, at_i)
        assert held.support[k] == table[1].sum()
        assert held.held[k] == table[1, 1]
        reached = test.values[test.item_rows() == i] >= at_i - 1e-9
        assert held.base_rate[k] == pytest.approx(reached.mean())


def test_rules_hold_better_than_their_base_rates_on_held_out_ratings(model, parts):
    totals = model.relations().rules(parts[0], max_rules=20).on(parts[1]).totals()
    assert totals["lift"] > 1.05


def test_a_rule_says_its_thresholds_in_rating_units(model, parts):
    rules = model.relations().rules(parts[0], contrapositives=True, min_support=0, max_rules=None)
    kinds = set(rules.kind.tolist())
    assert kinds == {"implication", "contrapositive"}
    for rule in rules:
        sign = ">=" if rule.kind == "implication" else "<"
        for side in (rule.antecedent, rule.consequent):
            name, _, rating = side.rpartition(f" {sign} ")
            assert name in model.items_.ids.tolist()
            assert rating in {"2", "3", "4", "5"}
        assert " ⇒ " in str(rule)
    columns = rules.columns()
    assert columns["antecedents"][0].endswith(f" {columns['antecedent_at'][0]:g}")
    implication = rules[rules.kind == "implication"]
    turned = rules[rules.kind == "contrapositive"]
    assert len(implication) == len(turned)


def test_rules_can_be_narrowed(model, parts):
    relations = model.relations()
    high = relations.rules(parts[0], 0.8, max_rules=None)
    marks = relations.grades.marks
    assert len(high) > 0
    assert (marks[high.antecedent_at - 1] >= 0.8 - 1e-9).all()
    assert (marks[high.consequent_at - 1] >= 0.8 - 1e-9).all()
    about = relations.rules(parts[0], item="Alien", max_rules=None)
    assert len(about) > 0
    assert all("Alien >=" in f"{rule.antecedent} {rule.consequent}" for rule in about)
    assert len(model.relations(min_ratings=10**6).rules(parts[0])) == 0
    with pytest.raises(ParameterError, match="threshold"):
        relations.rules(parts[0], 7.0)


def test_the_order_is_of_statements(model):
    relations = model.relations()
    order = relations.order
    names = [set(order.names(number)) for number in range(len(order))]
    flat = [name for group in names for name in group]
    assert len(flat) == len(set(flat)) > 0
    # Whoever is below implies what is above: the same as asking the values.
    psi, items = model.psi_, model.items_.ids.tolist()

    def support(statement):
        item, _, rating = statement.rpartition(" >= ")
        return psi[items.index(item)] >= float(rating) / 5 - 1e-9

    for lower, upper in order.covers.tolist():
        below, above = support(min(names[lower])), support(min(names[upper]))
        assert (above | ~below).all()
        assert (above != below).any()
    for group in names:
        assert len({support(name).tobytes() for name in group}) == 1
    assert "Alien >=" in order.to_graphviz_source()


def test_an_explanation_adds_up_and_names_graded_reasons(model, parts):
    train, _ = parts
    user, item = train.users.ids[0].item(), "Aliens"
    why = model.explain(user, item)
    assert why.base + why.contributions.sum() + why.rest == pytest.approx(model.predict(user, item), abs=1e-12)
    assert f"{user} is expected to give Aliens a rating of {why.rating:.2f}" in str(why)
    rated = {train.items.ids[i]: p for i, p in zip(*_row(train, 0), strict=True)}
    relations = model.relations()
    listed = set(relations.named(relations.implications))
    assert len(why.reasons) > 0
    for reason in why.reasons:
        assert (reason.antecedent, reason.consequent) in listed
        assert reason.consequent.startswith("Aliens >= ")
        at = float(reason.antecedent.rpartition(" >= ")[2]) / 5
        assert rated[reason.item] >= at - 1e-9


def _row(table, user):
    part = slice(table.rows.indptr[user], table.rows.indptr[user + 1])
    return table.rows.indices[part], table.rows.values[part]


def test_events_are_described_by_what_stands_out(model):
    described = model.events(3)
    assert len(described) == 3
    assert sum(event.share for event in described) == pytest.approx(1.0)
    assert [event.rows for event in described] == naive.telling_items(model.fitted_, 3)
    for event in described:
        assert event.items == tuple(model.items_.name(row) for row in event.rows)
        # What tells an event apart most happens in it more than elsewhere.
        first = event.rows[0]
        assert model.psi_[first, event.number] > model.psi_[first] @ model.fitted_.population


def test_two_levels_keep_their_relations(parts):
    two = km.KolmogorovModel(3, levels=[0, 1], random_state=0).fit(parts[0])
    assert isinstance(two.relations(), Relations)
    rules = two.relations().rules(parts[0])
    assert rules.antecedent_at is None
    assert "antecedent_at" not in rules.columns()


def test_options_of_two_levels_are_refused(model):
    with pytest.raises(ParameterError, match="go with models of two levels"):
        model.relations(convention="paper")
    with pytest.raises(ParameterError, match="go with models of two levels"):
        model.relations(trivial=True)


def test_a_scale_without_steps_has_the_levels_for_thresholds():
    rng = np.random.default_rng(0)
    table = km.Observations.from_dense(rng.random((40, 6)), maximum=1)
    model = km.KolmogorovModel(
        2, levels=[0.0, 0.25, 0.5, 0.75, 1.0], learn_from="ratings", user_reg=0.1, random_state=0
    ).fit(table)
    assert not model.fitted_.has_few_points
    assert model.relations().grades.marks.tolist() == [0.25, 0.5, 0.75]


def test_the_shell_shows_graded_rules(model, parts, tmp_path):
    model.save(tmp_path / "m.km")
    path = tmp_path / "test.csv"
    test = parts[1]
    rows = zip(test.user_rows(), test.item_rows(), test.values, strict=True)
    lines = [f"{test.users.ids[u]},{test.items.ids[i]},{5 * p:g}" for u, i, p in rows]
    path.write_text("user,item,value\n" + "\n".join(lines) + "\n")

    def run(*arguments):
        result = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    said = run("rules", tmp_path / "m.km", "--data", path, "--top", 5, "--format", "json")
    first = json.loads(said)[0]
    assert " >= " in first["antecedents"]
    assert first["antecedent_at"] in (2.0, 3.0, 4.0, 5.0)
    assert " >= " in run("rules", tmp_path / "m.km", "--format", "csv").splitlines()[1]
    assert " >= " in run("rules", tmp_path / "m.km", "--likes", 4, "--contrapositives")
    assert "rating of" in run("explain", tmp_path / "m.km", "--user", test.users.ids[0], "--item", "Alien")
    refused = CliRunner().invoke(main, ["rules", str(tmp_path / "m.km"), "--kind", "exclusion"])
    assert refused.exit_code != 0
    assert "models of two levels" in refused.output


def test_the_report_shows_what_means_yes(model, parts, tmp_path):
    model.report(tmp_path / "page.html", parts[1])
    assert "levels, learned from the ratings, user_reg 0.3" in (tmp_path / "page.html").read_text()


def test_draws_give_graded_rules_probabilities(films):
    rng = np.random.default_rng(3)
    fits = [
        km.KolmogorovModel(3, levels="auto", learn_from="ratings", user_reg=0.3, random_state=seed, max_iter=4).fit(
            films
        )
        for seed in range(6)
    ]
    draws = [fit.psi_.copy() for fit in fits]
    draws[0][0] = draws[0][1]
    psi = np.array(draws, dtype=np.float32)
    theta = rng.dirichlet(np.ones(3), (6, films.n_users)).astype(np.float32)
    noise = np.ones((6, films.n_users), dtype=np.float32)
    posterior = Posterior(theta, psi, noise, 1, "gaussian", fits[0].fitted_.training, levels=fits[0].levels_)
    relations = GradedPosteriorRelations(posterior, km.BayesianKolmogorovModel()._adopt(posterior)._one_model)
    expected = naive.graded_probabilities(draws, relations.grades.cuts)
    assert relations.probabilities(np.array(list(expected))) == pytest.approx(list(expected.values()))
    candidates = [tuple(rule) for rule in relations.consensus.implications.tolist()]
    for least in (0.0, 0.3, 0.6):
        found, chance = relations.implications(least)
        got = {tuple(rule): p for rule, p in zip(found.tolist(), chance, strict=True)}
        assert got == pytest.approx({rule: expected[rule] for rule in candidates if expected[rule] >= least - 1e-9})
        assert (np.diff(chance) <= 0).all()
    rules = relations.rules(films, min_probability=0.0, max_rules=10)
    assert len(rules) == 10
    assert " >= " in rules[0].antecedent
    assert rules.on(films).probability is not None
    assert len(relations.rules(films, 0.8, item="Alien", min_probability=0.0)) > 0
