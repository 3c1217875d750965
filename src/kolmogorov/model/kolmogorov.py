"""`KolmogorovModel`: thetas on the simplex, binary psis."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

from kolmogorov.data.levels import Levels, LevelsRequirement, has_two
from kolmogorov.errors import ParameterError
from kolmogorov.execution import Dask
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.objective import Prior
from kolmogorov.model.interpretation import PointInterpretation
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.solvers import RowSolver, resolve

#: lambda_u of the paper's Table V on MovieLens 100K, by the number of events.
_PRINTED_USER_REG = {4: 10.0, 8: 30.0, 16: 40.0, 24: 60.0}
#: What its runs leave open: the first step, the Armijo constants and the tolerance nearest to its Table II.
_PRINTED_DESCENT: dict[str, Any] = {
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


class KolmogorovModel(PointInterpretation, SimplexModel):
    """Learn Pr(X[u, i] = 1) = theta_u . psi_i with theta_u on the simplex and psi_i in {0, 1}^n_events.

    Parameters
    ----------
    n_events : int
        Number of elementary events D.
    levels : 2, "auto" or sequence of float
        The values that an item may take in an event, on the probability scale. 2 is the paper's model: it happens or
        not. A list gives a grid, which may reach beyond 0 and 1; "auto" takes the step of the ratings, or a fifth, and
        reaches two steps beyond either end.
    user_reg : float
        Ridge on theta: how strongly a user is drawn to the prior.
    item_reg : float
        Ridge on psi: the price of each event in an item's support. With several levels it draws them to the mean of the
        training data.
    prior : {"mean", "uniform"}
        What theta shrinks to: the mean theta of all users, learned along, or the uniform distribution.
    unobserved : float or "auto"
        What an entry that was not observed weighs, as a no, where an observation weighs one. For tables in which only
        yes is recorded: clicks, purchases, visits. 0 leaves such entries out; "auto" settles a weight by the size of
        the table, `unobserved_`.
    simplex_solver, binary_solver, level_solver : str or solver object
        How the users' and the items' small problems are solved, the latter with two levels and with several;
        `kolmogorov.solvers.names` lists them.
    max_iter : int
        Limit on sweeps.
    tol : float
        Stop when a sweep lowers the objective by less than this share of it.
    n_init : int
        Number of random starts; the one with the lowest objective is kept.
    random_state : int, Generator, RandomState or None
        The same seed gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    execution : kolmogorov.execution.Dask, optional
        A cluster to fit on instead of threads.
    callback : callable, optional
        Called with the `Sweep` record after every sweep; returning True ends the fit.
    verbose : int
        1 writes a line per sweep to standard error.
    checkpoint : path, optional
        File that holds the state after every sweep. A fit that finds it goes on from there and ends with the
        same bits as one that was never interrupted.

    Attributes
    ----------
    theta_ : ndarray of shape (n_users, n_events)
    psi_ : ndarray of shape (n_items, n_events)
        Booleans; with several levels their values.
    levels_ : ndarray of shape (n_levels,)
    users_, items_ : Vocabulary
        Raw ids, in the order of the rows of `theta_` and `psi_`.
    scale_ : Scale
        Maps probabilities to rating units.
    history_ : list of Sweep
        `objective`, `rmse`, `user_seconds`, `item_seconds` of every sweep.
    n_iter_ : int
    n_features_in_ : int
        Number of items.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, user_reg=0.3, random_state=0).fit(train)
    >>> model.evaluate(test)["accuracy"] > 0.8
    True

    The paper's two-by-two example, of which one entry is missing, has a model without training error:

    >>> example = km.KolmogorovModel(4, user_reg=0.0, n_init=5, random_state=0).fit([[0.8, 0.4], [float("nan"), 0.6]])
    >>> example.predict([0, 0, 1], [0, 1, 1]).round(6).tolist()
    [0.8, 0.4, 0.6]
    """

    rules: ClassVar = {"levels": LevelsRequirement()}

    def __init__(
        self,
        n_events: int = 8,
        *,
        levels: Levels = 2,
        user_reg: float = 10.0,
        item_reg: float = 0.0,
        prior: Prior = "mean",
        unobserved: float | Literal["auto"] = 0.0,
        simplex_solver: str | RowSolver = "pairwise",
        binary_solver: str | RowSolver = "auto",
        level_solver: str | RowSolver = "coordinate",
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
        self.levels = levels
        self.user_reg = user_reg
        self.item_reg = item_reg
        self.prior = prior
        self.unobserved = unobserved
        self.simplex_solver = simplex_solver
        self.binary_solver = binary_solver
        self.level_solver = level_solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.execution = execution
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint

    @classmethod
    def as_in_paper(cls, n_events: int, **changes: Any) -> Self:
        """Return the model as the paper trains it (its Algorithm 4), every parameter set.

        The uniform prior, lambda_u as printed for MovieLens 100K, mu_i = 0, Frank-Wolfe for the users, the enhanced
        gradient descent with gamma = 100 and 100 roundings for the items, 20 sweeps from one start. The paper does not
        print the descent's first step (here 0.2), its tolerance (1e-2) and its Armijo constants (0.3, 0.5): these come
        nearest to its Table II. One thing is ours: an item keeps its support where rounding found a worse one.

        Parameters
        ----------
        n_events : int
            4, 8, 16 or 24, for which lambda_u is printed; any other number needs `user_reg`.
        **changes
            Parameters to set otherwise.

        Examples
        --------
        >>> import kolmogorov as km
        >>> model = km.KolmogorovModel.as_in_paper(8, random_state=0)
        >>> model.prior, model.user_reg, model.max_iter, model.binary_solver.name
        ('uniform', 30.0, 20, 'enhanced_gd')
        """
        if "user_reg" not in changes and n_events not in _PRINTED_USER_REG:
            raise ParameterError(
                f"The paper prints lambda_u for {', '.join(map(str, _PRINTED_USER_REG))} events, got {n_events!r}. "
                "Pass 'user_reg'."
            )
        settings: dict[str, Any] = {
            "levels": 2,
            "user_reg": _PRINTED_USER_REG.get(n_events),
            "item_reg": 0.0,
            "prior": "uniform",
            "unobserved": 0.0,
            "simplex_solver": "frank_wolfe",
            "binary_solver": resolve("binary", "enhanced_gd", **_PRINTED_DESCENT),
            "max_iter": 20,
            "tol": 0.0,
            "n_init": 1,
        }
        return cls(n_events, **{**settings, **changes})

    @property
    def item_family(self) -> str:
        """Name of the family of solvers for items."""
        return "binary" if has_two(self.levels) else "levels"

    @property
    def _levels(self) -> Levels:
        return self.levels
