"""`load`: models back from files.

A file may have been made by anybody. Its arrays are compared with what its kind declares (`descent.files`), and what is
made of them must satisfy the invariants of that kind before it is used. Parameters of a run (paths, threads, seeds,
callbacks) are never taken from a file.
"""

import os
from typing import Any

from kolmogorov.descent.files import read, refusing
from kolmogorov.errors import InvariantError
from kolmogorov.models.base import NOT_STORED
from kolmogorov.models.bayesian import BayesianKolmogorovModel
from kolmogorov.models.kolmogorov import KolmogorovModel
from kolmogorov.models.lists import ListModel
from kolmogorov.solvers import resolve

_CLASSES: dict[str, Any] = {cls.__name__: cls for cls in (KolmogorovModel, BayesianKolmogorovModel, ListModel)}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by its `save`: a KolmogorovModel, a BayesianKolmogorovModel or a ListModel.

    A truncated, altered or foreign file raises `FileFormatError`. Nothing in a file is ever executed.

    Examples
    --------
    >>> import tempfile, os, kolmogorov as km
    >>> model = km.KolmogorovModel(n_events=3, random_state=0).fit(km.datasets.load("toy"))
    >>> path = os.path.join(tempfile.mkdtemp(), "toy.km")
    >>> model.save(path)
    >>> bool((km.load(path).theta_ == model.theta_).all())
    True
    """
    meta, arrays = read(path, {name: cls._learned.SCHEMA for name, cls in _CLASSES.items()})
    with refusing(path):
        cls, stored = _CLASSES[meta["kind"]], meta["parameters"]
        strange = sorted(stored.keys() - (set(cls._get_param_names()) - set(NOT_STORED)))
        if strange:
            raise InvariantError(f"the parameter {strange[0][:40]!r} does not belong into a file")
        model = cls(**{name: _solver(value) for name, value in stored.items()})
        model._check_parameters()
        fitted = cls._learned.restored(meta, arrays)
        fitted.validate()
        # What stands both in the parameters and in the arrays: later code believes either.
        n_events = getattr(fitted, "events", fitted).n_events
        if model.n_events not in ("auto", n_events):
            raise InvariantError(f"n_events is {model.n_events}, but theta has {n_events} events")
        if isinstance(model, KolmogorovModel) and (fitted.psi.dtype == bool) != (model.psi == "binary"):
            raise InvariantError("the parameter psi and what psi holds do not belong together")
        return model._adopt(fitted)


def _solver(value: Any) -> Any:
    """Return a parameter: a solver where it is one, and its options may hold others."""
    if isinstance(value, dict):
        options = {option: _solver(inner) for option, inner in value["options"].items()}
        return resolve(value["family"], value["solver"], **options)
    return value
