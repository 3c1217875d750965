"""The page of lists says what the model says."""

import json

import numpy as np
import pytest

import kolmogorov as km
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
    assert scores["Kolmogorov model"]["ndcg"] == model.evaluate(fresh)["ndcg"]
    assert scores["most popular"]["ndcg"] < scores["Kolmogorov model"]["ndcg"]
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
