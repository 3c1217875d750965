"""Fitted models to files. The ids travel with the model, and so do the observations that it was fitted to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov import _version
from kolmogorov._support import container
from kolmogorov.solvers import RowSolver

#: What belongs to a run and not to the model it made.
NOT_STORED = ("callback", "checkpoint", "execution", "n_jobs", "random_state", "verbose")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see `kolmogorov.load`."""
    meta: dict[str, Any] = {"scale": asdict(model.fitted_.scale)}
    if (source := model.fitted_.training.source) is not None:
        # The next file is read the same way.
        meta["source"] = source.to_dict()
    more, arrays = model.fitted_.stored()
    write_model(model, path, meta | more, arrays)


def write_model(
    model: Any, path: str | os.PathLike[str], meta: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write what a fit left behind, with the parameters of the model and the version of the library."""
    options = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_STORED}
    parameters = {name: _plain(value) for name, value in options.items()}
    own = {"library": _version.__version__, "parameters": parameters}
    container.write(path, type(model).__name__, own | meta, arrays)


def _plain(value: Any) -> Any:
    """Turn a parameter into JSON: a solver object becomes its name and options."""
    if isinstance(value, RowSolver):
        options = {name: _plain(option) for name, option in value.options().items()}
        return {"family": value.family, "solver": value.name, "options": options}
    if isinstance(value, (np.ndarray, tuple, list)):
        return np.asarray(value).tolist()
    return value.item() if isinstance(value, np.generic) else value
