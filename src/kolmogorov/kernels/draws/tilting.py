"""Distributions over a rating scale, tilted until their means are what is predicted."""

from __future__ import annotations

from math import exp

from kolmogorov._support.jit import kernel

#: Steps at most, and how near the mean has to come, as a share of the scale: to rounding.
_STEPS, _CLOSE = 200, 1e-13
#: The least that any rating is given before the tilt: no mean is impossible.
_LEAST = 1e-12
#: The steepest tilt, in exponents from a rating to the one that is nearest to it. By judgement.
_STEEPEST = 64.0


@kernel
def tilt(points, means, out):
    """Change distributions over `points` as little as possible so that they have given means.

    Of all with that mean, the nearest in Kullback and Leibler's sense is proportional to out[n, k] exp(s points[k]).
    Newton's steps find s, and halves of what is left where one would leave it. A mean at an end of the points, or
    beyond, puts everything there.

    Parameters
    ----------
    points : float64[K]
        Increasing, at least two.
    means : float64[n]
    out : float64[n, K]
        Shares, which need not sum to 1; distributions on return.
    """
    size = points.size
    first, span = points[0], points[size - 1] - points[0]
    nearest = span
    for k in range(1, size):
        nearest = min(nearest, points[k] - points[k - 1])
    steepest = _STEEPEST * span / nearest
    for n in range(means.size):
        wanted = (means[n] - first) / span
        if wanted <= _CLOSE or wanted >= 1.0 - _CLOSE:
            for k in range(size):
                out[n, k] = 0.0
            out[n, 0 if wanted <= _CLOSE else size - 1] = 1.0
            continue
        for k in range(size):
            out[n, k] = max(out[n, k], _LEAST)
        low, high, slope = -steepest, steepest, 0.0
        for _ in range(_STEPS):
            total, mean, square = 0.0, 0.0, 0.0
            for k in range(size):
                place = (points[k] - first) / span
                # From the end that the tilt lifts, so that nothing overflows.
                part = out[n, k] * exp(slope * (place - (1.0 if slope > 0.0 else 0.0)))
                total += part
                mean += part * place
                square += part * place * place
            mean /= total
            missing = wanted - mean
            if abs(missing) <= _CLOSE:
                break
            if missing > 0.0:
                low = slope
            else:
                high = slope
            spread = square / total - mean * mean
            step = missing / spread if spread > 0.0 else 0.0
            slope = slope + step if low < slope + step < high and step != 0.0 else 0.5 * (low + high)
        total = 0.0
        for k in range(size):
            place = (points[k] - first) / span
            out[n, k] *= exp(slope * (place - (1.0 if slope > 0.0 else 0.0)))
            total += out[n, k]
        for k in range(size):
            out[n, k] /= total
