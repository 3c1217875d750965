"""The page of lists says what the model says."""

import json

import numpy as np
import pytest

import kolmogorov as km
from helpers import browser as browsers
from kolmogorov.errors import ParameterError
from kolmogorov.report import Options, gather_lists


@pytest.fixture(scope="module")
def bought():
    rng = np.random.default_rng(0)
    games = rng.random((250, 12)) < 0.25
    users, items = np.nonzero(np.hstack([games, games & (rng.random(games.shape) < 0.6)]))
    names = np.array([f"game {i}" for i in range(12)] + [f"<b>more</b> {i}" for i in range(12)])
    return km.Observations.from_arrays(users, names[items], np.ones(users.size))


@pytest.fixture(scope="module")
def model(bought):
    return km.ListModel(3, balance=0.3, random_state=0).fit(bought.split(0.2, by="user", random_state=0)[0])


def test_the_page_tells_of_lists_links_and_events(model, bought, tmp_path):
    content = gather_lists(model, bought, Options())
    scores = {row["name"]: row for row in content["quality"]["scores"]}
    fresh = bought.split(0.2, by="user", random_state=0)[1]
    assert scores["ListModel"]["ndcg"] == model.evaluate(fresh)["ndcg"]
    assert scores["most popular"]["ndcg"] < scores["ListModel"]["ndcg"]
    assert len(content["events"]) == 3
    assert len(content["items"]["names"]) == 24
    json.dumps(content, allow_nan=False)
    path = tmp_path / "page.html"
    model.report(path, bought, title="Games")
    assert "<b>more" not in path.read_text()
    assert content["table"]["n_entries"] == len(bought)
    example = content["example"]
    assert sum(amount for _, amount in example["steps"]) == pytest.approx(example["score"], abs=1e-9)
    user = example["user"]
    listed = model.recommend(user, n=10)
    assert [name for name, _ in example["list"]] == listed["item"].tolist()
    assert example["score"] == pytest.approx(listed["score"][0])
    kept = set(fresh.items.ids[fresh.item_rows()[fresh.users.ids[fresh.user_rows()] == user]].tolist())
    assert [held for _, held in example["list"]] == [name in kept for name in listed["item"]]
    assert len(kept) == max(np.bincount(fresh.user_rows()))
    assert "four fifths" in gather_lists(model, None, Options())["quality"]["protocol"]
    with pytest.raises(ParameterError, match="'image' is for models"):
        model.report(path, image=(2, 2))
    assert "<iframe" in model.report()._repr_html_()


def offered(page, box, name):
    """Ask a search box for a name until it is offered: a page that is just drawn anew begins with an empty box."""
    field, button = page.get_by_role("searchbox", name=box), page.get_by_role("button", name=name, exact=True)

    def asked():
        if field.input_value() != name:
            field.fill(name)
        return button.count()

    browsers.eventually(page, asked, bool)
    return button


@pytest.mark.long("a browser")
@pytest.mark.parametrize("neighbours", ["all", 5])
def test_what_a_guest_would_get_is_what_recommend_says(visit, model, bought, tmp_path, neighbours):
    if neighbours != "all":
        model = km.ListModel(3, balance=0.3, neighbours=neighbours, random_state=0).fit(model.fitted_.training)
    path = tmp_path / "page.html"
    model.report(path, bought)
    page = visit(path.as_uri())
    numbers = [float(text.replace("−", "-")) for text in page.locator(".waterfall .number").all_inner_texts()]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=1e-9)
    assert page.locator(".badge").inner_text() in ("Hit", "Miss")
    assert "probability" not in " ".join(page.locator("table").all_inner_texts()).lower()
    page.get_by_role("button", name="take back").click()
    assert set(page.locator("table.listed td:nth-child(3)").all_inner_texts()) == {
        "nothing that they have speaks for it"
    }
    for chosen in (["game 3"], ["game 3", "<b>more</b> 7"]):
        offered(page, "Add an item", chosen[-1]).click()
        expected = model.recommend(guest=dict.fromkeys(chosen, 1), n=10)
        rows = page.locator("table.listed tbody tr")
        names = rows.locator("th").all_inner_texts()
        found = [float(text) for text in rows.locator("td:nth-child(2)").all_inner_texts()]
        assert np.allclose(found, expected["score"], atol=1.01e-4)
        shown = dict(zip(expected["item"], expected["score"], strict=True))
        assert len(set(names) & set(shown)) >= 9
    assert "<b>more</b> 7" in rows.locator("td:nth-child(3)").first.inner_text()
    offered(page, "Look at an item", "game 5").click()
    first = page.locator("table.out-of tbody tr").first
    weights = model.fitted_.links.out_of(int(model.items_.encode(["game 5"])[0]))
    assert first.locator("th").inner_text() == model.items_.ids[int(np.argmax(weights))]
    assert float(first.locator("td").first.inner_text()) == pytest.approx(weights.max(), abs=1e-4)
