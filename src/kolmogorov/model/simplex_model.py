"""What models with thetas on the simplex share: the scikit-learn surface. The numerics live in the engine below it."""

from __future__ import annotations

import hashlib
import numbers
import os
import sys
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kolmogorov import metrics
from kolmogorov._support.callbacks import says_stop
from kolmogorov._support.files import check_writable
from kolmogorov._support.optional import to_frame
from kolmogorov._support.seeds import base_seed
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.validation import (
    LARGEST_RIDGE,
    Callback,
    Flag,
    Instance,
    Integer,
    OneOf,
    Optional,
    Real,
    Requirement,
    check_parameters,
)
from kolmogorov.data import Observations, Vocabulary
from kolmogorov.data.trainable import check_trainable
from kolmogorov.errors import DataError
from kolmogorov.execution import Dask, Threads
from kolmogorov.execution.tables import DistributedTable, distributed_table, is_distributed
from kolmogorov.fitting import fold_in
from kolmogorov.fitting.checkpoint import Checkpoint, Run
from kolmogorov.fitting.engine import Engine, Objective, Prior
from kolmogorov.fitting.fitted import Fitted, by_users, checked
from kolmogorov.fitting.history import Sweep
from kolmogorov.fitting.multi_start import Descent
from kolmogorov.fitting.sharded import ShardedEngine
from kolmogorov.solvers import RowSolver, resolve
from kolmogorov.surface import prediction
from kolmogorov.surface.prediction import Unknown
from kolmogorov.surface.tables import check_evaluable, table_of

_RULES: dict[str, Requirement] = {
    "n_events": Integer(1),
    "user_reg": Real(0.0, LARGEST_RIDGE),
    "item_reg": Real(0.0, LARGEST_RIDGE),
    "prior": OneOf(("mean", "uniform")),
    "max_iter": Integer(1),
    "tol": Real(0.0),
    "n_init": Integer(1),
    "execution": Optional(Instance(Dask)),
    "callback": Callback(),
    "verbose": Flag(),
}


