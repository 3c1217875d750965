"""Models to files and back. The ids travel with the model."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kolmogorov.data import Scale, Vocabulary
from kolmogorov.errors import FileFormatError, KolmogorovError
from kolmogorov.model import archive
from kolmogorov.model.bayes.posterior import Posterior
from kolmogorov.model.bayesian import BayesianKolmogorovModel
from kolmogorov.model.biased import BiasedFactors, BiasedModel
from kolmogorov.model.estimator import KolmogorovModel
from kolmogorov.model.factorization import MatrixFactorization
from kolmogorov.model.history import Sweep
from kolmogorov.model.nonnegative import NonnegativeModel
from kolmogorov.model.parameters import Fitted
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.model.svdpp import SVDpp
from kolmogorov.solvers import RowSolver, resolve

_BLOCK = 1 << 22
# What belongs to a run and not to the model it made.
_NOT_STORED = ("callback", "checkpoint", "execution", "random_state")
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
    archive.write(path, type(model).__name__, meta | more, arrays)


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
    kind, meta, arrays = archive.read(path, tuple(_CLASSES))
    try:
        options = {name: _solver(name, value) for name, value in meta["parameters"].items()}
        model = _CLASSES[kind](**options)
        restore: Any = _simplex_fitted if isinstance(model, SimplexModel) else _biased_fitted
        if isinstance(model, BayesianKolmogorovModel):
            restore = _posterior
        fitted = restore(meta, arrays)
        fitted.check()
        model.check_parameters()  # type: ignore[union-attr]
        return model.adopt(fitted)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, KolmogorovError) as error:
        raise FileFormatError(f"{path} is malformed: {type(error).__name__}: {error}.") from None


def _simplex_parts(fitted: Fitted) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    meta = {
        "history": [asdict(sweep) for sweep in fitted.history],
        "n_items": len(fitted.items),
        "n_events": fitted.n_events,
    }
    arrays = {
        "theta": fitted.theta,
        "psi": np.packbits(fitted.psi, axis=1) if fitted.psi.dtype == bool else fitted.psi,
        "centre": fitted.centre,
    }
    return meta, arrays | _seen_arrays(fitted)


def _seen_arrays(fitted: Fitted | Posterior) -> dict[str, NDArray[Any]]:
    # Ratings have few distinct values; a byte each then does. Block by block, as there may be very many.
    values = fitted.seen_values
    blocks = [slice(first, first + _BLOCK) for first in range(0, values.size, _BLOCK)]
    levels = np.unique(np.concatenate([np.unique(values[block]) for block in blocks]))
    codes = np.empty(values.size, dtype=np.uint8 if len(levels) <= 256 else np.int32)
    for block in blocks:
        codes[block] = np.searchsorted(levels, values[block])
    seen: dict[str, NDArray[Any]] = {"seen_indptr": fitted.seen_indptr, "seen_items": fitted.seen_items}
    return seen | {"seen_levels": levels, "seen_codes": codes}


def _posterior_parts(posterior: Posterior) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    meta = {"n_chains": posterior.n_chains, "likelihood": posterior.likelihood, "n_events": posterior.theta.shape[2]}
    arrays: dict[str, NDArray[Any]] = {
        "theta": posterior.theta,
        "psi": np.packbits(posterior.psi, axis=2),
        "noise": posterior.noise,
    }
    return meta, arrays | _seen_arrays(posterior)


def _posterior(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Posterior:
    return Posterior(
        theta=arrays["theta"],
        psi=np.unpackbits(arrays["psi"], axis=2, count=int(meta["n_events"])).astype(bool),
        noise=arrays["noise"],
        n_chains=int(meta["n_chains"]),
        likelihood=str(meta["likelihood"]),
        users=Vocabulary.from_arrays("users", arrays),
        items=Vocabulary.from_arrays("items", arrays),
        scale=_scale(meta),
        seen_indptr=arrays["seen_indptr"],
        seen_items=arrays["seen_items"],
        seen_values=arrays["seen_levels"][arrays["seen_codes"]],
    )


def _simplex_fitted(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Fitted:
    psi = arrays["psi"]
    if psi.dtype == np.uint8:
        psi = np.unpackbits(psi, axis=1, count=int(meta["n_events"])).astype(bool)
    return Fitted(
        theta=arrays["theta"],
        psi=psi,
        centre=arrays["centre"],
        users=Vocabulary.from_arrays("users", arrays),
        items=Vocabulary.from_arrays("items", arrays),
        scale=_scale(meta),
        seen_indptr=arrays["seen_indptr"],
        seen_items=arrays["seen_items"],
        seen_values=arrays["seen_levels"][arrays["seen_codes"]],
        history=tuple(Sweep(**sweep) for sweep in meta["history"]),
    )


_BIASED_ARRAYS = ("user_bias", "item_bias", "user_factors", "item_factors")


def _biased_parts(fitted: BiasedFactors) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    arrays = {name: getattr(fitted, name) for name in _BIASED_ARRAYS}
    arrays["user_seen"] = fitted.user_seen.astype(np.uint8)
    arrays["item_seen"] = fitted.item_seen.astype(np.uint8)
    return {"mean": fitted.mean}, arrays


def _biased_fitted(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> BiasedFactors:
    return BiasedFactors(
        mean=float(meta["mean"]),
        **{name: arrays[name] for name in _BIASED_ARRAYS},
        users=Vocabulary.from_arrays("users", arrays),
        items=Vocabulary.from_arrays("items", arrays),
        scale=_scale(meta),
        user_seen=arrays["user_seen"].astype(bool),
        item_seen=arrays["item_seen"].astype(bool),
    )


def _scale(meta: dict[str, Any]) -> Scale:
    return Scale(float(meta["scale"]["minimum"]), float(meta["scale"]["maximum"]))


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
