"""What the report says is what the model says, and the file is one whole, harmless page."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from kolmogorov import BayesianKolmogorovModel, KolmogorovModel, Observations, datasets, load, read_ratings
from kolmogorov.data.datasets import CREDITS
from kolmogorov.draws.convergence import convergence_of
from kolmogorov.errors import ParameterError
from kolmogorov.report import Options, gather, gather_lists
from kolmogorov.report.events import indistinct
from kolmogorov.report.table import labels_of, plurals

pytest.importorskip("jinja2", reason="reports need the extra 'report'")


@pytest.fixture(scope="module")
def split(zoo):
    return zoo.split(test_size=0.2, random_state=0)


@pytest.fixture(scope="module")
def model(split):
    return KolmogorovModel(5, random_state=0).fit(split[0])


@pytest.fixture(scope="module")
def drawn(split):
    options = {"burn_in": 30, "n_samples": 10, "n_chains": 2}
    return BayesianKolmogorovModel(5, random_state=0, **options).fit(split[0])


@pytest.fixture(scope="module")
def content(model, zoo):
    return gather(model, zoo, Options(title="Zoo", nouns=("animal", "trait")))


def numbers(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


def said_on(page):
    """What users said, unpacked as slowly as can be: {(user, item): (value, late)}."""
    users, found = page["users"], {}
    gaps, codes = (numbers(users[name], np.uint8).tolist() for name in ("gaps", "codes"))
    for user, count in enumerate(users["counts"]):
        item = -1
        for _ in range(count):
            gap, shift, more = 0, 0, True
            while more:
                byte = gaps.pop(0)
                gap, shift, more = gap | (byte & 127) << shift, shift + 7, byte & 128
            item, k = item + gap + 1, len(found)
            code = (codes[k // 2] >> (4 * (k % 2))) & 15 if users["small"] else codes[k]
            found[user, item] = (users["values"][code >> 1], code & 1)
    return found


def test_answers_are_those_of_the_table(content, split):
    expected = {}
    for late, part in enumerate(split):
        for *pair, value in zip(
            part.user_rows().tolist(), part.item_rows().tolist(), part.values.tolist(), strict=True
        ):
            expected[tuple(pair)] = (value, late)
    assert said_on(content) == expected


def test_quality_is_that_of_the_held_out_part_beside_the_best_of_the_guesses(content, model, split, visits):
    quality, verdict = content["quality"], content["quality"]["verdict"]
    assert quality["scores"][0]["rmse"] == pytest.approx(model.evaluate(split[1])["rmse"])
    assert sum(count for *_, count in quality["calibration"]) == len(split[1])
    errors = {row["name"]: row["log_loss"] for row in quality["scores"]}
    best = min((name for name in errors if name != "Kolmogorov model"), key=errors.get)
    assert (verdict["rival"], verdict["measure"]) == (best, "log_loss")
    assert verdict["gain"] == pytest.approx(1 - errors["Kolmogorov model"] / errors[best], abs=1e-4)
    noise = Observations.from_dense(np.random.default_rng(0).integers(0, 2, (30, 20)).astype(float))
    train, _ = noise.split(test_size=0.3, random_state=0)
    worse = gather(KolmogorovModel(6, learn_from="ratings", user_reg=0.01, random_state=0).fit(train), noise, Options())
    assert worse["quality"]["verdict"]["gain"] < 0
    # Where only yes is recorded, lists are compared with that of the most popular items.
    train, test = visits.split(test_size=0.3, random_state=0, by="user")
    only_yes = KolmogorovModel(4, unobserved="auto", random_state=0).fit(train)
    found, expected = gather(only_yes, visits, Options())["quality"], only_yes.evaluate(test, ranking=True)
    assert [row["name"] for row in found["scores"]] == ["Kolmogorov model", "most popular"]
    assert found["scores"][0]["recall"] == pytest.approx(expected["recall"])
    assert (found["verdict"]["measure"], found["lists"], found["calibration"]) == ("ndcg", 10, [])


def test_rules_of_the_page_are_the_models_and_are_counted_on_both_parts(content, model, split):
    rules, chosen = content["rules"], model.rules(likes=0.6)
    assert len(chosen) > 10
    assert rules["looked"] == chosen.n_judged
    said = {"kind": "kind", "from": "antecedent", "to": "consequent", "trained": "support", "trained_held": "held"}
    assert all(rules[name] == getattr(chosen, own).tolist() for name, own in said.items())
    fresh = chosen.on(split[1])
    assert (rules["seen"], rules["held"]) == (fresh.support.tolist(), fresh.held.tolist())


def test_answers_are_called_as_they_were_read(tmp_path):
    """Words of a file and those of a bundled table; the file of a model keeps them."""
    lines = [f"{user},{item},{('no', 'abstain', 'yes')[(user * item) % 3]}" for user in range(12) for item in range(9)]
    (tmp_path / "votes.csv").write_text("\n".join(["user,item,vote", *lines]))
    read = read_ratings(tmp_path / "votes.csv", map={"no": 0, "abstain": 0.5, "yes": 1})
    KolmogorovModel(2, learn_from="ratings", random_state=0).fit(read).save(tmp_path / "votes.km")
    found = gather(load(tmp_path / "votes.km"), None, Options())["table"]
    assert found["labels"] == [[0.0, "no"], [0.5, "abstain"], [1.0, "yes"]]
    assert [label for label, _ in found["histogram"]] == ["no", "abstain", "yes"]
    assert labels_of(datasets.load("un-votes", since=2019)) == found["labels"]


def test_the_page_is_whole_harmless_and_names_who_made_the_data(content, model, zoo, tmp_path):
    table = content["table"]
    assert [table[name] for name in ("n_users", "n_items", "n_entries")] == [101, 15, 1515]
    assert table["histogram"] == [["no", int((zoo.values == 0).sum())], ["yes", int((zoo.values == 1).sum())]]
    model.report(tmp_path / "zoo.html", zoo)
    text = (tmp_path / "zoo.html").read_text(encoding="utf-8")
    assert f'<footer class="soft">Data: {CREDITS["zoo"]}</footer>' in text
    shown = model.report(observations=zoo)._repr_html_()
    assert shown.startswith("<iframe")
    assert "&lt;script" in shown
    evil = "</script><script>alert(1)</script>"
    named = Observations.from_arrays([evil, evil, "b", "b"], ["x", evil, "x", evil], [1.0, 0.0, 0.0, 1.0])
    KolmogorovModel(2, random_state=0).fit(named).report(tmp_path / "page.html", title="<b>title</b>")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (page.count("<script"), "<b>" in page) == (2, False)
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert evil in data["items"]["names"]
    assert data["title"] == "<b>title</b>"


def test_events_that_are_not_told_apart_are_named(model, zoo):
    """Two events with the same items, and users who are all alike."""
    assert gather(model, zoo, Options())["indistinct"] == []
    fitted, nouns = model.fitted_, plurals(("animal", "trait"))
    psi = fitted.psi.copy()
    psi[:, 3] = psi[:, 1]
    (same,) = indistinct(replace(fitted, psi=psi), list("abcde"), nouns)
    assert '"b" and "d"' in same
    theta = np.tile(fitted.population, (len(fitted.theta), 1))
    assert len(indistinct(replace(fitted, theta=theta), list("abcde"), nouns)) == 1


def stars_table(rng, n_users=60, n_items=20):
    """Ratings of 1 to 5 that few events explain."""
    expected = rng.dirichlet(np.full(4, 0.4), n_users) @ rng.random((4, n_items))
    ratings = np.clip(np.rint(1 + 4 * expected + rng.normal(0, 0.5, expected.shape)), 1, 5)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    return Observations.from_dense(ratings, minimum=1, maximum=5)


def psi_on(page, shape):
    """The psis of a page, unpacked."""
    model = page["model"]
    if model["kind"] == "bits":
        return np.unpackbits(numbers(model["psi"], np.uint8), bitorder="little")[: np.prod(shape)].reshape(shape)
    return numbers(model["psi"], "<f8").reshape(shape)


@pytest.mark.parametrize("psi", ["binary", "soft"])
@pytest.mark.parametrize("learn_from", ["draws", "ratings"])
def test_the_model_of_the_page_is_the_model(zoo, rng, psi, learn_from):
    """For yes and no and for stars, whatever an item may be in an event: the page predicts as the model does."""
    for table, mark in ((zoo, 0.5), (stars_table(rng), None)):
        train, _ = table.split(test_size=0.2, random_state=0)
        model = KolmogorovModel(4, psi=psi, learn_from=learn_from, random_state=0).fit(train)
        mark = model.fitted_.likes if mark is None else mark
        found = gather(model, table, Options())
        shown = psi_on(found, model.psi_.shape)
        assert np.array_equal(shown, model.psi_)
        theta = numbers(found["model"]["theta"], "<u2").reshape(model.theta_.shape) / 65535
        expected = model.scale_.probability(model.inverse_transform(model.theta_))
        assert np.clip(theta @ shown.T, 0, 1) == pytest.approx(expected, abs=5e-5)
        assert found["model"]["population"] == model.fitted_.population.tolist()
        assert found["model"]["gram"] == model.fitted_.user_pull.strength.tolist()
        assert found["summary"]["likes_share"] == mark
        assert "from draws" in found["summary"]["settings"] or learn_from == "ratings"


def test_draws_are_shown_as_one_model(drawn, zoo, split):
    found, one = gather(drawn, zoo, Options()), drawn._one_model
    theta = numbers(found["model"]["theta"], "<u2").reshape(one.theta.shape) / 65535
    assert np.abs(theta @ psi_on(found, one.psi.shape).T - one.theta @ one.psi.T).max() < 5e-5
    assert found["quality"]["scores"][0]["rmse"] == pytest.approx(drawn.evaluate(split[1])["rmse"])
    assert f"averages of {convergence_of(drawn.fitted_)}." in found["summary"]["draws"]


def test_a_test_fits_no_more_chains_than_a_file_holds(split):
    small = BayesianKolmogorovModel(2, n_chains=1, burn_in=2, n_samples=4, random_state=0).fit(split[0])
    # As a file may say whose arrays hold four draws.
    small.set_params(n_chains=1000, n_samples=10**6, burn_in=10**6)
    assert gather(small, None, Options())["quality"]["scores"]


def test_the_example_is_where_the_model_differs_most_from_everybody(content, model, split):
    """It is chosen by what is predicted; what was said has no part in it."""
    found, test = content["example"], split[1]
    apart = np.abs(
        model.predict(test, output="probability")
        - (model.fitted_.population @ model.psi_.T.astype(float))[test.item_rows()]
    )
    counts = model.fitted_.user_counts[test.user_rows()], model.fitted_.item_counts[test.item_rows()]
    known = (counts[0] >= np.median(counts[0])) & (counts[1] >= np.median(counts[1]))
    best = np.flatnonzero(known & (apart >= apart[known].max() - 1e-6))
    chosen = list(zip(test.user_rows()[best].tolist(), test.item_rows()[best].tolist(), strict=True))
    assert (found["user"], found["item"]) in chosen
    assert found["late"]
    assert found["said"] == test.values[best][chosen.index((found["user"], found["item"]))]
    view = replace(test.rows, values=1 - test.values)
    turned = Observations(test.users, test.items, view, test.scale)
    again = gather(model, turned, Options())["example"]
    assert again == found | {"said": 1 - found["said"]}


def test_the_page_of_lists_tells_of_lists_links_and_events(list_model, bought, tmp_path):
    content, fresh = gather_lists(list_model, bought, Options()), bought.split(0.2, by="user", random_state=0)[1]
    scores = {row["name"]: row["ndcg"] for row in content["quality"]["scores"]}
    assert scores["Kolmogorov model"] == list_model.evaluate(fresh)["ndcg"] > scores["most popular"]
    assert (len(content["events"]), len(content["items"]["names"])) == (3, 24)
    assert content["table"]["n_entries"] == len(bought)
    json.dumps(content, allow_nan=False)
    list_model.report(tmp_path / "page.html", bought, title="Games")
    assert "<b>more" not in (tmp_path / "page.html").read_text()
    example = content["example"]
    assert sum(amount for _, amount in example["steps"]) == pytest.approx(example["score"], abs=1e-9)
    listed = list_model.recommend(example["user"], n=10)
    kept = set(fresh.items.ids[fresh.item_rows()[fresh.users.ids[fresh.user_rows()] == example["user"]]].tolist())
    assert example["list"] == [[name, name in kept] for name in listed["item"]]
    assert example["score"] == pytest.approx(listed["score"][0])
    assert "four fifths" in gather_lists(list_model, None, Options())["quality"]["protocol"]
    with pytest.raises(ParameterError, match="'image' is for models"):
        list_model.report(tmp_path / "page.html", image=(2, 2))
