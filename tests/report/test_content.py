"""What the report says is what the model says, and the file is one whole, harmless page."""

import json
import re

import numpy as np
import pytest

from kolmogorov import KolmogorovModel, Observations, datasets
from kolmogorov.errors import MissingExtraError, ParameterError
from kolmogorov.metrics import simple_guesses
from kolmogorov.report import Options, gather

pytest.importorskip("jinja2", reason="reports need the extra 'report'")


@pytest.fixture(scope="module")
def split(zoo):
    return zoo.split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def model(split):
    return KolmogorovModel(5, user_reg=0.3, n_init=5, random_state=0).fit(split[0])


@pytest.fixture(scope="module")
def content(model, zoo):
    return gather(model, zoo, Options(title="Zoo"))


def test_quality_is_that_of_the_held_out_part(content, model, split):
    row = content["quality"]["scores"][0]
    assert row["rmse"] == pytest.approx(model.evaluate(split[1])["rmse"])
    assert content["summary"]["n_fresh"] == len(split[1])
    assert sum(count for *_, count in content["quality"]["calibration"]) == len(split[1])


def test_a_model_trained_on_everything_is_tested_by_a_refit(zoo):
    model = KolmogorovModel(3, user_reg=0.3, random_state=0).fit(zoo)
    found = gather(model, None, Options())
    assert "No data was given" in found["quality"]["protocol"]
    assert found["summary"]["judged_on"] == "training"
    train, test = zoo.split(test_size=0.2, random_state=0)
    again = KolmogorovModel(3, user_reg=0.3, random_state=0).fit(train)
    assert found["quality"]["scores"][0]["rmse"] == pytest.approx(again.evaluate(test)["rmse"])


def test_rules_and_users_agree_with_the_model(content, model, split):
    names = content["items"]["names"]
    relations = model.relations()
    pairs = set(map(tuple, relations.implications.tolist()))
    counted = relations.rules(split[1], min_support=0, max_rules=None)
    known = {
        pair: (seen, held)
        for pair, seen, held in zip(
            zip(counted.antecedent.tolist(), counted.consequent.tolist(), strict=True),
            counted.support.tolist(),
            counted.held.tolist(),
            strict=True,
        )
    }
    for row, rules in enumerate(content["items"]["implies"]):
        for other, seen, held, *_ in rules:
            assert (row, other) in pairs
            assert known[row, other] == (seen, held)
    assert content["rules"]
    people = content["users"]
    probabilities = model.theta_ @ model.psi_.T
    for place in range(len(people["names"])):
        row = int(model.users_.encode([people["names"][place]])[0])
        expected = model.recommend(people["names"][place], n=10)["item"].tolist()
        assert [names[i] for i in people["items"][place] if i >= 0] == expected
        for item, chance, reason in zip(
            people["items"][place], people["chances"][place], people["reasons"][place], strict=True
        ):
            if item < 0:
                continue
            assert chance == pytest.approx(1000 * probabilities[row, item], abs=0.51)
            why = [given for given in model.explain(people["names"][place], names[item]).reasons if given.support]
            assert (names[reason] if reason >= 0 else None) == (why[0].antecedent if why else None)
            if reason >= 0:
                assert not (model.psi_[reason] & ~model.psi_[item]).any()
                assert (split[0].values[(split[0].user_rows() == row) & (split[0].item_rows() == reason)] == 1.0).all()


def test_numbers_of_rules_come_from_python(content, model, split):
    """What stands beside a rule on the page is counted by hand from the held-out part."""
    test = split[1]
    said = {
        (user, item): value >= 0.6
        for user, item, value in zip(test.user_rows().tolist(), test.item_rows().tolist(), test.values, strict=True)
    }
    says = {"implies": (True, True), "equivalence": (True, True), "exclusion": (True, False), "coverage": (False, True)}
    looked_at = 0
    for kind, (first, second) in says.items():
        for row, rules in enumerate(content["items"][kind]):
            for other, seen, held, confidence, base, lift, *_ in rules:
                both = [
                    said[u, other] == second for u, i in said if i == row and said[u, i] == first and (u, other) in said
                ]
                everyone = [yes == second for (_, i), yes in said.items() if i == other]
                assert (seen, held) == (len(both), sum(both))
                assert base == pytest.approx(np.mean(everyone), abs=5.1e-4)
                assert confidence == (pytest.approx(np.mean(both), abs=5.1e-4) if both else None)
                expected = np.mean(both) / np.mean(everyone) if both and np.mean(everyone) else None
                assert lift == (None if expected is None else pytest.approx(expected, abs=5.1e-3))
                looked_at += seen > 0
    assert looked_at > 50


def test_names_cannot_leave_their_place(tmp_path):
    evil = "</script><script>alert(1)</script>"
    table = Observations.from_arrays([evil, evil, "b", "b"], ["x", evil, "x", evil], [1.0, 0.0, 0.0, 1.0])
    model = KolmogorovModel(2, random_state=0).fit(table)
    model.report(tmp_path / "page.html", title="<b>title</b>")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    assert "<b>" not in page
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert evil in data["items"]["names"]
    assert data["title"] == "<b>title</b>"


def test_pictures_need_as_many_pixels_as_items(model, zoo):
    with pytest.raises(ParameterError, match="4 × 4 has 16 pixels, but the model has 15 items"):
        gather(model, zoo, Options(image=(4, 4)))


def test_only_so_many_users_are_shown(model, zoo):
    found = gather(model, zoo, Options(max_users=7))
    assert len(found["users"]["names"]) == 7
    assert found["users"]["n_all"] == 101


def test_without_jinja2_the_command_is_told(model, tmp_path, monkeypatch):
    monkeypatch.setattr("kolmogorov._support.optional.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kolmogorov\[report\]'"):
        model.report(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_guesses_by_hand():
    table = Observations.from_dense([[1.0, 0.0], [1.0, 0.0]])
    guess = simple_guesses(table, np.array([0, -1]), np.array([0, 1]))
    assert guess["overall mean"].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(guess["item means"], [0.5 + 1 / 12, 0.5 - 1 / 12])
    np.testing.assert_allclose(guess["user and item biases"], guess["item means"])


def test_large_classes_and_lone_items():
    digits = datasets.load("digits")
    model = KolmogorovModel(1, random_state=0).fit(digits)
    found = gather(model, None, Options(image=(8, 8)))
    assert found["order"]["members"] == []
    assert found["rules"] == []
