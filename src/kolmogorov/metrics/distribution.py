"""How well whole distributions over a rating scale fit what was observed: log score and calibration."""

from __future__ import annotations

import numpy as np

from kolmogorov._support.typing import Floats

#: Share of every forecast that is spread evenly over the scale, so that no rating is impossible. By judgement.
FLOOR = 0.01
#: Equal parts of [0, 1] in which forecasts are compared with what happened, as is usual.
_BINS = 10
# Values come through divisions; a rating on a point of the scale must not fall below it by rounding.
_ROUNDING = 1e-9


def shares(values: Floats, points: Floats) -> Floats:
    """Spread values over the points of a scale: float64[n, n_points], rows sum to 1.

    A value beyond an end counts there; one between two points is divided between them so that its mean is kept.

    Parameters
    ----------
    values : float64[n]
    points : float64[n_points]
        Increasing, at least two.

    Examples
    --------
    >>> shares(np.array([-0.4, 0.6, 1.0]), np.array([0.2, 0.4, 1.0])).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.667, 0.333], [0.0, 0.0, 1.0]]
    """
    inside = np.clip(values, points[0], points[-1])
    right = np.clip(np.searchsorted(points, inside), 1, len(points) - 1)
    part = (inside - points[right - 1]) / (points[right] - points[right - 1])
    # Snapped, so that a rating that rounding has moved off its point is on it.
    part = np.where(part < _ROUNDING, 0.0, np.where(part > 1.0 - _ROUNDING, 1.0, part))
    out = np.zeros((len(values), len(points)))
    rows = np.arange(len(values))
    out[rows, right] = part
    out[rows, right - 1] += 1.0 - part
    return out


class DistributionScores:
    """Log score and calibration summed block by block.

    Parameters
    ----------
    points : float64[K]
        The values of the rating scale, increasing, which the forecasts are distributions over. One hundredth of every
        forecast is spread over them evenly.

    Examples
    --------
    >>> scores = DistributionScores(np.array([0.0, 1.0]))
    >>> scores.add(np.array([1.0, 0.0]), np.array([[0.2, 0.8], [0.2, 0.8]]), None)
    >>> {name: round(score, 3) for name, score in scores.result().items()}
    {'log_score': -0.911, 'calibration': 0.297}
    """

    def __init__(self, points: Floats) -> None:
        self._points = points
        self._mass = self._logs = 0.0
        # By threshold and bin: mass, sum of forecasts, sum of outcomes.
        self._bins = np.zeros((3, len(points) - 1, _BINS))

    def add(self, values: Floats, distribution: Floats, weights: Floats | None) -> None:
        """Take in some more entries: what was observed, and float64[n, K] what was forecast."""
        heavy = np.ones(len(values)) if weights is None else weights
        forecast = (1.0 - FLOOR) * distribution + FLOOR / len(self._points)
        observed = shares(values, self._points)
        self._mass += float(heavy.sum())
        self._logs += float(heavy @ np.log((forecast * observed).sum(axis=1)))
        chance = np.cumsum(forecast[:, :0:-1], axis=1)[:, ::-1]
        for k in range(len(self._points) - 1):
            said, came = chance[:, k], values >= self._points[k + 1] - _ROUNDING
            which = np.minimum((said * _BINS).astype(np.int64), _BINS - 1)
            for sums, amount in zip(self._bins, (heavy, heavy * said, heavy * came), strict=True):
                sums[k] += np.bincount(which, weights=amount, minlength=_BINS)

    def result(self) -> dict[str, float]:
        """Return `log_score` and `calibration` of everything taken in."""
        _, said, came = self._bins
        off = np.abs(said - came).sum(axis=1) / self._mass
        return {"log_score": self._logs / self._mass, "calibration": float(off.mean())}
