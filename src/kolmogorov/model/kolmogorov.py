"""`KolmogorovModel`: thetas on the simplex, binary psis."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import LARGEST_RIDGE, Either, Integer, Optional, Real, Word
from kolmogorov._support.warn import warn
from kolmogorov.data.levels import CHANCES, Levels, LevelsRequirement, has_two
from kolmogorov.data.observations import Observations, View
from kolmogorov.errors import ConvergenceWarning, ParameterError
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.fitting import fold_in
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.objective import Prior
from kolmogorov.fitting.state import Run, State
from kolmogorov.fitting.trained import checked
from kolmogorov.model.interpretation import PointInterpretation
from kolmogorov.model.relaxation import averaged_descents, continued, usual_members
from kolmogorov.model.simplex_model import SimplexModel
from kolmogorov.sampling.average import averaged, error_on, loss_on, with_events_of
from kolmogorov.sampling.features import pattern_features
from kolmogorov.sampling.grid import on_grid
from kolmogorov.sampling.plan import Plan, level_grid, likelihood_of
from kolmogorov.sampling.posterior import stacked
from kolmogorov.sampling.sizes import feature_count
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.surface.recommender import Rank

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


#: Sweeps of the chain whose average soft values are, and with fewer ratings than so many for each user and item, of
#: which less is known and more must be averaged.
_SWEEPS, _SPARSE_SWEEPS, _SPARSE = 100, 250, 10
#: With fewer answers of a user, yes and no are averaged with normal noise too: events cannot be told from so few, and
#: values beyond 0 and 1 let users and items be more or less of a yes.
_FEW_ANSWERS = 10
#: Sweeps of a chain that only compares settings, at least.
_LEAST_SWEEPS = 50
#: Up to so many ratings the start of the chain is chosen, where it comes out of the descent's end with a larger error,
#: by one of so many folds of them; up to fewer, whose folds are small, by all of the folds.
_SMALL, _TINY, _FOLDS = 50_000, 5_000, 5
#: The share of a loss that another must be below to be clearly smaller.
_CLEARLY = 0.95
#: Of fewer ratings no folds are made.
_LEAST_FOLDED = 20
#: Beyond so many ratings hard values predict nearly as well, and the chain takes longer than the descent.
_MOST_RATINGS = 20_000_000


class KolmogorovModel(PointInterpretation, SimplexModel):
    """Learn Pr(X[u, i] = 1) = theta_u . psi_i with theta_u on the simplex and psi_i in {0, 1}^n_events.

    A descent finds theta and psi. Left to itself, the model then learns how much to shrink, by the average of a short
    chain that starts there: soft values, means over what an item may be in each event, and thetas that go with them.
    Where the unobserved counts, descents over values that may be any number find them, several of which are averaged.
    These predict and recommend; supports, rules and events are read off theta and psi. With a ridge given, two levels
    asked for, or another prior there are no soft values, and theta_u . psi_i is exactly what is predicted, as in the
    paper; `as_in_paper` sets everything as it does.

    Parameters
    ----------
    n_events : int
        Number of elementary events D.
    levels : 2, "auto", sequence of float or None
        The values that an item may take in an event, on the probability scale. 2 is the paper's model: it happens or
        not. A list gives a grid, which may reach beyond 0 and 1; "auto" takes the step of the ratings, or a fifth, and
        reaches two steps beyond either end. None is 2 with soft values beside it.
    user_reg : float or "auto"
        Ridge on theta: how strongly a user is drawn to the prior. "auto" is 10 for the descent, and learned for soft
        values.
    item_reg : float or "auto"
        Ridge on psi: the price of each event in an item's support. With several levels it draws them to the mean of the
        training data. "auto" is 0 for the descent, and learned for soft values.
    prior : {"mean", "uniform"}
        What theta shrinks to: the mean theta of all users, learned along, or the uniform distribution.
    unobserved : float or "auto"
        What an entry that was not observed weighs, as a no, where an observation weighs one. For tables in which only
        yes is recorded: clicks, purchases, visits. 0 leaves such entries out; "auto" settles a weight by the size of
        the table, `unobserved_`.
    n_soft : int or "auto"
        How many descents the soft values average where the unobserved counts. 1 goes on from the end of this one, in
        the same events; several begin at random, with events of their own, and make better lists. "auto" is 2 to 16,
        fewer where the table is large.
    simplex_solver, binary_solver, level_solver : str or solver object
        How the users' and the items' small problems are solved, the latter with two levels and with several;
        `kolmogorov.solvers.names` lists them.
    max_iter : int
        Limit on sweeps of the descent.
    tol : float
        Stop when a sweep lowers the objective by less than this share of it.
    n_init : int
        Number of random starts; the one with the lowest objective is kept.
    random_state : int, Generator, RandomState or None
        The same seed gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    execution : kolmogorov.execution.Dask or kolmogorov.execution.Cuda, optional
        A cluster or a GPU to fit on instead of threads; there are no soft values then.
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

    rules: ClassVar = {
        "levels": Optional(LevelsRequirement()),
        "user_reg": Either(Real(0.0, LARGEST_RIDGE), Word("auto")),
        "item_reg": Either(Real(0.0, LARGEST_RIDGE), Word("auto")),
        "n_soft": Either(Integer(1), Word("auto")),
    }

    def __init__(
        self,
        n_events: int = 8,
        *,
        levels: Levels | None = None,
        user_reg: float | Literal["auto"] = "auto",
        item_reg: float | Literal["auto"] = "auto",
        prior: Prior = "mean",
        unobserved: float | Literal["auto"] = 0.0,
        n_soft: int | Literal["auto"] = "auto",
        simplex_solver: str | RowSolver = "active_set",
        binary_solver: str | RowSolver = "auto",
        level_solver: str | RowSolver = "coordinate",
        max_iter: int = 100,
        tol: float = 1e-4,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = -1,
        execution: Cuda | Dask | None = None,
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
        self.n_soft = n_soft
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
        return "binary" if has_two(self._levels) else "levels"

    @property
    def _levels(self) -> Levels:
        return 2 if self.levels is None else self.levels

    # --- soft values --------------------------------------------------------------------------------------

    @property
    def softens(self) -> bool:
        """Whether `fit` ends with a companion of soft values that predicts: where it is left how much to shrink."""
        left_open = self.user_reg == "auto" and self.item_reg == "auto" and self.prior == "mean"
        two = self.levels is not None and has_two(self.levels)
        return bool(left_open and not two and self.execution is None)

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        start: Run[State] | None = None,
        keep_interrupted: bool = True,
        effort: float = 1.0,
    ) -> Self:
        """Learn from a table; see `SimplexModel.fit`."""
        super().fit(X, y, start=start, keep_interrupted=keep_interrupted)
        if self.softens and start is None and not self.interrupted_ and len(self.fitted_.training) <= _MOST_RATINGS:
            try:
                soft = self._relaxed(self.fitted_, effort) if self.unobserved else self._softened(self.fitted_, effort)
            except KeyboardInterrupt:
                # Too early to keep anything but the model that they would stand beside.
                soft, self.interrupted_ = None, True
            self.adopt(checked(replace(self.fitted_, soft=soft)))
            if self.interrupted_:
                if not keep_interrupted:
                    raise KeyboardInterrupt
                warn("Interrupted while soft values were averaged; the average so far is kept.", ConvergenceWarning)
        return self

    def _softened(self, hard: Fitted, effort: float) -> Fitted | None:
        """Average a short chain that starts from the descent's end.

        On small tables it may leave that for a poorer mode, where users are all alike or events change places, and fits
        the data worse than the descent did. Then it is tried on entries held out, beside a chain that starts from
        factors and beside no soft values.
        """
        table = hard.training
        soft = self._averaged(hard, effort, from_factors=False)
        if self.interrupted_ or len(table) > _SMALL or error_on(soft, table) <= error_on(hard, table):
            return soft
        best = self._best_start(table, effort) if len(table) >= _LEAST_FOLDED else 2
        return soft if best == 0 else self._averaged(hard, effort, from_factors=True) if best == 1 else None

    def _best_start(self, table: Observations, effort: float) -> int:
        """Return what has the smallest loss on entries held out: the descent's end, factors, or neither."""
        other = clone(self).set_params(callback=None, checkpoint=None, verbose=0)
        losses = np.zeros(3)
        folds = table.folds(_FOLDS, random_state=base_seed(self.random_state))
        for train, test in islice(folds, _FOLDS if len(table) <= _TINY else 1):
            if (train.values == train.values[0]).all():
                continue
            hard = SimplexModel.fit(other, train).fitted_
            tried = [other._averaged(hard, effort, from_factors=start) for start in (False, True)]
            if other.interrupted_:
                self.interrupted_ = True
                return 0
            losses += [loss_on(fitted, test) for fitted in (*tried, hard)]
        # What is no poor mode is left only for something clearly better.
        return int((losses * (_CLEARLY, 1.0, 1.0)).argmin())

    def _averaged(self, hard: Fitted, effort: float, *, from_factors: bool) -> Fitted:
        """Run one chain, from the descent's end or from factors, and return what it was on average."""
        table = hard.training
        likelihood = likelihood_of(table)
        if from_factors or len(table) < _FEW_ANSWERS * table.n_users:
            likelihood = "gaussian"
        plan = self._plan(table, effort, likelihood)
        with one_blas_thread(), Threads(self.n_jobs) as dealer:
            features = pattern_features(table, feature_count(table))
            begin = None if from_factors else hard
            run = averaged(plan, table, features, base_seed(self.random_state), dealer, begin)
        self.interrupted_ = self.interrupted_ or run.interrupted
        theta = on_grid(run.theta).astype(np.float64)
        centre = theta[hard.user_seen].mean(axis=0)
        ridges = np.array([run.user_reg, run.item_reg])
        soft = Fitted(theta, run.values, centre, table, history=(), ridges=ridges)
        return with_events_of(hard, soft) if from_factors else soft

    def _relaxed(self, hard: Fitted, effort: float) -> Fitted:
        """Make the companion that lists go by, where the unobserved counts as a no."""
        given = (hard, self._problem(), self.unobserved_)
        seed, n_soft = base_seed(self.random_state), self.soft_count(hard.training)
        if n_soft == 1 or effort < 1.0:
            soft, self.interrupted_ = continued(*given, seed, self.n_jobs)
        else:
            soft, self.interrupted_ = averaged_descents(*given, n_soft, seed, self.n_jobs, self._on_sweep)
        return soft

    def soft_count(self, table: Observations) -> int:
        """Return how many descents the soft values of a table average."""
        if self.n_soft != "auto":
            return int(self.n_soft)
        return usual_members(table) if self.unobserved else 1

    def _plan(self, table: Observations, effort: float, likelihood: str) -> Plan:
        """Plan one short chain, the second half of which is averaged."""
        sparse = len(table) < _SPARSE * (table.n_users + table.n_items)
        n_sweeps = max(_LEAST_SWEEPS, round(effort * (_SPARSE_SWEEPS if sparse else _SWEEPS)))
        return Plan(
            likelihood=likelihood,
            levels=level_grid(CHANCES if likelihood == "bernoulli" else "auto", table, likelihood, int(self.n_events)),
            n_events=int(self.n_events),
            n_chains=1,
            burn_in=n_sweeps // 2,
            n_samples=n_sweeps - n_sweeps // 2,
            thin=1,
            n_classes=1,
            concentration=None,
        )

    def _guest_scores(self, view: View, rank: Rank) -> Callable[[slice], tuple[Floats, Floats | None]]:
        soft = self.fitted_.soft
        if soft is None or soft.ridges is None:
            return super()._guest_scores(view, rank)
        solver = self._problem().user_solver if soft.n_members == 1 else resolve("simplex", "pairwise")
        members, ridge = (soft.member(number) for number in range(soft.n_members)), float(soft.ridges[0])
        thetas = [fold_in.new_users(each, view, solver, ridge, self.unobserved_, self.n_jobs) for each in members]
        return self._theta_scores(soft, stacked(thetas), "probability")
