"""Problems from dimod's binary quadratic models (extra ``qubo``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kolmogorov._support.optional import require
from kolmogorov.errors import DataError
from kolmogorov.problems import BinaryQP
from kolmogorov.problems.quadratic import MOST_VARIABLES


def from_dimod(bqm: Any) -> BinaryQP:
    """Turn a dimod binary quadratic model into a problem; variables keep the order of ``bqm.variables``.

    A spin model is rewritten in bits first. The value of a point is the model's energy, offset included.

    Examples
    --------
    >>> import dimod
    >>> problem = from_dimod(dimod.BinaryQuadraticModel({"a": -1.0}, {("a", "b"): 2.0}, 0.5, "BINARY"))
    >>> problem.value([1, 0])
    -0.5
    """
    dimod = require("dimod", extra="qubo", purpose="from_dimod")
    if not isinstance(bqm, dimod.BinaryQuadraticModel):
        raise DataError(f"Expected a dimod.BinaryQuadraticModel, got {type(bqm).__name__}.")
    model = bqm.change_vartype("BINARY", inplace=False)
    position = {variable: k for k, variable in enumerate(model.variables)}
    if len(position) > MOST_VARIABLES:
        raise DataError(f"A problem may have at most {MOST_VARIABLES:,} variables, this model has {len(position):,}.")
    gram = np.zeros((len(position), len(position)))
    for (left, right), bias in model.quadratic.items():
        gram[position[left], position[right]] += bias / 2.0
        gram[position[right], position[left]] += bias / 2.0
    moment = np.array([-model.linear[variable] / 2.0 for variable in model.variables], dtype=np.float64)
    return BinaryQP(gram, moment, float(model.offset))
