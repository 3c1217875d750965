"""Models found by descent: one theta for each user, one psi for each item."""

from __future__ import annotations

import hashlib
import numbers
import os
import sys
from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.files import check_writable
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import (
    LARGEST_RIDGE,
    Callback,
    Either,
    Flag,
    Instance,
    Integer,
    OneOf,
    Optional,
    Real,
    Requirement,
    Word,
    check_parameters,
)
from kolmogorov.data.levels import Levels
from kolmogorov.data.observations import Observations, View
from kolmogorov.data.options import LARGEST_WEIGHT
from kolmogorov.execution import Cuda, Dask, Threads
from kolmogorov.execution.tables import is_distributed
from kolmogorov.fitting import device, fold_in, sharded
from kolmogorov.fitting.checkpoint import Checkpoint
from kolmogorov.fitting.engine import Engine, Problem, opened_engine
from kolmogorov.fitting.fitted import Fitted
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.multi_start import MultiStart
from kolmogorov.fitting.objective import Objective, Prior, usual_weight
from kolmogorov.fitting.state import Run, State
from kolmogorov.fitting.trained import by_users, checked
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.solvers.registry import parameter_of
from kolmogorov.surface.event_model import EventModel
from kolmogorov.surface.tables import table_of

# So that their engines are known.
assert device
assert sharded

_RULES: dict[str, Requirement] = {
    "n_events": Integer(1),
    "user_reg": Real(0.0, LARGEST_RIDGE),
    "item_reg": Real(0.0, LARGEST_RIDGE),
    "prior": OneOf(("mean", "uniform")),
    "unobserved": Either(Real(0.0, LARGEST_WEIGHT), Word("auto")),
    "max_iter": Integer(1),
    "tol": Real(0.0),
    "n_init": Integer(1),
    "execution": Optional(Either(Instance(Cuda), Instance(Dask))),
    "callback": Callback(),
    "verbose": Flag(),
}


#: For users, where nothing else is said; with more events than it takes, `pairwise`.
USUAL_SOLVER = "active_set"
#: Ridges of a descent whose user gave none.
USUAL_RIDGES = (10.0, 0.0)


