"""Models that go on learning beside fits from scratch: MovieLens 100K by time, in batches of a twentieth.

`python benchmarks/update.py [one] [draws] [lists]`. A tenth of all ratings, drawn at random, is held out. The others
are sorted by time and cut into 20 batches. A model is fitted to the first ten of them and updated with each of the
others in turn; another is fitted to all of them at once. Both are judged on what was held out: ratings by RMSE in
stars, lists by nDCG@10 of ratings of 4 and 5, of which alone these are learned. All of this is done three times, with
other ratings held out; differences stand beside their standard error. Seconds of an update are the median of all. The
lengths of updates were chosen with two further splits.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Column, Table, data_folder, finish, machine

import kolmogorov as km

BATCHES, FITTED, LIKED, SPLITS = 20, 10, 4, (1, 2, 3)
COLUMNS = [
    Column("model"),
    Column("score"),
    Column("half of the data", ".4f"),
    Column("updated", ".4f"),
    Column("fit from scratch", ".4f"),
    Column("difference"),
    Column("seconds of an update", ".2f"),
    Column("of the fit", ".1f"),
    Column("share", ".1%"),
]
MODELS: dict[str, tuple[Callable[[], Any], bool]] = {
    "one": (lambda: km.KolmogorovModel(random_state=0), False),
    "draws": (lambda: km.BayesianKolmogorovModel(random_state=0), False),
    "lists": (lambda: km.ListModel(random_state=0), True),
}


def main() -> None:
    """Run the models that were asked for."""
    print(machine())
    table = Table("update", "MovieLens 100K by time in 20 batches", "python benchmarks/update.py", COLUMNS)
    for name in sys.argv[1:] or MODELS:
        make, lists = MODELS[name]
        table.add(*measured(make, lists))
    finish(table, complete=not sys.argv[1:])


def measured(make: Callable[[], Any], lists: bool) -> tuple[Any, ...]:
    """Return a row."""
    # Compiles everything, an update included.
    batches, _ = split(lists, 0)
    make().fit(observed(batches[0], lists)).update(observed(batches[1], lists))
    runs = [learned(make, lists, number) for number in SPLITS]
    half, updated, scratch, fit = (float(np.mean([run[place] for run in runs])) for place in range(4))
    usual = statistics.median(second for run in runs for second in run[4])
    gains = [run[1] / run[2] - 1.0 for run in runs]
    difference = f"{np.mean(gains):+.2%} ± {np.std(gains, ddof=1) / len(gains) ** 0.5:.2%}"
    name = "nDCG@10" if lists else "RMSE"
    return type(make()).__name__, name, half, updated, scratch, difference, usual, fit, usual / fit


def learned(make: Callable[[], Any], lists: bool, number: int) -> tuple[float, float, float, float, list[float]]:
    """Return the scores of half the data, after updates and of a fit from scratch, and the seconds of both."""
    batches, held_out = split(lists, number)

    def score(model: Any) -> float:
        scores = model.evaluate(held_out, k=10, unknown="ignore")
        return float(scores["ndcg" if lists else "rmse_rating"])

    began = time.perf_counter()
    whole = make().fit(observed(np.vstack(batches), lists))
    fit = time.perf_counter() - began
    model = make().fit(observed(np.vstack(batches[:FITTED]), lists))
    half, seconds = score(model), []
    for batch in batches[FITTED:]:
        new = observed(batch, lists)
        began = time.perf_counter()
        model.update(new)
        seconds.append(time.perf_counter() - began)
    print(f"  split {number}: {score(model):.4f} after updates, {score(whole):.4f} from scratch", flush=True)
    return half, score(model), score(whole), fit, seconds


def split(lists: bool, number: int) -> tuple[list[Any], km.Observations]:
    """Return the batches, as rows of user, item, rating and time, and what is held out."""
    path = data_folder() / "ml-100k" / "u.data"
    if not path.exists():
        sys.exit(f"skipped: there is no {path.name}")
    raw = np.loadtxt(path, dtype=np.int64)
    if lists:
        raw = raw[raw[:, 2] >= LIKED]
    raw = raw[np.argsort(raw[:, 3], kind="stable")]
    out = np.random.default_rng(number).random(len(raw)) < 0.1
    return np.array_split(raw[~out], BATCHES), observed(raw[out], lists)


def observed(rows: Any, lists: bool) -> km.Observations:
    """Return rows as observations: ratings, or likes alone."""
    values = np.ones(len(rows)) if lists else rows[:, 2]
    return km.Observations.from_arrays(rows[:, 0], rows[:, 1], values, maximum=1 if lists else 5)


if __name__ == "__main__":
    main()