class SimplexModel(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators whose users are distributions over events; subclasses name the set of their items.

    A subclass stores the parameters in its constructor, names the family of its item solver, and says which
    parameter holds it.
    """

    n_events: int
    user_reg: float
    item_reg: float
    prior: Prior
    simplex_solver: str | RowSolver
    max_iter: int
    tol: float
    n_init: int
    random_state: Any
    n_jobs: int | None
    execution: Dask | None
    callback: Any
    verbose: int
    checkpoint: str | os.PathLike[str] | None

    item_family: ClassVar[str]

    @property
    def _item_solver(self) -> str | RowSolver:
        solver: str | RowSolver = getattr(self, f"{self.item_family}_solver")
        return solver

    # --- learning ---------------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None, *, start: Run | None = None) -> Self:
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
        """
        user_solver, item_solver = self.check_parameters()
        seed = base_seed(self.random_state)
        objective = Objective(float(self.user_reg), float(self.item_reg), self.prior)
        with one_blas_thread(), self.execution or Threads(self.n_jobs) as dealer:
            if isinstance(dealer, Dask):
                source = X if is_distributed(X) else table_of(self, X, reset=True)
                if source is X and hasattr(self, "feature_names_in_"):
                    del self.feature_names_in_
                table: Any = distributed_table(dealer, source)
                check_trainable(table)
                engine: Any = ShardedEngine(table, user_solver, item_solver, objective, dealer)
            else:
                table = table_of(self, X, reset=True)
                check_trainable(table)
                engine = Engine(table, user_solver, item_solver, objective, dealer)
            checkpoint = None
            if self.checkpoint is not None:
                fixed = isinstance(self.random_state, numbers.Integral)
                identity = self._identity(table, user_solver, item_solver)
                shape = (table.n_users, table.n_items, int(self.n_events))
                checkpoint = Checkpoint(
                    self.checkpoint,
                    identity,
                    seed if fixed else None,
                    shape,
                    binary=self.item_family == "binary",
                    n_init=int(self.n_init),
                )
                check_writable(self.checkpoint)
            run = Descent(
                engine,
                n_events=int(self.n_events),
                seed=seed,
                n_init=int(self.n_init),
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                on_sweep=self._on_sweep,
                checkpoint=checkpoint,
                start=start,
            ).run()
            observations = table.collected() if isinstance(table, DistributedTable) else table
        return self.adopt(checked(_fitted(run, observations, engine.seen_users, binary=self.item_family == "binary")))

    def adopt(self, fitted: Fitted) -> Self:
        """Take over parameters learned elsewhere, for instance read from a file."""
        self.fitted_ = fitted
        self.n_features_in_ = len(fitted.items)
        return self

    def fold_in(self, observations: Observations, side: fold_in.Side = "auto") -> NDArray[Any]:
        """Place users or items that were not there at `fit`, without changing the model.

        Parameters
        ----------
        observations : Observations
            Of new users with items the model knows, or of new items with users it knows.
        side : {"auto", "users", "items"}
            Which side is new. "auto" takes the side whose partners are all known; users if both are.

        Returns
        -------
        ndarray
            theta of shape (n_new_users, n_events), or psi (bool) of shape (n_new_items, n_events), in the order
            of `observations.users.ids` or `observations.items.ids`. A user without observations gets the
            population's theta.
        """
        check_is_fitted(self)
        if not isinstance(observations, Observations):
            raise DataError(f"fold_in takes Observations, got {type(observations).__name__}.")
        user_solver, item_solver = self._solvers()
        new = fold_in.side_of(self.fitted_, observations, side)
        view = fold_in.view_of(self.fitted_, observations.rescaled(self.fitted_.scale), new)
        if new == "users":
            return fold_in.new_users(self.fitted_, view, user_solver, float(self.user_reg), self.n_jobs)
        return fold_in.new_items(self.fitted_, view, item_solver, float(self.item_reg), self.n_jobs)

    # --- scikit-learn's transformer ---------------------------------------------------------------------

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return theta for the rows of a table by fold-in; columns are the items of `fit`, in their order."""
        check_is_fitted(self)
        observations = table_of(self, X, reset=False)
        solver, _ = self._solvers()
        view = fold_in.view_of(self.fitted_, observations, "users")
        return fold_in.new_users(self.fitted_, view, solver, float(self.user_reg), self.n_jobs)

    def inverse_transform(self, theta: Any) -> NDArray[np.float64]:
        """Return the probabilities of all items for given thetas: an array of shape (n, n_items)."""
        check_is_fitted(self)
        rows = np.asarray(theta, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.fitted_.n_events:
            raise DataError(f"theta must have shape (n, {self.fitted_.n_events}), got {rows.shape}.")
        with one_blas_thread():
            return np.clip(rows @ self.fitted_.psi_or_average[:-1].T, 0.0, 1.0)

    def score(self, X: Any, y: None = None) -> float:
        """Return minus the RMSE on the probability scale, so that larger is better.

        For Observations that of `evaluate`; for a table that of its observed entries after its rows were folded in.
        """
        check_is_fitted(self)
        if isinstance(X, Observations):
            return -self.evaluate(X)["rmse"]
        observations = table_of(self, X, reset=False)
        completed = self.inverse_transform(self.transform(X))
        errors = completed[observations.user_rows(), observations.item_rows()] - observations.values
        return -float(np.sqrt(np.average(errors**2, weights=observations.weights)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: event0, event1, ..."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self.fitted_.n_events)], dtype=object)

    # --- using ------------------------------------------------------------------------------------------

    def predict(self, users: Any, items: Any = None, *, unknown: Unknown = "average") -> Any:
        """Return probabilities.

        Parameters
        ----------
        users, items : id or array-like of ids
            Raw ids, aligned; a single id is combined with every one of the other side.
        unknown : {"average", "ignore", "error"}
            What to do with ids that had no observations at `fit`: use the population's theta and the average
            over items, with one `UnknownIdWarning` for those that were not even in the table or without a word, or
            raise `UnknownIdError`.

        Returns
        -------
        float or ndarray
            Pr(X[u, i] = 1) for each pair. With `Observations` as the only argument, one for each entry; with
            a table as the only argument, the completed table of shape (n_rows, n_items).
        """
        check_is_fitted(self)
        if isinstance(users, Observations) and items is None:
            return prediction.at_entries(self.fitted_, users, unknown)
        if items is None:
            return self.inverse_transform(self.transform(users))
        rows, single = prediction.pair_rows(self.fitted_, users, items, unknown)
        result = prediction.at_rows(self.fitted_, *rows)
        return float(result[0]) if single else result

    def evaluate(self, observations: Observations, *, unknown: Unknown = "average") -> dict[str, float]:
        """Compare predictions with observations.

        Returns
        -------
        dict
            `rmse` and `mae` on the probability scale, `rmse_rating` and `mae_rating` in rating units, and for
            0/1 data `accuracy`, `log_loss` and `brier`.
        """
        check_is_fitted(self)
        test = check_evaluable(observations).rescaled(self.fitted_.scale)
        scores = metrics.Scores(test.scale.span, test.is_binary)
        for part, predictions in prediction.in_blocks(self.fitted_, test, unknown):
            weights = None if test.weights is None else test.weights[part]
            scores.add(test.values[part], predictions, weights)
        return scores.result()

    def recommend(self, user: Any, n: int = 10, **options: Any) -> Any:
        """Return the user's most probable items as a data frame.

        Parameters
        ----------
        user : id
        n : int
        **options
            `exclude_seen`, `min_count` and `unknown` as in `recommendations`.

        Returns
        -------
        DataFrame
            Columns item, title where there are titles, probability, rating.
        """
        return to_frame(self.recommendations(user, n, **options))

    def recommendations(
        self,
        user: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        min_count: int = 1,
        unknown: Unknown = "error",
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of `recommend`, for which no data frame library is needed.

        Parameters
        ----------
        user : id
        n : int
        exclude_seen : bool
            Leave out what the user was observed with.
        min_count : int
            Leave out items observed fewer times. An item with a single rating fits that rating perfectly and
            tends to the top.
        unknown : {"error", "average", "ignore"}
            An unknown user is an error, or gets what the population would, with a warning or without.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        row = prediction.rows_of(fitted.users, fitted.user_seen, [user], "user", unknown)[0]
        known = exclude_seen and row < len(fitted.users)
        seen = fitted.seen_by(row) if known else np.empty(0, dtype=np.int32)
        return prediction.recommended(
            fitted, *prediction.best_items(fitted, fitted.theta_or_population[row], seen, n, min_count)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, ids included, to be read by `kolmogorov.load`."""
        from kolmogorov.surface.saving import save

        check_is_fitted(self)
        save(self, path)

    # --- learned attributes -----------------------------------------------------------------------------

    @property
    def theta_(self) -> NDArray[np.float64]:
        """Event probabilities of each user."""
        return self.fitted_.theta

    @property
    def psi_(self) -> NDArray[Any]:
        """Support of each item: booleans, or numbers in [0, 1] for a model that relaxes them."""
        return self.fitted_.psi

    @property
    def users_(self) -> Vocabulary:
        """Ids of the users."""
        return self.fitted_.users

    @property
    def items_(self) -> Vocabulary:
        """Ids of the items."""
        return self.fitted_.items

    @property
    def scale_(self) -> Any:
        """Map between probabilities and rating units."""
        return self.fitted_.scale

    @property
    def history_(self) -> list[Sweep]:
        """One record per sweep."""
        return list(self.fitted_.history)

    @property
    def n_iter_(self) -> int:
        """Number of sweeps."""
        return len(self.fitted_.history)

    # --- inside -----------------------------------------------------------------------------------------

    def check_parameters(self) -> tuple[RowSolver, RowSolver]:
        """Raise for the first parameter that is not in order; return the solvers that the others name."""
        check_parameters(type(self).__name__, self.get_params(deep=False), _RULES)
        thread_count(self.n_jobs)
        return self._solvers()

    def _solvers(self) -> tuple[RowSolver, RowSolver]:
        user_solver = resolve("simplex", self.simplex_solver)
        item_solver = resolve(self.item_family, self._item_solver)
        for solver in (user_solver, item_solver):
            solver.check_size(int(self.n_events))
        return user_solver, item_solver

    def _identity(self, observations: Observations | DistributedTable, *solvers: RowSolver) -> str:
        """Digest everything but the seed that shapes the sweeps."""
        shape = [int(self.n_events), float(self.user_reg), float(self.item_reg), self.prior, int(self.n_init)]
        text = repr((shape, [repr(solver) for solver in solvers], observations.fingerprint()))
        return hashlib.sha256(text.encode()).hexdigest()

    def _on_sweep(self, sweep: Sweep) -> bool:
        if self.verbose:
            seconds = sweep.user_seconds + sweep.item_seconds
            sys.stderr.write(
                f"sweep {sweep.sweep:3d}  objective {sweep.objective:.6g}  rmse {sweep.rmse:.4f}  {seconds:.3f} s\n"
            )
        return self.callback is not None and says_stop(self.callback(sweep))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _fitted(run: Run, observations: Observations, seen: NDArray[np.bool_], *, binary: bool) -> Fitted:
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
    )
