"""The paper's own training, its Algorithm 4, as parameters of a `KolmogorovModel`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kolmogorov.errors import ParameterError
from kolmogorov.solvers import resolve

#: lambda_u of the paper's Table V on MovieLens 100K, by the number of events.
_USER_REG = {4: 10.0, 8: 30.0, 16: 40.0, 24: 60.0}
#: What its runs leave open: the first step, the Armijo constants and the tolerance nearest to its Table II.
_DESCENT: dict[str, Any] = {
    "gamma": 100.0,
    "n_draws": 100,
    "tol": 1e-2,
    "max_iter": 1_000,
    "step": 0.2,
    "shrink": 0.5,
    "armijo": 0.3,
    "initial_dual": 1.0,
    "screened": True,
}


def paper_parameters(n_events: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the paper's model with some events, and with changes to them."""
    if "user_reg" not in changes and n_events not in _USER_REG:
        raise ParameterError(
            f"The paper prints lambda_u for {', '.join(map(str, _USER_REG))} events, got {n_events!r}. Pass 'user_reg'."
        )
    return {
        "levels": 2,
        "learn_from": "ratings",
        "user_reg": _USER_REG.get(n_events),
        "item_reg": 0.0,
        "prior": "uniform",
        "unobserved": 0.0,
        "user_solver": "frank_wolfe",
        "item_solver": resolve("binary", "enhanced_gd", **_DESCENT),
        "max_iter": 20,
        "tol": 0.0,
        "n_init": 1,
        **changes,
    }
