"""Tables to try things on: bundled or generated (`tables`), and MovieLens where its files can be had (`movielens`).

Examples
--------
>>> from kolmogorov import datasets
>>> datasets.load("zoo")
Observations: 1,515 of 101 users × 15 items (100.0% observed), p = r
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kolmogorov._support.validation import suggestion
from kolmogorov.data.datasets import movielens, tables
from kolmogorov.data.datasets.tables import Planted, planted
from kolmogorov.data.observations import Observations
from kolmogorov.data.provenance import Provenance
from kolmogorov.errors import ParameterError

#: Every dataset: the function that makes it, and a line about it.
_DATASETS: dict[str, tuple[Callable[..., Observations], str]] = {
    "zoo": (tables.load_zoo, "101 animals × 15 yes/no traits; bundled"),
    "un-votes": (tables.load_un_votes, "193 countries × 1,862 motions of the UN since 2000; bundled"),
    "food": (tables.load_food, "1,276 people × 40 cuisines, 1 to 5; bundled"),
    "digits": (tables.load_digits, "1,797 images × 64 pixels; from scikit-learn"),
    "toy": (tables.load_toy, "20 × 40 uniform numbers, the paper's D1; generated"),
    "planted": (lambda **options: planted(**options).observations, "sampled from a known model; generated"),
    "ml-100k": (movielens.load_ml_100k, "MovieLens 100K, the paper's D2; downloaded"),
    "ml-1m": (movielens.load_ml_1m, "MovieLens 1M, the paper's D3; downloaded"),
}


def load(name: str, **options: Any) -> Observations:
    """Load a dataset by name.

    Parameters
    ----------
    name : {"zoo", "un-votes", "food", "digits", "toy", "planted", "ml-100k", "ml-1m"}
    **options
        `un-votes`: `since`, a year. `toy`: `random_state`. `planted`: see `planted`. The others have none.

    Examples
    --------
    >>> load("toy")
    Observations: 800 of 20 users × 40 items (100.0% observed), p = r
    """
    if name not in _DATASETS:
        raise ParameterError(
            f"Unknown dataset {name!r}; known: {', '.join(_DATASETS)}.{suggestion(str(name), _DATASETS)}"
        )
    try:
        table = _DATASETS[name][0](**options)
    except TypeError as error:
        if not options or "unexpected keyword" not in str(error):
            raise
        raise ParameterError(f"Dataset '{name}' does not take these options: {', '.join(options)}.") from None
    return table.over(source=Provenance.called(name, table.source, tables.CREDITS.get(name, "")))


def folds(name: str = "ml-100k") -> list[tuple[Observations, Observations]]:
    """Return a dataset's official (train, test) pairs: u1 to u5 of MovieLens 100K."""
    if name != "ml-100k":
        raise ParameterError(f"Only 'ml-100k' comes with official folds, got {name!r}.")
    return movielens.official_folds()


def names() -> dict[str, str]:
    """Return every dataset's name with one line about it."""
    return {name: about for name, (_, about) in _DATASETS.items()}


__all__ = ["Planted", "folds", "load", "names", "planted"]
