"""Scores of lists beside those of ranx, to the last digits."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from helpers import peers
from kolmogorov.metrics import RankingScores

pytestmark = [pytest.mark.peers, pytest.mark.long("harnesses of others")]
K = 10
NAMES = ("recall", "precision", "ndcg", "mrr", "hit_rate", "map")
#: Prints the scores of every user.
RANX = """
import json, sys
import ranx

given = json.load(sys.stdin)
run = ranx.Run(given["lists"])
ranx.evaluate(ranx.Qrels(given["relevant"]), run, given["metrics"])
print(json.dumps({name: {user: float(score) for user, score in run.scores[name].items()} for name in given["metrics"]}))
"""


def by_ranx(relevant, lists):
    """Return scores by metric and user. ranx compiles for minutes what is needed once: here it runs as Python."""
    given = {
        "relevant": {f"u{u}": {f"i{i}": 1 for i in items} for u, items in enumerate(relevant)},
        "lists": {f"u{u}": {f"i{i}": float(K - place) for place, i in enumerate(row)} for u, row in enumerate(lists)},
        "metrics": [f"{name}@{K}" for name in NAMES],
    }
    python, environment = [sys.executable, "-c", RANX], {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(python, input=json.dumps(given), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: np.array([found[f"{name}@{K}"][f"u{u}"] for u in range(len(lists))]) for name in NAMES}


def test_scores_of_lists_are_those_of_ranx():
    peers.need("ranx")
    rng = np.random.default_rng(0)
    n_users, n_items = 200, 60
    relevant = [np.sort(rng.choice(n_items, rng.integers(1, 25), replace=False)) for _ in range(n_users)]
    lists = np.stack([rng.permutation(n_items)[:K] for _ in range(n_users)])
    indptr = np.concatenate(([0], np.cumsum([len(items) for items in relevant])))
    scores = RankingScores(
        indptr, np.concatenate(relevant), np.zeros(n_users, dtype=np.int64), np.ones(n_items, dtype=np.int64)
    )
    scores.add(0, lists)
    theirs = by_ranx([items.tolist() for items in relevant], lists.tolist())
    # ranx divides the average precision by all that is relevant, we by what a list of this length can hold of it.
    theirs["map"] *= [len(items) / min(K, len(items)) for items in relevant]
    for name in NAMES:
        assert scores.result()[name] == pytest.approx(theirs[name].mean(), abs=1e-12), name
