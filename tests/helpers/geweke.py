"""Geweke's joint test of a sampler (Getting it right, 2004)."""

import numpy as np


def scores_of(sweeps, make):
    """Compare draws from the joint distribution with those of sweeps that alternate with fresh answers.

    A world says how to draw from the prior, how answers come about, and which numbers of both to compare; what is
    returned is how many standard errors these are apart.
    """
    world, rng = make(), np.random.default_rng(5)
    direct = []
    for _ in range(6000):
        link = world.prior(rng)
        direct.append(world.functionals(link, world.answers(link, rng)))
    link = world.prior(rng)
    walked = []
    for index in range(1, sweeps + 1):
        values = world.answers(link, rng)
        world.chain.observations = world.with_answers(values)
        link = world.chain.sweep(link, index, learning=False)
        walked.append(world.functionals(link, values))
    direct, walked = np.array(direct), np.array(walked)
    batches = walked[: sweeps // 50 * 50].reshape(50, -1, walked.shape[1]).mean(axis=1)
    error = np.sqrt(direct.var(axis=0) / len(direct) + batches.var(axis=0, ddof=1) / 50)
    return (walked.mean(axis=0) - direct.mean(axis=0)) / error
