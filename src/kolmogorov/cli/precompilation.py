"""`kolmogorov doctor --warm`: compiles what the verbs need before anybody waits for it, by small runs of each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kolmogorov.data import Observations

#: Chains that are as short as chains can be.
_SHORT: dict[str, Any] = {"n_chains": 2, "burn_in": 2, "n_samples": 2}


def warm() -> Iterator[tuple[str, int, float]]:
    """Run the steps one after another; yield what each is, how many kernels it compiled, and its seconds."""
    from kolmogorov._support.jit import compiled_kernels

    answers, ratings = _tables()
    for words, step in STEPS.items():
        before, began = compiled_kernels(), time.perf_counter()
        with warnings.catch_warnings():
            # Two sweeps settle nothing, and are not meant to.
            warnings.simplefilter("ignore")
            step(answers, ratings)
        yield words, compiled_kernels() - before, time.perf_counter() - began


def _tables() -> tuple[Observations, Observations]:
    """Make a small table of yes and no and one of ratings; what is compiled depends on kinds, not on sizes."""
    import numpy as np

    from kolmogorov import Observations, datasets

    answers = datasets.planted(n_users=30, n_items=20, binary=True, random_state=0).observations
    stars = np.random.default_rng(0).integers(1, 6, 600).astype(float)
    ratings = Observations.from_arrays(*np.divmod(np.arange(600), 20), stars, maximum=5)
    return answers, ratings


def _one_model(answers: Observations, ratings: Observations) -> None:
    for table in (answers, ratings):
        for solver in ("exhaustive", "local_search"):
            model = _fitted(table, item_solver=solver)
        _ask(model, table)


def _of_ratings(answers: Observations, ratings: Observations) -> None:
    for levels in (2, "chances"):
        _fitted(ratings, learn_from="ratings", levels=levels).evaluate(ratings)


def _levels(answers: Observations, ratings: Observations) -> None:
    _ask(_fitted(ratings, levels="auto", learn_from="ratings"), ratings)


def _only_yes(answers: Observations, ratings: Observations) -> None:
    from kolmogorov.model.lists import ListModel

    visits = answers.subset(answers.values == 1.0)
    model = _fitted(visits, unobserved="auto")
    model.evaluate(visits, ranking=True)
    model._asked(visits.users.ids[0], 3)
    lists = ListModel(4, random_state=0).fit(visits)
    lists.predict(visits)
    lists.evaluate(visits)
    lists._asked(visits.users.ids[0], 3)
    lists._asked(visits.subset(visits.user_rows() < 2), 3)
    lists.explain(visits.users.ids[0], visits.items.ids[0])


def _fitted(table: Observations, **options: Any) -> Any:
    from kolmogorov import KolmogorovModel

    return KolmogorovModel(4, max_iter=2, random_state=0, **options).fit(table)


def _drawn(table: Observations) -> None:
    from kolmogorov import BayesianKolmogorovModel

    model = BayesianKolmogorovModel(4, random_state=0, **_SHORT).fit(table)
    model.predict_interval(table)
    _ask(model, table)


def _ask(model: Any, table: Observations) -> None:
    """Ask a model what verbs ask."""
    known, items = table.users.ids[0], table.items.ids
    model.predict(table)
    model.evaluate(table)
    model.evaluate(table, ranking=True)
    # Their columns, for which no library of data frames is needed.
    model._asked(known, 3)
    model._asked(table.subset(table.user_rows() < 2), 3)
    model.explain(known, items[0])
    # Whatever their p-values: these small tables support hardly any.
    model.relations().rules(table, max_p=1.0)


#: What is compiled, in the order in which newcomers meet it.
STEPS: dict[str, Callable[[Any, Any], None]] = {
    "one model: fit, predict, recommend, explain, rules": _one_model,
    "the same learned from ratings": _of_ratings,
    "draws of yes and no": lambda answers, ratings: _drawn(answers),
    "draws of ratings": lambda answers, ratings: _drawn(ratings),
    "many-valued models": _levels,
    "tables in which only yes is recorded": _only_yes,
}
