"""Tables to try things on: bundled, generated, and MovieLens where its files can be had.

Examples
--------
>>> from kolmogorov import datasets
>>> datasets.load("zoo")
Observations: 1,515 of 101 users × 15 items (100.0% observed), p = r
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import nearest
from kolmogorov.data.table.observations import Observations
from kolmogorov.errors import ParameterError

if TYPE_CHECKING:
    from kolmogorov.data.datasets.synthetic import Planted

_LOADERS = {
    "zoo": ("kolmogorov.data.datasets.zoo:load_zoo", "101 animals × 15 yes/no traits; bundled"),
    "un-votes": (
        "kolmogorov.data.datasets.un_votes:load_un_votes",
        "193 countries × 1,862 motions: votes of the UN General Assembly since 2000; bundled",
    ),
    "food": ("kolmogorov.data.datasets.food:load_food", "1,276 people × 40 cuisines, 1 to 5; bundled"),
    "digits": ("kolmogorov.data.datasets.digits:load_digits", "1,797 images × 64 pixels; from scikit-learn"),
    "toy": (
        "kolmogorov.data.datasets.synthetic:load_toy",
        "20 × 40 uniform numbers, the paper's D1; generated",
    ),
    "planted": ("kolmogorov.data.datasets.synthetic:load_planted", "sampled from a known model; generated"),
    "votes": (
        "kolmogorov.data.datasets.votes:load_votes",
        "120 members × 60 motions, yes or no: a planted roll call; generated",
    ),
    "survey": (
        "kolmogorov.data.datasets.survey:load_survey",
        "160 people × 40 statements, 1 to 5: a planted survey; generated",
    ),
    "ml-100k": (
        "kolmogorov.data.datasets.movielens:load_ml_100k",
        "MovieLens 100K, the paper's D2; downloaded",
    ),
    "ml-1m": ("kolmogorov.data.datasets.movielens:load_ml_1m", "MovieLens 1M, the paper's D3; downloaded"),
}
#: Tables that are drawn from a known model, and what draws both.
_TRUTHS = {
    "planted": "kolmogorov.data.datasets.synthetic:planted",
    "votes": "kolmogorov.data.datasets.votes:votes",
    "survey": "kolmogorov.data.datasets.survey:survey",
}


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
    _check_known(name)
    observations: Observations = _made(name, _LOADERS[name][0], options)
    return observations


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
    _check_known(name)
    if name not in _TRUTHS:
        raise ParameterError(f"Nobody knows the truth behind {name!r}; planted are {', '.join(_TRUTHS)}.")
    known: Planted = _made(name, _TRUTHS[name], options)
    return known


def folds(name: str = "ml-100k") -> list[tuple[Observations, Observations]]:
    """Return a dataset's official (train, test) pairs: u1 to u5 of MovieLens 100K."""
    if name != "ml-100k":
        raise ParameterError(f"Only 'ml-100k' comes with official folds, got {name!r}.")
    from kolmogorov.data.datasets.movielens import official_folds

    return official_folds()


def times(name: str = "un-votes", **options: Any) -> Floats:
    """Return when each entry of a dataset was made, for ``split(by="time", times=...)``; `un-votes` has such times."""
    if name != "un-votes":
        raise ParameterError(f"Only 'un-votes' comes with times, got {name!r}.")
    when: Floats = _made(name, "kolmogorov.data.datasets.un_votes:vote_dates", options)
    return when


def names() -> dict[str, str]:
    """Return every dataset's name with one line about it."""
    return {name: about for name, (_, about) in _LOADERS.items()}


def planted(**options: Any) -> Planted:
    """Sample a table from a known model; see `kolmogorov.data.datasets.synthetic.planted`."""
    from kolmogorov.data.datasets.synthetic import planted as sample

    return sample(**options)


def _check_known(name: str) -> None:
    if name not in _LOADERS:
        raise ParameterError(f"Unknown dataset {name!r}; known: {', '.join(_LOADERS)}.{nearest(str(name), _LOADERS)}")


def _made(name: str, target: str, options: dict[str, Any]) -> Any:
    try:
        return _function(target)(**options)
    except TypeError as error:
        if not options or "unexpected keyword" not in str(error):
            raise
        raise ParameterError(f"Dataset '{name}' does not take these options: {', '.join(options)}.") from None


def _function(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


__all__ = ["folds", "load", "names", "planted", "times", "truth"]
