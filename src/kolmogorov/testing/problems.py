"""Hypothesis strategies for the small problems that row solvers are asked."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from kolmogorov._support.typing import Floats


@st.composite
def binary_problems(draw: Any, max_size: int = 9, definite: bool | None = None) -> tuple[Floats, Floats]:
    """(gram, moment) of a binary quadratic program, definite or not."""
    size = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    convex = draw(st.booleans()) if definite is None else definite
    factor = rng.normal(size=(size, size + 2))
    gram = factor @ factor.T if convex else (lambda a: (a + a.T) / 2)(rng.normal(size=(size, size)))
    return gram, rng.normal(size=size) * draw(st.sampled_from([0.0, 0.1, 1.0, 10.0]))


@st.composite
def convex_problems(draw: Any, max_size: int = 6) -> tuple[Floats, Floats]:
    """(gram, moment) with a positive semidefinite matrix, sometimes singular."""
    size = draw(st.integers(1, max_size))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factor = rng.normal(size=(size, draw(st.integers(1, size + 2))))
    return factor @ factor.T, rng.normal(size=size) * draw(st.sampled_from([0.0, 1.0, 5.0]))


@st.composite
def ridge_problems(draw: Any, max_size: int = 6) -> tuple[Floats, Floats]:
    """(gram, moment) that has a minimum without limits: definite, or singular with a moment in its range."""
    gram, moment = draw(convex_problems(max_size=max_size))
    if draw(st.booleans()):
        return gram + 0.5 * np.eye(len(moment)), moment
    return gram, gram @ moment
