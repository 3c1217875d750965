"""A model in LensKit's pipelines, and our scores of lists beside LensKit's."""

import pickle

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from helpers import peers

pytestmark = [pytest.mark.peers, pytest.mark.long("harnesses of others")]


@pytest.fixture(scope="module")
def lenskit():
    return peers.need("lenskit")


@pytest.fixture(scope="module")
def ratings():
    truth = km.datasets.planted(n_users=60, n_items=25, n_events=3, n_observations=800, random_state=0)
    table = truth.observations
    return pd.DataFrame(
        {
            "user_id": [f"u{u}" for u in table.user_rows()],
            "item_id": [f"i{i}" for i in table.item_rows()],
            "rating": 1.0 + np.round(4 * table.values),
        }
    )


def trained(lenskit, ratings, **config):
    from lenskit.data import from_interactions_df
    from lenskit.pipeline import topn_pipeline

    from kolmogorov.adapters.lenskit import LensKitScorer

    pipeline = topn_pipeline(LensKitScorer(**config), n=5)
    pipeline.train(from_interactions_df(ratings))
    return pipeline


def test_a_pipeline_lists_what_the_model_recommends(lenskit, ratings):
    from lenskit import recommend, score

    config = {"model": "KolmogorovModel", "parameters": {"n_events": 3, "random_state": 0}}
    pipeline = trained(lenskit, ratings, **config)
    model = km.KolmogorovModel(3, random_state=0).fit(
        km.Observations.from_arrays(ratings["user_id"], ratings["item_id"], ratings["rating"])
    )
    expected = model.recommend("u3", 5, min_count=1)
    found = recommend(pipeline, "u3", 5)
    # Items with the same probability may come in another order.
    np.testing.assert_allclose(found.scores(), expected["rating"], rtol=1e-6)
    said = model.predict(np.repeat(["u3"], 5), found.ids(), output="rating")
    np.testing.assert_allclose(found.scores(), said, rtol=1e-6)
    scores = score(pipeline, "u3", ["i1", "nothing", "i2"]).scores()
    np.testing.assert_allclose(scores[[0, 2]], model.predict(["u3", "u3"], ["i1", "i2"], output="rating"), rtol=1e-6)
    assert np.isnan(scores[1])
    assert np.isnan(score(pipeline, "nobody", ["i1"]).scores()).all()


def test_a_trained_scorer_is_kept_and_travels(lenskit, ratings):
    from lenskit import score

    pipeline = trained(lenskit, ratings, parameters={"n_events": 3})
    again = pickle.loads(pickle.dumps(pipeline))
    first, second = (score(each, "u3", ["i1", "i2"]).scores() for each in (pipeline, again))
    np.testing.assert_array_equal(first, second)


def test_lists_without_ratings(lenskit, ratings):
    from lenskit import recommend

    liked = ratings[ratings["rating"] > 3][["user_id", "item_id"]]
    pipeline = trained(lenskit, liked, model="ListModel", parameters={"n_events": 3})
    assert len(recommend(pipeline, "u3", 5)) == 5


def test_scores_of_lists_are_those_of_lenskit(lenskit):
    from lenskit.data import ItemList
    from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank
    from lenskit.metrics.ranking import AveragePrecision, LogRankWeight

    rng = np.random.default_rng(0)
    for _ in range(50):
        relevant, listed = np.sort(rng.choice(30, rng.integers(1, 20), replace=False)), rng.permutation(30)[:10]
        scores = km.metrics.RankingScores(
            np.array([0, relevant.size]), relevant, np.zeros(1, dtype=np.int64), np.ones(30, dtype=np.int64)
        )
        scores.add(0, listed[None])
        ours = scores.result()
        theirs = {"ndcg": NDCG, "map": AveragePrecision, "recall": Recall, "precision": Precision}
        theirs |= {"mrr": RecipRank, "hit_rate": Hit}
        for name, metric in theirs.items():
            # LensKit's usual weights are those of our nDCG one place further up, where the first two are the same.
            options = {"weight": LogRankWeight(offset=1)} if metric is NDCG else {}
            found = metric(n=10, **options).measure_list(ItemList(listed, ordered=True), ItemList(relevant))
            if name == "recall":
                # LensKit divides by the length of the list where more are relevant.
                found *= min(10, relevant.size) / relevant.size
            assert ours[name] == pytest.approx(float(found), abs=1e-12), name