class SimplexModel(EventModel):
    """Base of the estimators that are found by descent; subclasses name the set of their items.

    A subclass stores the parameters in its constructor, names the family of its item solver, and says which
    parameter holds it.
    """

    fitted_: Fitted
    usual_grid: ClassVar = {
        "n_events": (4, 8, 16),
        "user_reg": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
        "item_reg": (0.0, 0.1),
    }

    n_events: int
    user_reg: float | Literal["auto"]
    item_reg: float | Literal["auto"]
    prior: Prior
    unobserved: float | Literal["auto"]
    simplex_solver: str | RowSolver
    max_iter: int
    tol: float
    n_init: int
    random_state: Any
    n_jobs: int | None
    execution: Cuda | Dask | None
    callback: Any
    verbose: int
    checkpoint: str | os.PathLike[str] | None

    #: More requirements on parameters.
    rules: ClassVar[dict[str, Requirement]] = {}

    @property
    @abstractmethod
    def item_family(self) -> str:
        """Name of the family of solvers for items."""

    @property
    def _item_solver(self) -> str | RowSolver:
        solver: str | RowSolver = getattr(self, parameter_of(self.item_family))
        return solver

    @property
    def _levels(self) -> Levels:
        """The values that an item may take in an event, where they form a set of several."""
        return 2

    @property
    def softens(self) -> bool:
        """Whether `fit` ends with a companion of soft values that predicts."""
        return False

    # --- learning ---------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        start: Run[State] | None = None,
        keep_interrupted: bool = True,
        effort: float = 1.0,
    ) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : Observations, sparse matrix or array, or dense array
            Rows are users, columns are items. What a sparse matrix stores is observed, zeros included; in a
            dense array NaN is missing. On a cluster: Observations, a Dask DataFrame with columns user, item and value,
            parquet files with them, or what `kolmogorov.execution.distributed_table` made.
        y : None
            Ignored; there because scikit-learn's pipelines pass it.
        start : Run, optional
            State to start from instead of a random one, for walks along a grid of parameters.
        keep_interrupted : bool
            After Ctrl-C keep the best state so far, with a warning and `interrupted_` set; otherwise the interrupt is
            passed on.
        effort : float
            Share of its usual length that the chain behind soft values takes, for searches that compare settings.
        """
        problem = self.check_parameters()
        execution = self.execution or Threads(self.n_jobs)
        seed = base_seed(self.random_state)
        with one_blas_thread(), opened_engine(execution, problem, self._table(X, execution)) as engine:
            run = MultiStart(
                engine,
                n_events=int(self.n_events),
                seed=seed,
                n_init=int(self.n_init),
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                on_sweep=self._on_sweep,
                checkpoint=self._checkpoint(engine, seed),
                start=start,
                keep_interrupted=keep_interrupted,
            ).run()
            observations = engine.observations()
        self.interrupted_ = run.interrupted
        fitted = _fitted(run, observations, engine.seen_users, binary=self._binary, levels=engine.problem.grid)
        return self.adopt(checked(fitted))

    def _table(self, X: Any, execution: Cuda | Dask | Threads) -> Any:
        """Return what the engine takes: observations, or what workers of a cluster can load themselves."""
        if not isinstance(execution, Dask) or not is_distributed(X):
            return table_of(self, X, reset=True)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return X

    def _checkpoint(self, engine: Engine[Any], seed: int) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        check_writable(self.checkpoint)
        problem = engine.problem
        # Everything but the seed that shapes the sweeps; the item solver names the levels, if there are several.
        shape: list[Any] = [int(self.n_events), self.ridges[0], self.ridges[1]]
        shape += [self.prior, int(self.n_init)]
        shape += [self.unobserved] if self.unobserved else []
        solvers = [repr(problem.user_solver), repr(problem.item_solver)]
        text = repr((shape, solvers, engine.fingerprint()))
        return Checkpoint(
            self.checkpoint,
            hashlib.sha256(text.encode()).hexdigest(),
            seed if isinstance(self.random_state, numbers.Integral) else None,
            (*engine.shape, int(self.n_events)),
            binary=self._binary,
            n_init=int(self.n_init),
            levels=problem.grid,
        )

    @property
    def ridges(self) -> tuple[float, float]:
        """Ridges of the descent on theta and psi, in numbers."""
        given = zip((self.user_reg, self.item_reg), USUAL_RIDGES, strict=True)
        user_reg, item_reg = (usual if value == "auto" else float(value) for value, usual in given)
        return user_reg, item_reg

    def _new_thetas(self, view: View) -> Floats:
        solver = self._problem().user_solver
        return fold_in.new_users(self.fitted_, view, solver, self.ridges[0], self.unobserved_, self.n_jobs)

    def _new_psis(self, view: View) -> NDArray[Any]:
        solver = self._problem().on(self.fitted_.levels).item_solver
        return fold_in.new_items(self.fitted_, view, solver, self.ridges[1], self.unobserved_, self.n_jobs)

    # --- learned attributes -----------------------------------------------------------------------------

    @property
    def theta_(self) -> Floats:
        """Event probabilities of each user."""
        return self.fitted_.theta

    @property
    def psi_(self) -> NDArray[Any]:
        """Support of each item: booleans, levels, or numbers in [0, 1] for a model that relaxes them."""
        return self.fitted_.psi

    @property
    def unobserved_(self) -> float:
        """What an unobserved entry weighs, as a no; with "auto" what was settled for the table."""
        if self.unobserved != "auto":
            return float(self.unobserved)
        table = self.fitted_.training
        return usual_weight(len(table), table.n_users * table.n_items)

    @property
    def history_(self) -> list[Sweep]:
        """One record per sweep."""
        return list(self.fitted_.history)

    @property
    def n_iter_(self) -> int:
        """Number of sweeps."""
        return len(self.fitted_.history)

    # --- inside -----------------------------------------------------------------------------------------

    @property
    def _n_columns(self) -> int:
        return self.fitted_.n_events

    @property
    def _binary(self) -> bool:
        return self.item_family == "binary"

    def check_parameters(self) -> Problem:
        """Raise for the first parameter that is not in order; return the problem that the others describe."""
        check_parameters(type(self).__name__, self.get_params(deep=False), _RULES | self.rules)
        thread_count(self.n_jobs)
        return self._problem()

    def _problem(self) -> Problem:
        user_solver = resolve("simplex", self.simplex_solver)
        most = user_solver.max_variables
        if self.simplex_solver == USUAL_SOLVER and most is not None and self.n_events > most:
            user_solver = resolve("simplex", "pairwise")
        item_solver = resolve(self.item_family, self._item_solver)
        for solver in (user_solver, item_solver):
            solver.check_size(int(self.n_events))
        rest = self.unobserved if self.unobserved == "auto" else float(self.unobserved)
        objective = Objective(self.ridges[0], self.ridges[1], self.prior, rest)
        return Problem(user_solver, item_solver, objective, self._levels)

    def _on_sweep(self, sweep: Sweep) -> bool:
        if self.verbose:
            seconds = sweep.user_seconds + sweep.item_seconds
            sys.stderr.write(
                f"sweep {sweep.sweep:3d}  objective {sweep.objective:.6g}  rmse {sweep.rmse:.4f}  {seconds:.3f} s\n"
            )
        return self.callback is not None and says_stop(self.callback(sweep))


def _fitted(
    run: Run[State], observations: Observations, seen: NDArray[np.bool_], *, binary: bool, levels: Floats | None
) -> Fitted:
    """Freeze the end of a descent. A user without observations is the population."""
    theta = run.state.theta.copy()
    theta[~seen] = theta[seen].mean(axis=0)
    psi: NDArray[Any] = run.state.psi.astype(bool) if binary else run.state.psi.copy()
    for array in (theta, psi):
        array.setflags(write=False)
    return Fitted(
        theta=theta,
        psi=psi,
        centre=run.state.centre,
        training=by_users(observations),
        history=run.history,
        levels=levels,
    )
