"""Models to files and back. The ids travel with the model, and so do the observations that it was fitted to.

A file may have been made by anybody. Its container is checked below (`_support.container`), each array is asked for
with its type and its number of dimensions, and what is made of them must satisfy the invariants of its kind before
it is used. Parameters of a run (paths, threads, seeds, callbacks) are never taken from a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support import container
from kolmogorov.data import Observations, Scale, Vocabulary
from kolmogorov.data.observations import View
from kolmogorov.errors import FileFormatError, InvariantError, KolmogorovError
from kolmogorov.model.bayes.posterior import Posterior
from kolmogorov.model.bayesian import BayesianKolmogorovModel
from kolmogorov.model.biased import BiasedFactors, BiasedModel
from kolmogorov.model.estimator import KolmogorovModel
from kolmogorov.model.factorization import MatrixFactorization
from kolmogorov.model.history import Sweep, history_array, history_of
from kolmogorov.model.nonnegative import NonnegativeModel
from kolmogorov.model.parameters import Fitted
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.model.svdpp import SVDpp
from kolmogorov.solvers import RowSolver, resolve

_BLOCK = 1 << 22
# What belongs to a run and not to the model it made.
_NOT_STORED = ("callback", "checkpoint", "execution", "n_jobs", "random_state", "verbose")
# Version 0.1.0 stored these two; they are passed over.
_PASSED_OVER = ("n_jobs", "verbose")
Model = SimplexModel | BiasedModel | BayesianKolmogorovModel
_CLASSES: dict[str, type[Model]] = {
    cls.__name__: cls
    for cls in (KolmogorovModel, NonnegativeModel, MatrixFactorization, SVDpp, BayesianKolmogorovModel)
}


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see `kolmogorov.load`."""
    from kolmogorov import __version__

    fitted = model.fitted_
    options = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_STORED}
    meta: dict[str, Any] = {
        "library": __version__,
        "parameters": {name: _plain(value) for name, value in options.items()},
        "scale": asdict(fitted.scale),
    }
    if isinstance(fitted, Fitted):
        more, arrays = _simplex_parts(fitted)
    else:
        more, arrays = _posterior_parts(fitted) if isinstance(fitted, Posterior) else _biased_parts(fitted)
    arrays |= fitted.users.arrays("users") | fitted.items.arrays("items")
    container.write(path, type(model).__name__, meta | more, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by its `save`.

    A truncated, altered or foreign file raises `FileFormatError`. Nothing in a file is ever executed.

    Returns
    -------
    KolmogorovModel, NonnegativeModel, MatrixFactorization, SVDpp or BayesianKolmogorovModel
        Whichever was saved.

    Examples
    --------
    >>> import tempfile, os, kolmogorov as km
    >>> model = km.KolmogorovModel(n_events=3, random_state=0).fit(km.datasets.load("toy"))
    >>> path = os.path.join(tempfile.mkdtemp(), "toy.km")
    >>> model.save(path)
    >>> bool((km.load(path).theta_ == model.theta_).all())
    True
    """
    contents, arrays = container.read(path, tuple(_CLASSES))
    try:
        cls = _CLASSES[contents.kind]
        model = cls(**_parameters(cls, contents.meta["parameters"]))
        model.check_parameters()  # type: ignore[union-attr]
        fitted = _RESTORED[contents.kind](File(contents.meta, arrays))
        fitted.validate()
        _check_size(model, fitted)
        return model.adopt(fitted)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, KolmogorovError) as error:
        why = f"{type(error).__name__}: " if not isinstance(error, KolmogorovError) else ""
        raise FileFormatError(f"{path} is malformed: {why}{str(error).removesuffix('.')}.") from None


@dataclass(frozen=True)
class File:
    """The parts of a file, handed out by name with their type and number of dimensions checked."""

    meta: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def array(self, name: str, dimensions: int, *dtypes: str) -> NDArray[Any]:
        """Return an array of one of the types."""
        array = self.arrays[name]
        if array.ndim != dimensions or array.dtype.name not in dtypes:
            wanted = " or ".join(dtypes)
            raise InvariantError(
                f"{name} must be {wanted} in {dimensions} dimension(s), got {array.dtype.name}{list(array.shape)}"
            )
        return array

    def count(self, name: str) -> int:
        """Return a number that counts something."""
        value = self.meta[name]
        if type(value) is not int or value < 1:
            raise InvariantError(f"{name} must be a whole number above 0, got {str(value)[:40]}")
        return value

    def unpacked(self, name: str, dimensions: int) -> NDArray[np.bool_]:
        """Return bits that were packed along the last axis, `n_events` of them."""
        packed, size = self.array(name, dimensions, "uint8"), self.count("n_events")
        if packed.shape[-1] != -(-size // 8):
            raise InvariantError(f"{name} has {packed.shape[-1]} bytes a row, which do not hold {size} events")
        return np.unpackbits(packed, axis=dimensions - 1, count=size).view(bool)

    def training(self) -> Observations:
        """Return the observations that the model was fitted to."""
        users, items = (Vocabulary.from_arrays(side, self.arrays) for side in ("users", "items"))
        levels = self.array("seen_levels", 1, "float64")
        codes = self.array("seen_codes", 1, "uint8", "int32")
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < levels.size:
            raise InvariantError("seen_codes holds a number that stands for no value")
        rows = View(
            self.array("seen_indptr", 1, "int64"),
            self.array("seen_items", 1, "int32", "int64"),
            levels[codes],
            self.array("seen_weights", 1, "float64") if "seen_weights" in self.arrays else np.empty(0),
        )
        return Observations(users, items, rows, self.scale())

    def scale(self) -> Scale:
        """Return the map between probabilities and rating units."""
        ends = [self.meta["scale"][name] for name in ("minimum", "maximum")]
        if not all(type(end) in (int, float) for end in ends):
            raise InvariantError("the scale must have a minimum and a maximum, both numbers")
        return Scale(float(ends[0]), float(ends[1]))


# --- what a model's file holds -----------------------------------------------------------------------------------


def _training_arrays(training: Observations) -> dict[str, NDArray[Any]]:
    # Ratings have few distinct values; a byte each then does. Block by block, as there may be very many.
    values = training.values
    blocks = [slice(first, first + _BLOCK) for first in range(0, values.size, _BLOCK)]
    levels = np.unique(np.concatenate([np.unique(values[block]) for block in blocks]))
    codes = np.empty(values.size, dtype=np.uint8 if len(levels) <= 256 else np.int32)
    for block in blocks:
        codes[block] = np.searchsorted(levels, values[block])
    seen: dict[str, NDArray[Any]] = {"seen_indptr": training.rows.indptr, "seen_items": training.rows.indices}
    seen |= {"seen_levels": levels, "seen_codes": codes}
    return seen if training.weights is None else seen | {"seen_weights": training.weights}


def _simplex_parts(fitted: Fitted) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {
        "theta": fitted.theta,
        "psi": np.packbits(fitted.psi, axis=1) if fitted.psi.dtype == bool else fitted.psi,
        "centre": fitted.centre,
        "history": history_array(fitted.history),
    }
    return {"n_events": fitted.n_events}, arrays | _training_arrays(fitted.training)


def _simplex(file: File) -> Fitted:
    return _point(file, file.array("psi", 2, "float64"))


def _binary(file: File) -> Fitted:
    return _point(file, file.unpacked("psi", 2))


def _point(file: File, psi: NDArray[Any]) -> Fitted:
    return Fitted(
        theta=file.array("theta", 2, "float64"),
        psi=psi,
        centre=file.array("centre", 1, "float64"),
        training=file.training(),
        history=_history(file),
    )


def _history(file: File) -> tuple[Sweep, ...]:
    if "history" not in file.arrays:
        # Version 0.1.0 had it among the text.
        return tuple(Sweep(**sweep) for sweep in file.meta["history"])
    return history_of(file.arrays["history"])


def _posterior_parts(posterior: Posterior) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    meta = {"n_chains": posterior.n_chains, "likelihood": posterior.likelihood, "n_events": posterior.theta.shape[2]}
    arrays: dict[str, NDArray[Any]] = {
        "theta": posterior.theta,
        "psi": np.packbits(posterior.psi, axis=2),
        "noise": posterior.noise,
        **{f"prior_{name}": values for name, values in posterior.priors.items()},
    }
    return meta, arrays | _training_arrays(posterior.training)


def _posterior(file: File) -> Posterior:
    return Posterior(
        theta=file.array("theta", 3, "float64"),
        psi=file.unpacked("psi", 3),
        noise=file.array("noise", 2, "float64"),
        n_chains=file.count("n_chains"),
        likelihood=str(file.meta["likelihood"]),
        training=file.training(),
        priors={
            name.removeprefix("prior_"): file.array(name, 1, "float64")
            for name in file.arrays
            if name.startswith("prior_")
        },
    )


_BIASED_ARRAYS = {"user_bias": 1, "item_bias": 1, "user_factors": 2, "item_factors": 2}


def _biased_parts(fitted: BiasedFactors) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {name: getattr(fitted, name) for name in _BIASED_ARRAYS}
    arrays["user_seen"] = fitted.user_seen.astype(np.uint8)
    arrays["item_seen"] = fitted.item_seen.astype(np.uint8)
    return {"mean": fitted.mean}, arrays


def _biased(file: File) -> BiasedFactors:
    seen = {name: file.array(name, 1, "uint8") for name in ("user_seen", "item_seen")}
    if any(array.size and array.max() > 1 for array in seen.values()):
        raise InvariantError("who was seen must be said by 0 and 1")
    return BiasedFactors(
        mean=float(file.meta["mean"]),
        **{name: file.array(name, dimensions, "float64") for name, dimensions in _BIASED_ARRAYS.items()},
        users=Vocabulary.from_arrays("users", file.arrays),
        items=Vocabulary.from_arrays("items", file.arrays),
        scale=file.scale(),
        **{name: array.astype(bool) for name, array in seen.items()},
    )


_RESTORED: dict[str, Callable[[File], Any]] = {
    "KolmogorovModel": _binary,
    "NonnegativeModel": _simplex,
    "MatrixFactorization": _biased,
    "SVDpp": _biased,
    "BayesianKolmogorovModel": _posterior,
}


# --- parameters --------------------------------------------------------------------------------------------------


def _parameters(cls: type[Model], stored: Any) -> dict[str, Any]:
    """Return the parameters of a file that may come from one."""
    known = set(cls._get_param_names()) - set(_NOT_STORED)
    options = {name: value for name, value in stored.items() if name not in _PASSED_OVER}
    strange = sorted(set(options) - known)
    if strange:
        raise InvariantError(f"the parameter {strange[0][:40]!r} does not belong into a file")
    return {name: _solver(name, value) for name, value in options.items()}


def _check_size(model: Model, fitted: Any) -> None:
    """The number of events stands in the parameters and in the arrays; later code believes either."""
    if not isinstance(fitted, BiasedFactors) and model.n_events != fitted.theta.shape[-1]:
        raise InvariantError(f"n_events is {model.n_events}, but theta has {fitted.theta.shape[-1]} events")
    if isinstance(fitted, BiasedFactors) and model.n_factors != fitted.user_factors.shape[-1]:
        raise InvariantError(f"n_factors is {model.n_factors}, but there are {fitted.user_factors.shape[-1]}")


def _plain(value: Any) -> Any:
    """Turn a parameter into JSON: a solver object becomes its name and options."""
    if isinstance(value, RowSolver):
        options = {name: _plain(option) for name, option in value.options().items()}
        return {"solver": value.name, "options": options}
    return value.item() if isinstance(value, np.generic) else value


def _solver(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        options = {option: _solver(name, inner) for option, inner in value["options"].items()}
        return resolve(name.removesuffix("_solver"), value["solver"], **options)
    return value
