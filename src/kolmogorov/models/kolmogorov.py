"""`KolmogorovModel`: thetas on the simplex, and psis that say in which events an item happens."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.display import notice, warn
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import Threads
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import (
    AUTO,
    BOOLEAN,
    LARGEST_RIDGE,
    MOST_ROUNDS,
    MOST_RUNS,
    NONE,
    Requirement,
    check_parameters,
    integer,
    one_of,
    real,
)
from kolmogorov.cluster import Dask
from kolmogorov.data.attributes import Newcomers, TableAttributes
from kolmogorov.data.changes import Change
from kolmogorov.data.observations import Observations, check_trainable, liked
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.descent.completion import Many
from kolmogorov.descent.distillation import BITS, MOST_EVENTS, SWEEPS, distilled, gone_on, quick_solver
from kolmogorov.descent.engine import Search, Sweep
from kolmogorov.descent.fitted import Fitted, read_only
from kolmogorov.descent.implicit import averaged_descents
from kolmogorov.descent.problem import Problem, usual_weight
from kolmogorov.draws.plan import likelihood_of
from kolmogorov.draws.posterior import Posterior
from kolmogorov.draws.sampler import drawn, drawn_from
from kolmogorov.errors import ConvergenceWarning, ParameterError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.models.base import seed_for
from kolmogorov.models.event_model import COMMON_RULES, EventModel
from kolmogorov.models.learning import (
    Auto,
    Psi,
    descended,
    found_again,
    is_auto,
    resampled,
    short_plan,
    usual_events,
    why_ratings,
)
from kolmogorov.models.tables import table_of
from kolmogorov.solvers import RowSolver, resolve, usual

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
    "warm": False,
}
#: The share of a table's ratings that must change, in one update or in several, for chains to go over it; by
#: judgement. Below, only rows move.
_SWEPT = 0.01
#: Ridges on theta and psi of a descent over ratings whose user gave none, and its sweeps; by judgement.
_USER_RIDGE, _ITEM_RIDGE, _SWEEPS = 10.0, 0.0, 100
#: What only a descent over ratings has.
_OF_RATINGS = ("user_reg", "item_reg", "prior", "n_init", "keep_better", "stability", "checkpoint")
_RULES: dict[str, Requirement] = COMMON_RULES | {
    "psi": one_of(("binary", "soft")),
    "learn_from": one_of(("draws", "ratings")),
    "user_reg": real(0.0, LARGEST_RIDGE) | AUTO,
    "item_reg": real(0.0, LARGEST_RIDGE) | AUTO,
    "prior": one_of(("mean", "uniform")),
    "max_iter": integer(1, MOST_ROUNDS) | AUTO,
    "n_init": integer(1, MOST_RUNS),
    "tol": real(0.0),
    "keep_better": BOOLEAN,
    "stability": BOOLEAN,
}


class KolmogorovModel(EventModel):
    """Learn Pr(X[u, i] = 1) = theta_u . psi_i with theta_u on the simplex and psi_i in {0, 1}^n_events.

    Left to itself, the model is learned in two steps: a few short chains of draws complete the table, and the paper's
    alternating descent learns theta and psi from the completed table. Or it is learned from the ratings alone, as the
    paper does; `as_in_paper` sets everything so. Either way theta and psi are all that is kept: what is read is what
    predicts.

    Parameters
    ----------
    n_events : int or "auto"
        Number of elementary events D. "auto" takes as many, up to 16, as are all found again in both halves of the
        chains: nobody should read what another seed does not tell. From ratings alone it takes more for more of them.
        For predictions ask for 16 or 24, which come nearer to the draws.
    psi : {"binary", "soft"}
        What an item may be in an event. "binary" is the paper's model: it happens or not. "soft" is any number from 0
        to 1: how likely it happens there.
    learn_from : {"draws", "ratings"}
        What the descent goes over. Tables of more than five million ratings are learned from their ratings either
        way; a line and `learned_from_` say so.
    user_reg : float or "auto"
        From ratings: ridge on theta, how strongly a user is drawn to the prior. "auto" is 10.
    item_reg : float or "auto"
        From ratings: ridge on psi, the price of each event in an item's support. "auto" is 0.
    prior : {"mean", "uniform"}
        From ratings: what theta shrinks to, the mean theta of all users, learned along, or the uniform distribution.
    unobserved : float or "auto"
        What an entry that was not observed weighs, as a no, where an observation weighs one. For tables in which only
        yes is recorded: clicks, purchases, visits. 0 leaves such entries out; "auto" settles a weight by the size of
        the table, `unobserved_`. Such a table is completed by descents over any values instead of by draws.
    user_solver, item_solver : str or object
        How the users' and the items' small problems are solved; `kolmogorov.solvers.names` lists them. Any object will
        do whose ``solve(gram, moment, start, seeds)`` takes arrays of shape (n, D, D), (n, D), (n, D) and (n,), and
        returns points of shape (n, D); files do not hold it, and a loaded model has the usual solver.
    max_iter : int or "auto"
        Limit on sweeps of the descent; "auto" is 15 for soft psi, 30 for binary, and 100 from ratings.
    tol : float
        Stop when a sweep lowers the objective by less than this share of it.
    n_init : int
        From ratings: number of random starts; the one with the lowest objective is kept. A descent over a completed
        table has one start, which depends on the table alone.
    random_state : int, Generator, RandomState or None
        The same seed gives the same bits on any number of threads.
    n_jobs : int or None
        Threads; -1 for all processors, None for one.
    execution : kolmogorov.Dask or kolmogorov.Cuda, optional
        A cluster or a GPU on which chains, or the descent over ratings, run instead of threads.
    callback : callable, optional
        Called after every sweep, of chains with a `SamplingProgress` and of the descent with a `Sweep`; returning True
        ends the fit.
    verbose : int
        1 writes a line for each chain, and for each sweep of the descent, to standard error. Without it people see one
        line that moves.
    keep_better : bool
        From ratings: a row keeps its point where its solver finds a worse one, and a sweep that raises the objective is
        undone. False is the paper's Algorithm 4 to the letter, whose error may rise.
    stability : bool
        From ratings: also learn from two samples of them, drawn with replacement, for `stability_`. What is learned
        from draws always has it.
    checkpoint : path, optional
        From ratings: file of the state after every sweep, from which a killed fit goes on, to end with the same bits as
        one that was never interrupted.

    Examples
    --------
    >>> import kolmogorov as km
    >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
    >>> model = km.KolmogorovModel(n_events=5, random_state=0).fit(train)
    >>> model.evaluate(test)["accuracy"] > 0.8
    True
    >>> (milk,) = model.items_.encode(["milk"])
    >>> bool(abs(model.predict(model.users_.ids, "milk") - model.theta_ @ model.psi_[milk]).max() < 1e-9)
    True
    """

    fitted_: Fitted
    # What the ridge draws psi to.
    _item_prior: ClassVar[Literal["zero", "mean"]] = "zero"
    _learned = Fitted
    _rules = _RULES

    def __init__(
        self,
        n_events: int | Auto = "auto",
        *,
        psi: Psi = "binary",
        learn_from: Literal["draws", "ratings"] = "draws",
        user_reg: float | Auto = "auto",
        item_reg: float | Auto = "auto",
        prior: Literal["mean", "uniform"] = "mean",
        unobserved: float | Auto = 0.0,
        user_solver: str | RowSolver = "auto",
        item_solver: str | RowSolver = "auto",
        max_iter: int | Auto = "auto",
        tol: float = 1e-4,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = -1,
        execution: Cuda | Dask | None = None,
        callback: Callable[[Any], Any] | None = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        keep_better: bool = True,
        stability: bool = False,
    ) -> None:
        self._set(locals())

    @classmethod
    def as_in_paper(cls, n_events: int, **changes: Any) -> Self:
        """Return the model as the paper trains it (its Algorithm 4), every parameter set; `changes` are set otherwise.

        The uniform prior, lambda_u as printed for MovieLens 100K with 4, 8, 16 or 24 events (any other number needs
        `user_reg`), mu_i = 0, Frank-Wolfe for the users, the enhanced gradient descent with gamma = 100 and 100
        roundings for the items, 20 sweeps from one start. The paper does not print the descent's first step (here 0.2),
        its tolerance (1e-2) and its Armijo constants (0.3, 0.5): these come nearest to its Table II. One thing is ours:
        an item keeps its support where rounding found a worse one, and a sweep that makes the fit worse is undone;
        `keep_better=False` is Algorithm 4 without that.

        Examples
        --------
        >>> import kolmogorov as km
        >>> model = km.KolmogorovModel.as_in_paper(8, random_state=0)
        >>> model.learn_from, model.prior, model.user_reg, model.max_iter, model.item_solver.name
        ('ratings', 'uniform', 30.0, 20, 'enhanced_gd')
        """
        if "user_reg" not in changes and n_events not in _USER_REG:
            known = ", ".join(map(str, _USER_REG))
            raise ParameterError(f"The paper prints lambda_u for {known} events, got {n_events!r}. Pass 'user_reg'.")
        steepest = resolve("binary", "enhanced_gd", **_DESCENT)
        printed = {"user_reg": _USER_REG.get(n_events), "item_reg": 0.0, "prior": "uniform", "max_iter": 20, "tol": 0.0}
        solvers = {"user_solver": "frank_wolfe", "item_solver": steepest, "learn_from": "ratings"}
        return cls(n_events, **{**printed, **solvers, **changes})

    # --- learning ---------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, *, users: Any = None, items: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : Observations, sparse matrix or array, or dense array
            Rows are users, columns are items. What a sparse matrix stores is observed, zeros included; in a
            dense array NaN is missing.
        y : None
            Ignored; there because scikit-learn's pipelines pass it.
        users, items : data frame or path, optional
            Attributes, as for `BayesianKolmogorovModel.fit`, for the draws that complete the table. Who and what
            has no ratings is placed by them.

        After Ctrl-C the best so far is kept, where there is anything, with a warning and `interrupted_` set.
        """
        self._check_parameters()
        table, execution = table_of(self, X, reset=True), self.execution or Threads(self.n_jobs)
        only_yes, why = self.unobserved != 0.0, why_ratings(self, table)
        if (users is not None or items is not None) and (only_yes or why):
            raise ParameterError(
                "'users' and 'items' are attributes for draws, and there are none: "
                f"{why or 'where only yes is recorded there are no chains'}."
            )
        if why:
            if self.learn_from == "draws":
                notice(f"Learning from the ratings: {why}.")
            auto = is_auto(self.n_events)
            n_events = usual_events(len(table), table.n_users, table.n_items) if auto else int(self.n_events)
            problem, search = self._problem(n_events), self._search(n_events, _SWEEPS)
            fitted, self.interrupted_ = descended(table, execution, problem, search)
            if self.stability and not self.interrupted_:
                fitted = resampled(fitted, table, execution, problem, search)
            return self._said(fitted)
        table.rows.check_intact()
        check_trainable(table, only_yes=only_yes)
        seed = base_seed(self.random_state)
        draws: Posterior | Many
        newcomers: tuple[Newcomers | None, Newcomers | None] = (None, None)
        if only_yes:
            draws, cut = averaged_descents(table, self._weight(table), seed, self.n_jobs, self._on_sweep, True)
        else:
            known = TableAttributes.read(users, items, (table.users, table.items))
            plan, newcomers = short_plan(table), known.newcomers
            draws, cut = drawn(plan, table, seed, execution, self._on_draw, known=known, keep_interrupted=True)
        if cut:
            warn("Interrupted while the table was completed; what was done so far is used.", ConvergenceWarning)
        fitted, interrupted = self._distilled(draws)
        self.interrupted_ = interrupted or cut
        return self._said(self._introduced(fitted, *newcomers) if any(newcomers) else fitted)

    def _distilled(
        self, draws: Posterior | Many, *, keep_interrupted: bool = True, compared: bool = True
    ) -> tuple[Fitted, bool]:
        """Distil draws; return what was learned, and whether Ctrl-C ended it.

        Where `compared`, halves of the draws tell which events are found again. Of users and items that attributes
        place nothing is learned: they are placed in the model that there is without.
        """
        n_events = None if is_auto(self.n_events) else int(self.n_events)
        problem = self._problem(n_events or MOST_EVENTS, quick=True)
        sweeps = SWEEPS if self.psi == "soft" else BITS
        search = replace(self._search(n_events or MOST_EVENTS, sweeps), keep_interrupted=keep_interrupted)
        many = draws.many() if isinstance(draws, Posterior) else draws
        own = many.without_placed()
        fitted, interrupted = distilled(own, problem, search, n_events, self.n_jobs, compared=compared)
        return placing.with_placed(fitted, many, problem), interrupted

    def _said(self, fitted: Fitted) -> Self:
        """Take over a model, and say whether its events can be relied on."""
        self._adopt(fitted)
        if fitted.stability is not None:
            notice(found_again(fitted.stability, "chains" if fitted.learned_from == "draws" else "ratings"))
        return self

    def _problem(self, n_events: int, *, quick: bool = False) -> Problem:
        """Return what is solved; `quick` is for sweeps over a completed table, unless a solver of items was chosen."""
        items, family = self.item_solver, "box" if self.psi == "soft" else "binary"
        if is_auto(items):
            items = quick_solver(family, n_events) if quick else usual(family, n_events)
        users = usual("simplex", n_events) if is_auto(self.user_solver) else self.user_solver
        user_solver, item_solver = resolve("simplex", users), resolve(family, items)
        for solver in (user_solver, item_solver):
            solver.check_size(n_events)
        user_reg = _USER_RIDGE if is_auto(self.user_reg) else float(self.user_reg)
        item_reg = _ITEM_RIDGE if is_auto(self.item_reg) else float(self.item_reg)
        unobserved: Any = self.unobserved if is_auto(self.unobserved) else float(self.unobserved)
        ridges = (user_reg, item_reg, self.prior, unobserved, self._item_prior)
        return Problem(user_solver, item_solver, *ridges, bool(self.keep_better))

    def _search(self, n_events: int, sweeps: int) -> Search:
        """Return how a model is looked for, with so many sweeps where these are left open."""
        return Search(
            n_events,
            seed=base_seed(self.random_state),
            n_init=int(self.n_init),
            max_iter=sweeps if is_auto(self.max_iter) else int(self.max_iter),
            tol=float(self.tol),
            on_sweep=self._on_sweep,
            keep_interrupted=True,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            any_seed=not isinstance(self.random_state, Integral),
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        usual_ones = KolmogorovModel().get_params(deep=False)
        beside = [name for name in _OF_RATINGS if getattr(self, name) != usual_ones[name]]
        if self.learn_from == "draws" and beside:
            names = " and ".join(map(repr, beside))
            raise ParameterError(
                f"For learning from ratings alone: {names}. Set learn_from='ratings', or leave it out."
            )
        self._problem(1 if is_auto(self.n_events) else int(self.n_events))

    # --- learned attributes -----------------------------------------------------------------------------

    @property
    def theta_(self) -> Floats:
        """The mixture of events that each user is, (n_users, n_events); rows sum to 1."""
        return read_only(self.fitted_.theta)

    @property
    def psi_(self) -> NDArray[Any]:
        """The support of each item, (n_items, n_events): booleans, or of soft psi chances."""
        return read_only(self.fitted_.psi)

    @property
    def learned_from_(self) -> str:
        """What the descent went over, "draws" or "ratings"."""
        return self.fitted_.learned_from

    @property
    def stability_(self) -> Floats:
        """How well each event is found again: how its thetas correlate with those that another sample tells.

        1 is the same event; NaN where nothing was compared. From draws, the samples are two halves of the chains.
        """
        found = self.fitted_.stability
        return np.full(self.fitted_.n_events, np.nan) if found is None else read_only(found)

    @property
    def unobserved_(self) -> float:
        """What an unobserved entry weighs, as a no; with "auto" what was settled for the table."""
        return self._weight(self.fitted_.training)

    @property
    def history_(self) -> list[Sweep]:
        """One record for each sweep of the descent: `objective`, `rmse`, `user_seconds`, `item_seconds`.

        From draws the error is the distance from what these say on average.
        """
        return list(self.fitted_.history)

    @property
    def n_iter_(self) -> int:
        """Number of sweeps."""
        return len(self.fitted_.history)

    # --- inside -----------------------------------------------------------------------------------------

    def liking(self, likes: float | None = None) -> KolmogorovModel:
        """Return a model of liking: of whether the ratings of the training data are likes.

        `likes` is the least like, on the probability scale; by default about half of the ratings are likes. Of yes and
        no it is the model itself. What it says of items holds oftener beyond base rates than what one of ratings says.
        """
        check_is_fitted(self)
        check_parameters("liking", {"likes": likes}, {"likes": real(0.0, 1.0) | NONE})
        if self.fitted_.training.is_binary:
            return self
        model = KolmogorovModel(self.fitted_.n_events, random_state=self.random_state, n_jobs=self.n_jobs)
        return model.fit(liked(self.fitted_.training, likes))

    @property
    def _reader(self) -> KolmogorovModel:
        return self

    def _weight(self, table: Observations) -> float:
        """Return what an unobserved entry of a table weighs."""
        auto = is_auto(self.unobserved)
        return usual_weight(len(table), table.n_users * table.n_items) if auto else float(self.unobserved)

    def _new_thetas(self, view: View) -> Floats:
        problem = self._problem(self.fitted_.n_events)
        return placing.new_rows(self.fitted_, "users", view, problem, self.unobserved_, self.n_jobs)

    def _new_psis(self, view: View) -> NDArray[Any]:
        problem = self._problem(self.fitted_.n_events)
        return placing.new_rows(self.fitted_, "items", view, problem, self.unobserved_, self.n_jobs)

    def _introduced(self, fitted: Fitted, users: Newcomers | None, items: Newcomers | None) -> Fitted:
        return placing.introduced(fitted, users, items, self._problem(fitted.n_events, quick=True))

    def _moved(self, fitted: Fitted, change: Change) -> Fitted:
        found = placing.moved(fitted, change, self._problem(fitted.n_events), self.unobserved_, self.n_jobs)
        # Of yes and no, chains as short bring nothing.
        swept = found.n_changed >= _SWEPT * len(found.training) and likelihood_of(found.training) == "gaussian"
        if fitted.learned_from == "ratings" or self.unobserved_ or not swept:
            return found
        seed = seed_for(self, change.after)
        draws = drawn_from(found, change.after, seed, self.n_jobs)
        found = gone_on(found, draws.many(), self._problem(fitted.n_events, quick=True), seed, self.n_jobs)
        return replace(found, n_changed=0)
