"""Models of ours in Cornac's own experiment on MovieLens 100K, beside its MF and BPR: errors and scores of lists.

    python benchmarks/harnesses.py

The experiment is the one of Cornac's first page: a fifth of the ratings is held out, four stars and more are liked, and
metrics are means over users. Its rows of MF and BPR come out as they are published there. Cornac: `pip install cornac`.
"""

from __future__ import annotations

import tempfile
from typing import Any

from harness import Column, Table, data_folder, finish, machine, movielens, peer

import kolmogorov as km

COMMAND = "python benchmarks/harnesses.py"
RATINGS, LISTS = ("MAE", "RMSE"), ("AUC", "MAP", "NDCG@10", "Recall@10")


def models() -> list[tuple[Any, bool]]:
    """Return recommenders, and whether what they score are ratings."""
    from cornac.models import BPR, MF

    from kolmogorov.adapters.cornac import CornacRecommender

    return [
        (MF(k=10, max_iter=25, learning_rate=0.01, lambda_reg=0.02, use_bias=True, seed=123), True),
        (BPR(k=10, max_iter=200, learning_rate=0.001, lambda_reg=0.01, seed=123), False),
        (CornacRecommender(km.KolmogorovModel(random_state=0)), True),
        (CornacRecommender(km.BayesianKolmogorovModel(random_state=0)), True),
        (CornacRecommender(km.ListModel(random_state=0)), False),
    ]


def results(recommenders: list[Any]) -> list[dict[str, float]]:
    """Run the experiment."""
    from cornac import Experiment
    from cornac.data import Reader
    from cornac.eval_methods import RatioSplit
    from cornac.metrics import AUC, MAE, MAP, NDCG, RMSE, Recall

    ratings = Reader().read(str(data_folder() / "ml-100k" / "u.data"))
    split = RatioSplit(ratings, test_size=0.2, rating_threshold=4.0, seed=123)
    metrics = [MAE(), RMSE(), AUC(), MAP(), NDCG(k=10), Recall(k=10)]
    with tempfile.TemporaryDirectory() as logs:
        experiment = Experiment(split, recommenders, metrics, user_based=True, save_dir=logs)
        experiment.run()
    return [result.metric_avg_results for result in experiment.result]


def main() -> None:
    """Fill the table."""
    print(machine())
    movielens("ml-100k")  # ends where it is absent
    if not peer("cornac", None):
        return
    chosen = models()
    columns = [Column("model"), *(Column(name, ".4f") for name in (*RATINGS, *LISTS))]
    table = Table("harnesses", "MovieLens 100K in an experiment of Cornac", COMMAND, columns)
    for (model, rates), found in zip(chosen, results([model for model, _ in chosen]), strict=True):
        shown = [float(found[name]) if rates or name in LISTS else None for name in (*RATINGS, *LISTS)]
        table.add(model.name, *shown)
    finish(table)


if __name__ == "__main__":
    main()
