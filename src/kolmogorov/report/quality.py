"""How well the model predicts: scores beside simple guesses, and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from kolmogorov.data import Observations
from kolmogorov.metrics import evaluate, simple_guesses
from kolmogorov.surface.event_model import EventModel
from kolmogorov.surface.ids import at_entries

_BINS = 12
#: A test on fewer observations says little.
FEW = 20


def quality(model: EventModel, fresh: Observations) -> dict[str, Any]:
    """Test the model on observations it was not trained on.

    Where there are too few of them, the same settings are fitted to four fifths of the training data and tested on the
    rest.
    """
    protocol = f"Tested on {len(fresh):,} observations that the model was not trained on."
    if len(fresh) < FEW:
        whole = model.fitted_.training
        if len(whole) < FEW:
            return {"protocol": "There are too few observations for a test.", "scores": [], "calibration": []}
        train, fresh = whole.split(test_size=0.2, random_state=0)
        model = clone(model).set_params(random_state=0, checkpoint=None, callback=None).fit(train)
        protocol = (
            f"No data was given that the model was not trained on. Shown is what the same settings give when fitted to "
            f"four fifths of the training data and tested on the remaining {len(fresh):,} observations."
        )
    fitted = model.fitted_
    fresh = fresh.rescaled(fitted.scale)
    predicted = at_entries(fitted, fresh)
    users = fitted.users.translate(fresh.users)[fresh.user_rows()]
    items = fitted.items.translate(fresh.items)[fresh.item_rows()]
    guesses = {"Kolmogorov model": predicted, **simple_guesses(fitted.training, users, items)}
    span, binary = fresh.scale.span, fresh.is_binary
    scores = {name: evaluate(fresh.values, guess, fresh.weights, span, binary) for name, guess in guesses.items()}
    return {
        "protocol": protocol,
        "scores": [{"name": name, **found} for name, found in scores.items()],
        "calibration": _calibration(predicted, fresh.values),
    }


def _calibration(predicted: NDArray[np.float64], values: NDArray[np.float64]) -> list[list[float]]:
    """Return (mean prediction, mean value, count) in bins of equal width that hold anything."""
    place = np.minimum((predicted * _BINS).astype(int), _BINS - 1)
    count = np.bincount(place, minlength=_BINS)
    some = count > 0
    means = [np.bincount(place, weights=x, minlength=_BINS)[some] / count[some] for x in (predicted, values)]
    return [[round(float(p), 4), round(float(v), 4), int(n)] for p, v, n in zip(*means, count[some], strict=True)]
