"""Models whose users are distributions over events: they place new rows, and are transformers for scikit-learn."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.optional import to_frame
from kolmogorov._support.progress import says_stop
from kolmogorov._support.threads import one_blas_thread, thread_count
from kolmogorov._support.typing import Floats
from kolmogorov._support.validation import (
    AUTO,
    BOOLEAN,
    CALLBACK,
    MOST_ROUNDS,
    MOST_RUNS,
    NONE,
    Requirement,
    check_parameters,
    instance,
    integer,
    real,
)
from kolmogorov.cluster.dask import Dask
from kolmogorov.data import Observations
from kolmogorov.data.attributes import Newcomers, Side, described
from kolmogorov.data.scale import LARGEST_WEIGHT
from kolmogorov.data.sources import is_table
from kolmogorov.data.view import View
from kolmogorov.descent import placing
from kolmogorov.descent.engine import Sweep
from kolmogorov.descent.fitted import Fitted
from kolmogorov.draws.sampler import SamplingProgress
from kolmogorov.errors import DataError
from kolmogorov.gpu.cuda import Cuda
from kolmogorov.models.ids import Unknown, known_part, pair_rows
from kolmogorov.models.interpretation import Interpretation
from kolmogorov.models.ranking import Askers
from kolmogorov.models.recommender import Rank, Recommender
from kolmogorov.models.tables import table_of
from kolmogorov.models.updating import Updating

Auto = Literal["auto"]
#: What is asked of the parameters that all of them have.
COMMON_RULES: dict[str, Requirement] = {
    "n_events": integer(1) | AUTO,
    "unobserved": real(0.0, LARGEST_WEIGHT) | AUTO,
    "execution": instance(Cuda) | instance(Dask) | NONE,
    "callback": CALLBACK,
    "verbose": BOOLEAN | integer(0),
}


def lengths(*names: str) -> dict[str, Requirement]:
    """Return what is asked of parameters that say how long a fit goes on: numbers of runs, or of rounds of one."""
    most = {"n_chains": MOST_RUNS, "n_init": MOST_RUNS}
    return {name: integer(1, most.get(name, MOST_ROUNDS)) | AUTO for name in names}


class EventModel(Interpretation, Updating, TransformerMixin, Recommender):  # type: ignore[misc]
    """Base of Kolmogorov models, drawn or not."""

    fitted_: Any
    n_jobs: int | None
    verbose: int
    callback: Callable[[Any], Any] | None
    _tells_distributions = True

    @abstractmethod
    def _new_thetas(self, view: View) -> Floats:
        """Return thetas for rows of observations whose partners are the model's items."""

    @abstractmethod
    def _new_psis(self, view: View) -> NDArray[Any]:
        """Return psis for rows of observations whose partners are the model's users."""

    @property
    def _one_model(self) -> Fitted:
        """The one model that is read: itself, or of draws the one that stands for them."""
        found: Fitted = self.fitted_
        return found

    @property
    def _n_columns(self) -> int:
        """Number of columns of what `transform` returns: the events, of draws those of all of them."""
        return int(getattr(self.fitted_, "n_draws", 1) * self.fitted_.n_events)

    def predict_distribution(
        self, users: Any, items: Any = None, *, as_frame: bool = False, unknown: Unknown = "average"
    ) -> Any:
        """Return the probability of each rating for pairs of ids: what somebody answers, noise included.

        Parameters
        ----------
        users, items : id or array-like of ids
            Raw ids, aligned; a single id is combined with every one of the other side. Observations as the only
            argument stand for their entries; a data frame in the place of ids introduces them by their attributes.
        as_frame : bool
            Return a data frame with a column for each rating.
        unknown : {"average", "ignore", "error"}
            As in `predict`.

        Returns
        -------
        ndarray of shape (n, n_ratings), or (n_ratings,) for a single pair; or DataFrame
            Columns are the ratings of `rating_values_`, lowest first; of yes/no data, no and yes. Rows sum to 1, and
            their mean is what `predict` says, unless that lies beyond the ratings.

        Examples
        --------
        >>> import kolmogorov as km
        >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
        >>> model = km.KolmogorovModel(5, random_state=0).fit(train)
        >>> chances = model.predict_distribution(test)
        >>> chances.shape == (len(test), 2), bool(np.allclose(chances @ model.rating_values_, model.predict(test)))
        (True, True)
        """
        check_parameters("predict_distribution", {"as_frame": as_frame}, {"as_frame": BOOLEAN})
        model, users, items = self._met(users, items)
        rows, single = pair_rows(model.fitted_, users, items, unknown)
        found: Floats = model.fitted_.distribution_at_rows(*rows)
        if as_frame:
            return to_frame({f"{value:g}": found[:, k] for k, value in enumerate(self.rating_values_)})
        return found[0] if single else found

    @property
    def rating_values_(self) -> Floats:
        """The ratings that somebody may give, in rating units: the columns of `predict_distribution`."""
        found: Floats = self.fitted_.scale.rating(self.fitted_.points)
        return found

    def fold_in(self, observations: Observations, side: placing.Side = "auto") -> NDArray[Any]:
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
            theta of shape (n_new_users, n_events), or psi of shape (n_new_items, n_events), in the order of
            `observations.users.ids` or `observations.items.ids`; with draws, the events of all draws side by side. A
            user without observations gets the population's theta.
        """
        check_is_fitted(self)
        if not isinstance(observations, Observations):
            raise DataError(f"fold_in takes Observations, got {type(observations).__name__}.")
        new = placing.side_of(self.fitted_, observations, side)
        view = placing.view_of(self.fitted_, observations.rescaled(self.fitted_.scale), new)
        return self._new_thetas(view) if new == "users" else self._new_psis(view)

    def transform(self, X: Any) -> Floats:
        """Return theta for the rows of a table by fold-in; columns are the items of `fit`, in their order."""
        check_is_fitted(self)
        return self._new_thetas(placing.view_of(self.fitted_, table_of(self, X, reset=False), "users"))

    def inverse_transform(self, theta: Any) -> Floats:
        """Return the probabilities of all items for given thetas: an array of shape (n, n_items)."""
        check_is_fitted(self)
        rows = self._checked_thetas(theta)
        with one_blas_thread():
            found: Floats = self.fitted_.of_thetas(rows)
            return found

    def _checked_thetas(self, theta: Any) -> Floats:
        try:
            rows = np.asarray(theta, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"theta must be an array of numbers, got {type(theta).__name__}.") from None
        if not np.isfinite(rows).all():
            raise DataError("theta must hold finite numbers, got NaN or infinity.")
        if rows.ndim != 2 or rows.shape[1] != self._n_columns:
            raise DataError(f"theta must have shape (n, {self._n_columns}), got {rows.shape}.")
        return rows

    def score(self, X: Any, y: None = None) -> float:
        """Return minus the RMSE on the probability scale, so that larger is better.

        For Observations that of `evaluate`; for a table that of its observed entries after its rows were folded in.
        """
        check_is_fitted(self)
        if isinstance(X, Observations):
            return -self.evaluate(X)["rmse"]
        observations = table_of(self, X, reset=False)
        errors = self._completed(X)[observations.user_rows(), observations.item_rows()] - observations.values
        return -float(np.sqrt(np.average(errors**2, weights=observations.weights)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: event0, event1, ..."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self._n_columns)], dtype=object)

    def _completed(self, X: Any) -> Floats:
        return self.inverse_transform(self.transform(X))

    def _guests(self, observations: Observations, rank: Rank) -> Askers:
        known = known_part(self.fitted_, observations.rescaled(self.fitted_.scale))
        view = placing.view_of(self.fitted_, known, "users")
        ids = observations.users.ids.tolist()
        return Askers(ids, np.arange(len(ids)), view, self._said_of(self._new_thetas(view)), self._lower(rank))

    def _placed(self, theta: Any, rank: Rank) -> Askers:
        rows = self._checked_thetas(np.atleast_2d(theta))
        nobody = View(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
        past = np.zeros(len(rows), dtype=np.int64)
        return Askers(list(map(str, range(len(rows)))), past, nobody, self._said_of(rows), self._lower(rank))

    def _said_of(self, theta: Floats) -> Callable[[slice, float | None], Floats]:
        """Return a function from a part of new users to what is predicted for them."""

        def said(part: slice, lower: float | None) -> Floats:
            with one_blas_thread():
                found: Floats = self.fitted_.of_thetas(theta[part], lower)
                return found

        return said

    # --- new users and items, by their attributes -----------------------------------------------------------------

    def introduce(self, *, users: Any = None, items: Any = None) -> Self:
        """Return a model that also knows new users and items, by their attributes alone.

        Parameters
        ----------
        users, items : data frame or path, optional
            One row for each, with the columns that `fit` was given, or some of them. Ids that have ratings are left as
            they are.

        Examples
        --------
        >>> import kolmogorov as km, pandas as pd
        >>> zoo = km.datasets.load("zoo")
        >>> size = pd.DataFrame({"user": zoo.users.ids, "length": [len(name) for name in zoo.users.ids]})
        >>> model = km.KolmogorovModel(5, random_state=0).fit(zoo, users=size)
        >>> new = pd.DataFrame({"user": ["griffin", "ox"], "length": [7, 2]})
        >>> model.introduce(users=new).predict(["griffin", "ox"], "milk").shape
        (2,)
        """
        check_is_fitted(self)
        return self._knowing(self._described(users, "users"), self._described(items, "items"))

    def _met(self, users: Any, items: Any) -> tuple[Self, Any, Any]:
        """Introduce frames in the place of ids, where both sides are given; return who knows them, and their ids.

        Without frames that is this model itself, and what was asked.
        """
        check_is_fitted(self)
        if items is None or not (is_table(users) or is_table(items)):
            return self, users, items
        new_users = self._described(users, "users") if is_table(users) else None
        new_items = self._described(items, "items") if is_table(items) else None
        users = users if new_users is None else new_users.ids.ids[new_users.order]
        items = items if new_items is None else new_items.ids.ids[new_items.order]
        return self._knowing(new_users, new_items), users, items

    @abstractmethod
    def _knowing(self, users: Newcomers | None, items: Newcomers | None) -> Self:
        """Return a copy that also knows new users and items, which their attributes place."""

    def _described(self, raw: Any, side: Side) -> Newcomers | None:
        """Return what a frame says of new rows; None where there is none."""
        if raw is None:
            return None
        known = self.fitted_.user_attributes if side == "users" else self.fitted_.item_attributes
        if known is None:
            raise DataError(f"The model knows no attributes of {side}. Fit it with them: fit(X, {side}=frame).")
        return described(raw, known.columns, side)

    def recommend(
        self,
        users: Any = None,
        n: int = 10,
        *,
        items: Any = None,
        guest: Any = None,
        theta: Any = None,
        exclude_seen: bool = True,
        min_count: int | None = None,
        rank: Rank = "auto",
        unknown: Unknown = "error",
    ) -> Any:
        """Return the best items of a user, of several, or of guests, as a data frame.

        Parameters
        ----------
        users : id, array-like of ids, Observations, or data frame
            Observations are those of guests, whom the model places first (`fold_in`). A data frame introduces new users
            by their attributes: see `introduce`.
        n : int
        items : data frame or path, optional
            New items, which may be listed, too, by their attributes.
        guest, theta, exclude_seen, rank, unknown
            As for every model: ratings of one guest by items, as ``{"Alien": 5, "Heat": 2}``; what `fold_in` returned;
            whether to leave out what the user was observed with; whether to order by the probability or by what nine
            draws in ten exceed; what to do about an unknown user.
        min_count : int, optional
            Leave out items observed fewer times; by default 5, or less where that leaves little to choose from. Items
            that are placed by attributes alone are listed unless it is given.

        Returns
        -------
        DataFrame
            Columns item, title where there are titles, probability, rating and count (observations of the item, 0 of a
            new one); for several users a column user before them.
        """
        options: dict[str, Any] = {"guest": guest, "theta": theta, "exclude_seen": exclude_seen}
        options |= {"min_count": min_count, "rank": rank, "unknown": unknown}
        if items is None and not is_table(users):
            return super().recommend(users, n, **options)
        check_is_fitted(self)
        new = self._described(users, "users") if is_table(users) else None
        model = self._knowing(new, self._described(items, "items"))
        return model.recommend(users if new is None else new.ids.ids[new.order], n, **options)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        thread_count(self.n_jobs)

    def _on_draw(self, draw: SamplingProgress) -> bool:
        error = "" if draw.rmse is None else f"  held-out rmse {draw.rmse:.4f}"
        return self._told(f"chain {draw.chain + 1}/{draw.n_chains}  sweep {draw.sweep}/{draw.n_sweeps}{error}", draw)

    def _on_sweep(self, sweep: Sweep) -> bool:
        seconds = sweep.user_seconds + sweep.item_seconds
        place = f"sweep {sweep.sweep:3d}  objective {sweep.objective:.6g}  rmse {sweep.rmse:.4f}"
        return self._told(f"{place}  {seconds:.3f} s", sweep)

    def _told(self, line: str, progress: Any) -> bool:
        """Write a line where that is wanted; return whether the callback ends the fit."""
        if self.verbose:
            sys.stderr.write(f"{line}\n")
        return self.callback is not None and says_stop(self.callback(progress))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
