"""The prior of the noise: variances by user, whose usual size and spread are drawn with everything else."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kolmogorov._support.typing import Floats

#: Where the shape lies: below, variances have no mean; above, all users have the same.
LEAST_SHAPE, MOST_SHAPE = 1.2, 200.0
#: The shape's own prior: its logarithm is Normal. Wide, by judgement.
_USUAL, _SPREAD = math.log(5.0), 1.5
#: Sizes of the proposals on the log scale, each used once a sweep. By judgement.
_STEPS = (0.5, 0.1, 0.03)
#: A table that can be fitted exactly would draw the noise to nothing.
_LEAST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class NoisePrior:
    """Variances by user: InverseGamma(shape, scale), the scale ~ Gamma(1, rate) learned with them."""

    scale: float
    shape: float
    rate: float

    def redrawn(self, residual: Floats, count: Floats, rng: np.random.Generator) -> tuple[Floats, NoisePrior]:
        """Draw the variances given residual sums of squares and (weighted) counts, then the scale given them."""
        noise = (self.scale + 0.5 * residual) / rng.gamma(self.shape + 0.5 * count)
        noise = np.maximum(noise, _LEAST_NOISE)
        return noise, self.rescaled(len(noise), float((1.0 / noise).sum()), rng)

    def rescaled(self, n: int, inverses: float, rng: np.random.Generator) -> NoisePrior:
        """Draw the scale given the sum of `n` inverse variances."""
        scale = rng.gamma(1.0 + self.shape * n) / (self.rate + inverses)
        return NoisePrior(float(scale), self.shape, self.rate)


def redrawn_shape(shape: float, scale: float, noise: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Take Metropolis steps for the shape of variances ~ InverseGamma(shape, scale); return it and the scale.

    scale / shape, around which variances lie, stays: what moves is how far they are from it.
    """
    logs, inverses = float(np.log(noise).sum()), float((1.0 / noise).sum())
    return shape_given(shape, scale, noise.size, logs, inverses, rng)


def shape_given(
    shape: float, scale: float, n: int, logs: float, inverses: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Take the steps of `redrawn_shape` given the sums of the logarithms and of the inverses of `n` variances."""
    usual = scale / shape

    def log_density(a: float) -> float:
        likelihood = n * (a * math.log(a * usual) - math.lgamma(a)) - (a + 1.0) * logs - a * usual * inverses
        return likelihood - 0.5 * ((math.log(a) - _USUAL) / _SPREAD) ** 2

    for step in _STEPS:
        proposed = shape * math.exp(step * rng.standard_normal())
        inside = LEAST_SHAPE < proposed < MOST_SHAPE
        if inside and math.log(rng.random()) < log_density(proposed) - log_density(shape):
            shape = proposed
    return shape, usual * shape
