"""A model in Cornac's experiments, beside what Cornac publishes of its own models."""

import pickle

import numpy as np
import pytest

import kolmogorov as km
from helpers import peers
from kolmogorov.errors import MissingExtraError

#: Of Cornac's own page: https://github.com/PreferredAI/cornac#getting-started-your-first-cornac-experiment
PUBLISHED = {
    "MF": {"MAE": 0.7430, "RMSE": 0.8998, "AUC": 0.7445, "MAP": 0.0548, "NDCG@10": 0.0761, "Recall@10": 0.0463},
    "BPR": {"AUC": 0.8695, "MAP": 0.1042, "NDCG@10": 0.1500, "Recall@10": 0.1195},
}


@pytest.fixture(scope="module")
def cornac():
    return peers.need("cornac")


@pytest.fixture(scope="module")
def triples():
    table = km.datasets.planted(n_users=60, n_items=25, n_events=3, n_observations=800, random_state=0).observations
    ratings = 1.0 + np.round(4 * table.values)
    pairs = zip(table.user_rows(), table.item_rows(), ratings, strict=True)
    return [(f"u{u}", f"i{i}", float(r)) for u, i, r in pairs]


def test_without_cornac_the_command_is_told(monkeypatch):
    import kolmogorov.adapters.cornac as adapter

    monkeypatch.delitem(vars(adapter), "CornacRecommender", raising=False)
    monkeypatch.setattr("kolmogorov._support.optional.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="CornacRecommender needs cornac. Run: pip install cornac"):
        adapter.CornacRecommender  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        adapter.Nothing  # noqa: B018


@pytest.mark.peers
@pytest.mark.long("harnesses of others")
def test_scores_are_what_the_model_predicts(cornac, triples):
    from kolmogorov.adapters.cornac import CornacRecommender

    data = cornac.data.Dataset.from_uir(triples)
    ours = CornacRecommender(km.KolmogorovModel(3, random_state=0), name="KM").fit(data)
    model = km.KolmogorovModel(3, random_state=0).fit(
        km.Observations.from_arrays(*data.uir_tuple, minimum=0.0, maximum=5.0)
    )
    scores = ours.score(7)
    np.testing.assert_array_equal(scores, model.predict(np.full(25, 7), np.arange(25), output="rating"))
    assert ours.score(7, 3) == pytest.approx(scores[3])
    assert ours.rate(7, 3) == pytest.approx(max(scores[3], 1.0))
    assert ours.rate(7, 99) == pytest.approx(data.global_mean)
    ranked, _ = ours.rank(7)
    np.testing.assert_array_equal(scores[ranked], np.sort(scores)[::-1])
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.score(7), scores)
    assert ours.clone().name == "KM"


@pytest.mark.peers
@pytest.mark.long("harnesses of others")
def test_an_experiment_has_our_rows_beside_theirs(cornac, triples, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # An experiment leaves a log where it is run.
    from cornac.eval_methods import RatioSplit
    from cornac.metrics import MAE, NDCG
    from cornac.models import GlobalAvg

    from kolmogorov.adapters.cornac import CornacRecommender

    split = RatioSplit(triples, test_size=0.2, rating_threshold=4.0, seed=123)
    models = [GlobalAvg(), CornacRecommender(km.KolmogorovModel(3, random_state=0))]
    experiment = cornac.Experiment(split, models, [MAE(), NDCG(k=5)], user_based=True)
    experiment.run()
    theirs, ours = (result.metric_avg_results for result in experiment.result)
    assert experiment.result[1].model_name == "KolmogorovModel"
    assert ours["MAE"] < 0.8 * theirs["MAE"]
    assert ours["NDCG@5"] > theirs["NDCG@5"]


@pytest.mark.peers
@pytest.mark.long("harnesses of others")
def test_the_rows_that_cornac_publishes_come_out_beside_ours(cornac, data_directory, monkeypatch, tmp_path):
    from cornac.data import Reader
    from cornac.eval_methods import RatioSplit
    from cornac.metrics import AUC, MAE, MAP, NDCG, RMSE, Recall
    from cornac.models import BPR, MF

    from kolmogorov.adapters.cornac import CornacRecommender

    triples = Reader().read(str(data_directory.resolve() / "ml-100k" / "u.data"))
    monkeypatch.chdir(tmp_path)
    split = RatioSplit(triples, test_size=0.2, rating_threshold=4.0, seed=123)
    models = [
        MF(k=10, max_iter=25, learning_rate=0.01, lambda_reg=0.02, use_bias=True, seed=123),
        BPR(k=10, max_iter=200, learning_rate=0.001, lambda_reg=0.01, seed=123),
        CornacRecommender(km.KolmogorovModel(random_state=0)),
    ]
    metrics = [MAE(), RMSE(), AUC(), MAP(), NDCG(k=10), Recall(k=10)]
    experiment = cornac.Experiment(split, models, metrics, user_based=True)
    experiment.run()
    found = {result.model_name: result.metric_avg_results for result in experiment.result}
    for name, published in PUBLISHED.items():
        for metric, number in published.items():
            assert round(found[name][metric], 4) == pytest.approx(number, abs=1e-9), (name, metric)
    assert found["KolmogorovModel"]["RMSE"] < found["MF"]["RMSE"]
