"""Where chains on a GPU are, as chains on threads have it."""

from dataclasses import replace

import numpy as np


def states_of(batch, given):
    """Return the states of `GpuChains` that began at those given."""
    numpy = batch.cuda.cupy.asnumpy
    found = []
    for k, state in enumerate(given):
        prior = replace(
            state.theta_prior,
            mean=batch.located[k, 0],
            slopes=batch.located[k, 1:],
            concentration=float(batch.concentration[k]),
            prior_draws=_wide(numpy(batch.prior_draws[k])),
        )
        found.append(
            replace(
                state,
                theta=_wide(numpy(batch.theta[k])),
                psi=batch.levels[numpy(batch.codes[k])],
                noise=numpy(batch.noise[k]).astype(np.float64),
                psi_prior=replace(state.psi_prior, slopes=batch.slopes[k], precision=batch.precision[k]),
                theta_prior=prior,
                scale=float(batch.scale[k]),
                shape=float(batch.shape[k]),
            )
        )
    return found


def _wide(theta):
    """Return distributions in double precision, whose sums are 1 there too."""
    theta = theta.astype(np.float64)
    return theta / theta.sum(axis=-1, keepdims=True)
