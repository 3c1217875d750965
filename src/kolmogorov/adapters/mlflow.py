"""Models in MLflow: saved and logged as its `pyfunc` flavour, from the library's own files; nothing is pickled."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kolmogorov import __version__
from kolmogorov._support.optional import require_package
from kolmogorov._support.typing import Floats
from kolmogorov.errors import DataError
from kolmogorov.model.loading import load_recommender
from kolmogorov.surface.recommender import Recommender

#: Pairs that MLflow learns the types of ids from.
_PAIRS = 5


class PairPredictor:
    """What MLflow calls: predictions for a frame with the columns user and item."""

    def __init__(self, model: Recommender) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Floats:
        """Return a probability for each row, or with ``params={"output": "rating"}`` a rating.

        Users and items that the model does not know are average ones.
        """
        try:
            users, items = np.asarray(model_input["user"]), np.asarray(model_input["item"])
        except (KeyError, IndexError, TypeError):
            raise DataError("Expected a frame with the columns 'user' and 'item', one row for each pair.") from None
        found: Floats = self.model.predict(users, items, unknown="ignore", **(params or {}))
        return found


def save_model(model: Recommender, path: str | os.PathLike[str], **options: Any) -> None:
    """Save a fitted model as a folder of MLflow, which `mlflow.pyfunc.load_model` reads.

    Parameters
    ----------
    model : KolmogorovModel, BayesianKolmogorovModel, ListModel or a baseline
    path : path
        Of a folder that does not exist yet.
    **options
        As `mlflow.pyfunc.save_model` takes them.
    """
    _flavoured(model, "save_model", path=os.fspath(path), **options)


def log_model(model: Recommender, name: str = "model", **options: Any) -> Any:
    """Log a fitted model in the active run of MLflow; return what MLflow says of it.

    Parameters
    ----------
    model : KolmogorovModel, BayesianKolmogorovModel, ListModel or a baseline
    name : str
    **options
        As `mlflow.pyfunc.log_model` takes them, `registered_model_name` among them.
    """
    return _flavoured(model, "log_model", name=name, **options)


def _flavoured(model: Recommender, act: str, **options: Any) -> Any:
    pyfunc = require_package("mlflow.pyfunc", package="mlflow", purpose="A model in MLflow")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.km"
        model.save(file)
        usual = {
            "loader_module": __name__,
            "data_path": os.fspath(file),
            "pip_requirements": [f"kolmogorov=={__version__}"],
            "signature": _signature(model),
        }
        return getattr(pyfunc, act)(**(usual | options))


def _signature(model: Recommender) -> Any:
    """Return what goes in and comes out, by some pairs of the training data."""
    models = require_package("mlflow.models", package="mlflow", purpose="A model in MLflow")
    pandas = require_package("pandas", package="pandas", purpose="A model in MLflow")
    users, items = (np.asarray(ids.ids)[:_PAIRS].tolist() for ids in (model.users_, model.items_))
    n = min(len(users), len(items))
    pairs = pandas.DataFrame({"user": users[:n], "item": items[:n]})
    return models.infer_signature(pairs, PairPredictor(model).predict(pairs), params={"output": "probability"})


def _load_pyfunc(data_path: str) -> PairPredictor:
    """Read what was saved; MLflow calls this by its name."""
    return PairPredictor(load_recommender(data_path))
