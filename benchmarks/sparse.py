"""A sparse table, 100,000 ratings of 16,000 users and 10,000 items: seconds of everything that is done with it.

    python benchmarks/sparse.py [KolmogorovModel|BayesianKolmogorovModel]

Fits of one model and of draws, and with each of them a list for one user, lists for many, and the report with a
fifth of the ratings held out. Imports and compilation are not timed; `first list` is that of a process that has
just loaded the model. Peak memory is that of the process so far.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from harness import Column, Table, finish, in_process, machine, peak_memory
from planted import made

import kolmogorov as km
from kolmogorov import Observations

USERS = 1_000
COLUMNS = [Column("what"), Column("seconds", "significant"), Column("MB", ",.0f")]
MODELS = {
    "`KolmogorovModel`": lambda: km.KolmogorovModel(random_state=0),
    "`BayesianKolmogorovModel`": lambda: km.BayesianKolmogorovModel(random_state=0),
}


def clocked(work: Callable[..., Any], *args: Any) -> tuple[Any, float, float]:
    """Return what the work returns, its seconds, and the peak of memory in MB."""
    began = time.perf_counter()
    found = work(*args)
    return found, time.perf_counter() - began, peak_memory()


def first_list(path: str) -> tuple[float, float]:
    """Return the seconds of the first list, and peak memory, of a process that has loaded a model."""
    model = km.load(path)
    user = model.users_.ids[model.fitted_.user_seen.argmax()]
    return clocked(model._asked, user, 10)[1:]


def used(results: Table, name: str, model: Any, table: Observations) -> None:
    """Fit a model to four fifths of a table, and time what is done with it."""
    train, test = table.split(test_size=0.2, random_state=0)
    _, *cost = clocked(model.fit, train)
    results.add(f"{name}, test error {model.evaluate(test)['rmse_rating']:.4f}", *cost)
    some = train.users.ids[train.rows.counts > 0][:USERS]
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.km")
        results.add("first list", *in_process(first_list, f"{folder}/model.km"))
        results.add(f"lists for {USERS:,} users", *clocked(model._asked, some, 10)[1:])
        results.add("report", *clocked(model.report, f"{folder}/page.html", table)[1:])


def main() -> None:
    print(machine())
    table = made("books", 0)
    results = Table("sparse", str(table), "python benchmarks/sparse.py", COLUMNS)
    small = table.subset(table.user_rows() < 300)
    for name, make in MODELS.items():
        if not sys.argv[1:] or name.strip("`") in sys.argv[1:]:
            # Kernels are compiled before the clock starts.
            make().fit(small)._asked(small.users.ids[:2], 10)
            used(results, name, make(), table)
    finish(results, complete=not sys.argv[1:])


if __name__ == "__main__":
    main()
