"""Hypothesis strategies for problems and tables."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from kolmogorov import Observations, datasets
from kolmogorov.solvers.bqp import BinaryQP
from kolmogorov.solvers.rows import normal_equations


@st.composite
def binary_problems(draw, max_size=9):
    """(gram, moment) of a binary quadratic program, definite or not."""
    size = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    convex = draw(st.booleans())
    factor = rng.normal(size=(size, size + 2))
    gram = factor @ factor.T if convex else (lambda a: (a + a.T) / 2)(rng.normal(size=(size, size)))
    return gram, rng.normal(size=size) * draw(st.sampled_from([0.0, 0.1, 1.0, 10.0]))


@st.composite
def convex_problems(draw, max_size=6):
    """(gram, moment) with a positive semidefinite matrix, sometimes singular."""
    size = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factor = rng.normal(size=(size, draw(st.integers(1, size + 2))))
    return factor @ factor.T, rng.normal(size=size) * draw(st.sampled_from([0.0, 1.0, 5.0]))


@st.composite
def tables(draw, weighted=None, trainable=False):
    """Small Observations with holes, some rows and columns empty; with `trainable` those that `fit` accepts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_users, n_items = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    values = rng.random((n_users, n_items))
    if draw(st.booleans()):
        values = values.round()
    values[rng.random((n_users, n_items)) < draw(st.sampled_from([0.0, 0.3, 0.7]))] = np.nan
    if np.isnan(values).all():
        values[0, 0] = 0.0
    has_weights = draw(st.booleans()) if weighted is None else weighted
    weights = rng.uniform(0.1, 5.0, size=int((~np.isnan(values)).sum())) if has_weights else None
    table = Observations.from_dense(values, maximum=1, weights=weights)
    assume(not trainable or table.rows.extent not in ((0.0, 0.0), (1.0, 1.0)))
    return table


def toy_problems(size, count, seed=0):
    """Item problems of the paper's D1 for random thetas."""
    toy = datasets.load("toy", random_state=seed)
    theta = np.random.default_rng(seed).dirichlet(np.ones(size), toy.n_users)
    view = toy.columns
    gram, moment = np.empty((40, size, size)), np.empty((40, size))
    zero = np.zeros(size)
    normal_equations(view.indptr, view.indices, view.values, view.weights, theta, 0, 40, 0.0, zero, gram, moment)
    return [BinaryQP(gram[k], moment[k]) for k in range(count)]


def sparse_integers(size, seed, density=0.1):
    """A matrix as Beasley's: integers from -100 to 100 in a tenth of the places."""
    rng = np.random.default_rng([size, seed])
    upper = np.triu(rng.integers(-100, 101, (size, size)) * (rng.random((size, size)) < density)).astype(float)
    return upper + np.triu(upper, 1).T
