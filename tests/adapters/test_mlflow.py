"""Models that go through MLflow and come back the same."""

import numpy as np
import pandas as pd
import pytest

import kolmogorov as km
from helpers import peers
from kolmogorov.adapters.mlflow import PairPredictor, log_model, save_model
from kolmogorov.errors import DataError, MissingExtraError


@pytest.fixture(scope="module")
def model():
    return km.KolmogorovModel(3, random_state=0).fit(km.datasets.load("zoo"))


@pytest.fixture
def mlflow():
    return peers.need("mlflow")


PAIRS = pd.DataFrame({"user": ["bear", "carp", "nobody"], "item": ["milk", "fins", "milk"]})


def test_pairs_of_a_frame(model):
    said = model.predict(PAIRS["user"], PAIRS["item"], unknown="ignore")
    np.testing.assert_array_equal(PairPredictor(model).predict(PAIRS), said)
    with pytest.raises(DataError, match="Expected a frame with the columns 'user' and 'item'"):
        PairPredictor(model).predict(pd.DataFrame({"people": ["bear"]}))
    with pytest.raises(DataError, match="Expected a frame with the columns 'user' and 'item'"):
        PairPredictor(model).predict(np.zeros((2, 2)))


def test_without_mlflow_the_command_is_told(model, tmp_path, monkeypatch):
    monkeypatch.setattr("kolmogorov._support.optional.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="A model in MLflow needs mlflow. Run: pip install mlflow"):
        save_model(model, tmp_path / "saved")


@pytest.mark.peers
@pytest.mark.long("harnesses of others")
def test_a_saved_model_comes_back_the_same(mlflow, model, tmp_path):
    save_model(model, tmp_path / "saved")
    back = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(back.predict(PAIRS), PairPredictor(model).predict(PAIRS))
    ratings = back.predict(PAIRS, params={"output": "rating"})
    np.testing.assert_array_equal(
        ratings, model.predict(PAIRS["user"], PAIRS["item"], output="rating", unknown="ignore")
    )
    assert not list((tmp_path / "saved").rglob("*.pkl"))


@pytest.mark.peers
@pytest.mark.long("harnesses of others")
@pytest.mark.parametrize("estimator", [km.BayesianKolmogorovModel, km.baselines.MatrixFactorization])
def test_any_model_is_logged_in_a_run(mlflow, estimator, tmp_path):
    table = km.Observations.from_arrays([1, 1, 2, 2, 3], [7, 8, 7, 8, 8], [0, 1, 1, 1, 0])
    model = estimator(2, random_state=0).fit(table)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("ours", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("ours")
    with mlflow.start_run():
        logged = log_model(model)
    pairs = pd.DataFrame({"user": [1, 3], "item": [7, 8]})
    found = mlflow.pyfunc.load_model(logged.model_uri).predict(pairs)
    np.testing.assert_array_equal(found, model.predict([1, 3], [7, 8]))
