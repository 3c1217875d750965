"""What the dual solvers share: room for results, one call for the descents, the way to a batch. Not a solver itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kolmogorov._support.typing import Floats, Seeds
from kolmogorov._support.validation import (
    MOST_ROUNDS,
    Between,
    Boolean,
    Integer,
    Positive,
    Real,
    Requirement,
)
from kolmogorov.errors import ParameterError
from kolmogorov.kernels.binary.dual import CONVERGED, FULL_EVDS, ITERATIONS, LANCZOS_EVDS, Descent, Results
from kolmogorov.kernels.binary.relaxation import certify_duals, gradient_batch
from kolmogorov.solvers.contract import Batch
from kolmogorov.solvers.stopping import stop_cell

#: The methods make some hundred eigendecompositions; above this size each takes a good part of a second.
MAX_VARIABLES = 1_000
# Numbers kept for the traces of a batch: 800 MB.
_LONGEST_TRACE = 100_000_000
#: A line search shortens its step by at least this, or it would not come to an end.
LEAST_SHRINKING = 0.99
#: Rules of the options that the two gradient descents have in common.
DESCENT_RULES: dict[str, Requirement] = {
    "gamma": Positive(),
    "n_draws": Integer(1, MOST_ROUNDS),
    "tol": Real(0.0),
    "max_iter": Integer(1, MOST_ROUNDS),
    "step": Positive(),
    "shrink": Between(0.0, LEAST_SHRINKING),
    "armijo": Between(0.0, 1.0),
    "initial_dual": Real(-1e100, 1e100),
    "screened": Boolean(),
    "trace": Boolean(),
}
#: Rules of the options of the two Newton methods.
NEWTON_RULES = {name: DESCENT_RULES[name] for name in ("gamma", "n_draws", "tol", "max_iter", "trace")}


def room_for(solver: Any, moment: Floats) -> Results:
    """Make room for the results of the problems with these moments, and for traces where the solver keeps them."""
    n, size = moment.shape
    length = int(solver.max_iter) + 1 if solver.trace else 0
    if n * length * (size + 1) > _LONGEST_TRACE:
        raise ParameterError(
            f"A trace of up to {length:,} points of {size + 1} numbers does not fit; at most "
            f"{_LONGEST_TRACE:,} numbers are kept. Lower 'max_iter', or set trace=False."
        )
    return Results(
        x=np.zeros((n, size)),
        counts=np.zeros((n, 4), dtype=np.int64),
        phases=np.zeros((n, 4), dtype=np.int64),
        duals=np.empty((n, size + 1)),
        trace=np.empty((n, length)),
        points=np.empty((n, length, size + 1)),
    )


def batch_of(
    results: Results,
    gram: Floats,
    moment: Floats,
    gamma: float,
    *,
    with_phases: bool = False,
    longest: float = np.inf,
) -> Batch:
    """Put results into the form of the contract.

    Bounds and norms of gradients are left for later: they take a full EVD, which a fit does not need and a clock must
    not see. A row whose gradient is above `longest` did not converge.
    """

    def certified(batch: Batch) -> Batch:
        bounds, norms = np.empty(len(moment)), np.empty(len(moment))
        certify_duals(gram, moment, float(gamma), results.duals, bounds, norms)
        ended = (results.counts[:, CONVERGED] == 1) & ~(norms > longest)
        return replace(batch, lower_bound=bounds, gradient_norm=norms, converged=ended)

    steps = results.counts[:, ITERATIONS]
    traced = results.trace.shape[1] > 0
    return Batch(
        x=results.x,
        iterations=steps,
        converged=results.counts[:, CONVERGED] == 1,
        n_evd=results.counts[:, FULL_EVDS],
        n_lanczos=results.counts[:, LANCZOS_EVDS],
        phases=results.phases if with_phases else None,
        dual=results.duals,
        trace=[h[: k + 1] for h, k in zip(results.trace, steps, strict=True)] if traced else None,
        dual_trace=[p[: k + 1] for p, k in zip(results.points, steps, strict=True)] if traced else None,
        later=certified,
    )


def descended(solver: Any, gram: Floats, moment: Floats, seeds: Seeds, **options: Any) -> Batch:
    """Run a gradient descent with the settings of a solver; `options` are those of a `Descent` that Algorithm 2 adds.

    Every number is converted to the type that the kernel is compiled for. With Ritz pairs a short step may come from a
    wrong gradient: there the exact one has to be short as well, for a step of 1 / gamma, which is of the order of the
    inverse curvature.
    """
    how = Descent(
        gamma=float(solver.gamma),
        tol=float(solver.tol),
        max_iter=int(solver.max_iter),
        step=float(solver.step),
        shrink=float(solver.shrink),
        armijo=float(solver.armijo),
        initial_dual=float(solver.initial_dual),
        screened=bool(solver.screened),
        **options,
    )
    results = room_for(solver, moment)
    gradient_batch(gram, moment, seeds, how, int(solver.n_draws), stop_cell(), results)
    longest = how.gamma * how.tol if how.lanczos else np.inf
    return batch_of(results, gram, moment, how.gamma, with_phases=how.enhanced, longest=longest)
