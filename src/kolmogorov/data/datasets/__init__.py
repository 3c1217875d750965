"""Tables to try things on: bundled, generated, and MovieLens where its files can be had.

Examples
--------
>>> from kolmogorov import datasets
>>> datasets.load("zoo")
Observations: 1,515 of 101 users × 15 items (100.0% observed), p = r
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kolmogorov._support.validation import suggestion
from kolmogorov.data.datasets.bundled import CREDITS
from kolmogorov.data.reading.provenance import Provenance
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import ParameterError

if TYPE_CHECKING:
    from kolmogorov.data.datasets.synthetic import Planted

_HOME = "kolmogorov.data.datasets"
#: Where a function is that returns observations, or a `Planted` table with the truth behind it, and a line about it.
_DATASETS = {
    "zoo": (f"{_HOME}.zoo:load_zoo", "101 animals × 15 yes/no traits; bundled"),
    "un-votes": (f"{_HOME}.un_votes:load_un_votes", "193 countries × 1,862 motions of the UN since 2000; bundled"),
    "food": (f"{_HOME}.food:load_food", "1,276 people × 40 cuisines, 1 to 5; bundled"),
    "digits": (f"{_HOME}.digits:load_digits", "1,797 images × 64 pixels; from scikit-learn"),
    "toy": (f"{_HOME}.synthetic:load_toy", "20 × 40 uniform numbers, the paper's D1; generated"),
    "planted": (f"{_HOME}.synthetic:planted", "sampled from a known model; generated"),
    "votes": (f"{_HOME}.votes:votes", "120 members × 60 motions, yes or no: a planted roll call; generated"),
    "survey": (f"{_HOME}.survey:survey", "160 people × 40 statements, 1 to 5: a planted survey; generated"),
    "ml-100k": (f"{_HOME}.movielens:load_ml_100k", "MovieLens 100K, the paper's D2; downloaded"),
    "ml-1m": (f"{_HOME}.movielens:load_ml_1m", "MovieLens 1M, the paper's D3; downloaded"),
}
_PLANTED = ("planted", "votes", "survey")


def load(name: str, **options: Any) -> Observations:
    """Load a dataset by name.

    Parameters
    ----------
    name : {"zoo", "un-votes", "food", "digits", "toy", "planted", "votes", "survey", "ml-100k", "ml-1m"}
        `planted`, `votes` and `survey` are made up: drawn from a model that `truth` returns.
    **options
        `un-votes`: `since`, a year. `toy`, `votes`, `survey`: `random_state`. `planted`: see `planted`.
        The others have none.

    Examples
    --------
    >>> load("toy")
    Observations: 800 of 20 users × 40 items (100.0% observed), p = r
    """
    made = _made(name, options)
    table: Observations = made.observations if name in _PLANTED else made
    source = Provenance.called(name, table.source, CREDITS.get(name, ""))
    return table.over(source=source)


def truth(name: str, **options: Any) -> Planted:
    """Return a planted table together with the model that it was drawn from.

    Parameters
    ----------
    name : {"planted", "votes", "survey"}
    **options
        Those of `load`; with the same ones the observations are the same.

    Returns
    -------
    Planted
        `observations`, `theta` and `psi`; `events` and `groups` where they have names.

    Examples
    --------
    >>> known = truth("votes")
    >>> known.theta.shape, known.psi.shape, known.events[:2]
    ((120, 6), (60, 6), ('welfare', 'market'))
    """
    if name in _DATASETS and name not in _PLANTED:
        raise ParameterError(f"Dataset {name!r} has no known truth; these have: {', '.join(_PLANTED)}.")
    known: Planted = _made(name, options)
    return known


def folds(name: str = "ml-100k") -> list[tuple[Observations, Observations]]:
    """Return a dataset's official (train, test) pairs: u1 to u5 of MovieLens 100K."""
    if name != "ml-100k":
        raise ParameterError(f"Only 'ml-100k' comes with official folds, got {name!r}.")
    from kolmogorov.data.datasets.movielens import official_folds

    return official_folds()


def names() -> dict[str, str]:
    """Return every dataset's name with one line about it."""
    return {name: about for name, (_, about) in _DATASETS.items()}


def planted(**options: Any) -> Planted:
    """Sample a table from a known model; see `kolmogorov.data.datasets.synthetic.planted`."""
    from kolmogorov.data.datasets.synthetic import planted as sample

    return sample(**options)


def _made(name: str, options: dict[str, Any]) -> Any:
    if name not in _DATASETS:
        raise ParameterError(
            f"Unknown dataset {name!r}; known: {', '.join(_DATASETS)}.{suggestion(str(name), _DATASETS)}"
        )
    module, _, function = _DATASETS[name][0].partition(":")
    try:
        return getattr(import_module(module), function)(**options)
    except TypeError as error:
        if not options or "unexpected keyword" not in str(error):
            raise
        raise ParameterError(f"Dataset '{name}' does not take these options: {', '.join(options)}.") from None


__all__ = ["folds", "load", "names", "planted", "truth"]
