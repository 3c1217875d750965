"""Models whose users are distributions over events: they place new rows, and are transformers for scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kolmogorov._support.threads import one_blas_thread
from kolmogorov._support.typing import Floats
from kolmogorov.data import Observations
from kolmogorov.data.observations import View
from kolmogorov.errors import DataError
from kolmogorov.fitting import fold_in
from kolmogorov.surface.guests import known_part
from kolmogorov.surface.ids import Unknown, pair_rows
from kolmogorov.surface.ranking import LOWER, Askers
from kolmogorov.surface.recommender import Rank, Recommender
from kolmogorov.surface.tables import table_of


class EventModel(TransformerMixin, Recommender):  # type: ignore[misc]
    """Base of Kolmogorov models, drawn or not, and of those whose supports are relaxed."""

    fitted_: Any

    @abstractmethod
    def _new_thetas(self, view: View) -> Floats:
        """Return thetas for rows of observations whose partners are the model's items."""

    @abstractmethod
    def _new_psis(self, view: View) -> NDArray[Any]:
        """Return psis for rows of observations whose partners are the model's users."""

    @property
    @abstractmethod
    def _n_columns(self) -> int:
        """Number of columns of what `transform` returns."""

    def predict_distribution(self, users: Any, items: Any = None, *, unknown: Unknown = "average") -> Floats:
        """Return the probability of each level, Pr(X = v) = theta . [x = v], for pairs of ids.

        Parameters
        ----------
        users, items : id or array-like of ids
            Raw ids, aligned; a single id is combined with every one of the other side. Observations as the only
            argument stand for their entries.
        unknown : {"average", "ignore", "error"}
            As in `predict`.

        Returns
        -------
        ndarray of shape (n, n_levels), or (n_levels,) for a single pair
            In the order of `levels_`; rows sum to 1. Where items have two levels, the probabilities of no and of yes.

        Examples
        --------
        >>> import kolmogorov as km
        >>> train, test = km.datasets.load("zoo").split(test_size=0.2, random_state=0)
        >>> model = km.KolmogorovModel(5, levels=[0, 0.5, 1], user_reg=0.3, random_state=0).fit(train)
        >>> model.predict_distribution(test).shape == (len(test), 3)
        True
        """
        check_is_fitted(self)
        rows, single = pair_rows(self.fitted_, users, items, unknown)
        found: Floats = self.fitted_.distribution_at_rows(*rows)
        return found[0] if single else found

    @property
    def levels_(self) -> Floats:
        """The values that an item may take in an event, on the probability scale."""
        levels: Floats | None = self.fitted_.levels
        return np.array([0.0, 1.0]) if levels is None else levels

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
            theta of shape (n_new_users, n_events), or psi of shape (n_new_items, n_events), in the order of
            `observations.users.ids` or `observations.items.ids`; with draws, the events of all draws side by side. A
            user without observations gets the population's theta.
        """
        check_is_fitted(self)
        if not isinstance(observations, Observations):
            raise DataError(f"fold_in takes Observations, got {type(observations).__name__}.")
        new = fold_in.side_of(self.fitted_, observations, side)
        view = fold_in.view_of(self.fitted_, observations.rescaled(self.fitted_.scale), new)
        return self._new_thetas(view) if new == "users" else self._new_psis(view)

    def transform(self, X: Any) -> Floats:
        """Return theta for the rows of a table by fold-in; columns are the items of `fit`, in their order."""
        check_is_fitted(self)
        return self._new_thetas(fold_in.view_of(self.fitted_, table_of(self, X, reset=False), "users"))

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
        completed = self.inverse_transform(self.transform(X))
        errors = completed[observations.user_rows(), observations.item_rows()] - observations.values
        return -float(np.sqrt(np.average(errors**2, weights=observations.weights)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`: event0, event1, ..."""
        check_is_fitted(self)
        return np.array([f"event{d}" for d in range(self._n_columns)], dtype=object)

    def _completed(self, X: Any) -> Floats:
        return self.inverse_transform(self.transform(X))

    def _guests(self, observations: Observations, rank: Rank) -> Askers:
        known = known_part(self.fitted_, observations.rescaled(self.fitted_.scale))
        view = fold_in.view_of(self.fitted_, known, "users")
        ids = observations.users.ids.tolist()
        return Askers(ids, np.arange(len(ids)), view, self._guest_scores(view, rank))

    def _guest_scores(self, view: View, rank: Rank) -> Callable[[slice], tuple[Floats, Floats | None]]:
        """Return what says, for a part of new users, what is predicted and what lists go by where that differs."""
        return self._theta_scores(self.fitted_, self._new_thetas(view), rank)

    def _placed(self, theta: Any, rank: Rank) -> Askers:
        rows = self._checked_thetas(np.atleast_2d(theta))
        nobody = View(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.empty(0))
        past = np.zeros(len(rows), dtype=np.int64)
        return Askers(list(range(len(rows))), past, nobody, self._theta_scores(self.fitted_, rows, rank))

    def _theta_scores(self, fitted: Any, theta: Floats, rank: Rank) -> Callable[[slice], tuple[Floats, Floats | None]]:
        lower = self._ranks_lower(rank)

        def scored(part: slice) -> tuple[Floats, Floats | None]:
            with one_blas_thread():
                return fitted.of_thetas(theta[part]), fitted.lower_of_thetas(theta[part], LOWER) if lower else None

        return scored

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
