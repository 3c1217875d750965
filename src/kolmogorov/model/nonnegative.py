"""`NonnegativeModel`: the same thetas with psis anywhere between 0 and 1 (Stark 2016)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Literal

from kolmogorov.execution import Dask
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.objective import Prior
from kolmogorov.model.interpretation import Shown
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.solvers import RowSolver


class NonnegativeModel(Shown, SimplexModel):
    """Learn Pr(X[u, i] = 1) = theta_u . psi_i with theta_u on the simplex and psi_i in [0, 1]^n_events.

    The paper's baseline NNM: a Kolmogorov model whose supports are relaxed to the box, which fits more closely and
    can no longer be read as logic. Through the same engine, with an exact row solver for the box.

    Parameters
    ----------
    n_events, user_reg, item_reg, prior, unobserved, simplex_solver, max_iter, tol, n_init, random_state, n_jobs
        As in `KolmogorovModel`; `item_reg` is the ridge on psi.
    box_solver : str or solver object
        How the items' problems are solved.
    execution, callback, verbose, checkpoint
        As in `KolmogorovModel`.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> km.NonnegativeModel(n_events=4, user_reg=0.3, random_state=0).fit(train).evaluate(test)["accuracy"] > 0.8
    True
    """

    item_family = "box"  # type: ignore[assignment]

    def __init__(
        self,
        n_events: int = 8,
        *,
        user_reg: float = 10.0,
        item_reg: float = 0.0,
        prior: Prior = "mean",
        unobserved: float | Literal["auto"] = 0.0,
        simplex_solver: str | RowSolver = "pairwise",
        box_solver: str | RowSolver = "coordinate",
        max_iter: int = 100,
        tol: float = 1e-4,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = -1,
        execution: Dask | None = None,
        callback: Callable[[Sweep], Any] | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_events = n_events
        self.user_reg = user_reg
        self.item_reg = item_reg
        self.prior = prior
        self.unobserved = unobserved
        self.simplex_solver = simplex_solver
        self.box_solver = box_solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.execution = execution
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
