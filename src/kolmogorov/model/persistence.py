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
from kolmogorov.model.estimator import KolmogorovModel
from kolmogorov.model.history import Sweep
from kolmogorov.model.parameters import Fitted
from kolmogorov.solvers import RowSolver, resolve

KIND = "KolmogorovModel"
# What belongs to a run and not to the model it made.
_NOT_STORED = ("callback", "checkpoint", "random_state")


def save(model: KolmogorovModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see `kolmogorov.load`."""
    from kolmogorov import __version__

    fitted = model.fitted_
    options = {name: value for name, value in model.get_params(deep=False).items() if name not in _NOT_STORED}
    meta = {
        "library": __version__,
        "parameters": {name: _plain(value) for name, value in options.items()},
        "scale": asdict(fitted.scale),
        "history": [asdict(sweep) for sweep in fitted.history],
        "n_items": len(fitted.items),
        "n_events": fitted.theta.shape[1],
    }
    arrays = {
        "theta": fitted.theta,
        "psi": np.packbits(fitted.psi, axis=1),
        "centre": fitted.centre,
        "seen_indptr": fitted.seen_indptr,
        "seen_items": fitted.seen_items,
        **_vocabulary_arrays("users", fitted.users),
        **_vocabulary_arrays("items", fitted.items),
    }
    archive.write(path, KIND, meta, arrays)


def load(path: str | os.PathLike[str]) -> KolmogorovModel:
    """Read a model written by `KolmogorovModel.save`.

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
    meta, arrays = archive.read(path, KIND)
    try:
        return _restored(meta, arrays)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
        KolmogorovError,
    ) as error:
        raise FileFormatError(f"{path} is malformed: {type(error).__name__}: {error}.") from None


def _restored(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> KolmogorovModel:
    options = {name: _solver(name, value) for name, value in meta["parameters"].items()}
    model = KolmogorovModel(**options)
    users, items = _vocabulary("users", arrays), _vocabulary("items", arrays)
    size = int(meta["n_events"])
    fitted = Fitted(
        theta=arrays["theta"],
        psi=np.unpackbits(arrays["psi"], axis=1, count=size).astype(bool),
        centre=arrays["centre"],
        users=users,
        items=items,
        scale=Scale(float(meta["scale"]["minimum"]), float(meta["scale"]["maximum"])),
        seen_indptr=arrays["seen_indptr"],
        seen_items=arrays["seen_items"],
        history=tuple(Sweep(**sweep) for sweep in meta["history"]),
    )
    fitted.check()
    model.check_parameters()
    return model.adopt(fitted)


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


def _vocabulary_arrays(side: str, vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    arrays = _text_arrays(f"{side}_ids", vocabulary.ids) if vocabulary.holds_strings else {side: vocabulary.ids}
    if vocabulary.labels is not None:
        arrays |= _text_arrays(f"{side}_labels", vocabulary.labels)
    return arrays


def _vocabulary(side: str, arrays: dict[str, NDArray[Any]]) -> Vocabulary:
    ids = arrays[side] if side in arrays else _texts(f"{side}_ids", arrays)
    ordered = ids.dtype == object or (ids.dtype == np.int64 and (ids[1:] > ids[:-1]).all())
    if ids.ndim != 1 or not ordered or len(set(ids.tolist())) != ids.size:
        raise ValueError(f"the ids of the {side} are not distinct")
    labels = _texts(f"{side}_labels", arrays) if f"{side}_labels_ends" in arrays else None
    return Vocabulary(ids, labels)


def _text_arrays(name: str, texts: NDArray[Any]) -> dict[str, NDArray[Any]]:
    encoded = [str(text).encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {f"{name}_ends": ends, f"{name}_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8)}


def _texts(name: str, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    content = arrays[f"{name}_bytes"].tobytes()
    ends = arrays[f"{name}_ends"].tolist()
    starts = [0, *ends[:-1]]
    texts = np.empty(len(ends), dtype=object)
    pairs = zip(starts, ends, strict=True)
    texts[:] = [content[start:end].decode("utf-8", "surrogatepass") for start, end in pairs]
    return texts
